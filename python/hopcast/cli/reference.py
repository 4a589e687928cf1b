"""The reference pages: `docs/models/<registry>/<name>.md`, one for each entry of each registry."""

from __future__ import annotations

from pathlib import Path

_WRITTEN = {
    "topology": 'In a platform file: `[topology]` with `kind = "{name}"`.',
    "routing": 'In a platform file: `[routing]` with `kind = "{name}"`.',
    "model": "On the command line: `--model {name}`; in a platform file its parameters: `[network.{name}]`.",
    "placement": '`--placement {name}`, or in a platform file: `[placement]` with `kind = "{name}"`.',
    "collective": 'In a platform file, under `[mpi.collectives]`: `{collective} = "{algorithm}"`.',
    "pattern": "On the command line: `hopcast run PLATFORM -n RANKS {name}`, then `--parameter value`.",
    "format": "On the command line: `hopcast run PLATFORM FILE|DIRECTORY`; the format is recognised.",
    "platform": "On the command line: `hopcast run {name} …`; `hopcast platform show {name}` prints it.",
}
"""How an entry of each registry is asked for."""


def pages(registries: dict[str, dict]) -> dict[str, str]:
    """The text of every page, by its path below `docs/models`."""
    return {
        f"{registry['noun']}/{entry['name']}.md": page(registry["noun"], entry)
        for registry in registries.values()
        for entry in registry["entries"]
    }


def page(noun: str, entry: dict) -> str:
    """One page."""
    does = entry.get("does", [])
    lines = [f"# {noun.capitalize()} `{entry['name']}`", "", _sentence(entry["summary"]), ""]
    if does:
        lines += ["Does: " + ", ".join(f"`{kind}`" for kind in does) + ".", ""]
    if noun in _WRITTEN:
        collective, _, algorithm = entry["name"].partition("/")
        lines += [_WRITTEN[noun].format(name=entry["name"], collective=collective, algorithm=algorithm), ""]
    if entry["parameters"]:
        lines += ["| parameter | takes | default | meaning |", "| --- | --- | --- | --- |"]
        lines += [_row(parameter) for parameter in entry["parameters"]] + [""]
    if entry["source"]:
        lines += ["Source: " + _sentence(entry["source"]), ""]
    return "\n".join(lines)


def _row(parameter: dict) -> str:
    default = {None: "required", "": "–"}.get(parameter["default"], f"`{parameter['default']}`")
    cells = (f"`{parameter['name']}`", parameter["takes"], default, parameter["summary"])
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _sentence(text: str) -> str:
    """With a full stop."""
    return text if text.endswith((".", "!", "?")) else text + "."


def write_pages(registries: dict[str, dict], directory: Path) -> int:
    """Writes the pages that changed, removes those of entries that are gone, and says how many there are."""
    wanted = pages(registries)
    for registry in registries.values():
        for file in (directory / registry["noun"]).rglob("*.md"):
            if file.relative_to(directory).as_posix() not in wanted:
                file.unlink()
    for name, text in wanted.items():
        file = directory / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.is_file() or file.read_text() != text:
            file.write_text(text)
    return len(wanted)


def platform_page() -> str:
    """`docs/platform-reference.md`: every section and key of a platform file."""
    from hopcast.cli import core

    return f"# Platform files: every section and key\n{core.platform_reference()}"
