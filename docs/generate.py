"""Writes the reference pages: `docs/models/<registry>/<name>.md`, `docs/platform-reference.md`
and `docs/run-options.md`.

A page is made of what the registry says of the entry and of the head of its source file: equation,
assumptions, validity, source. Run by `make docs`; a test holds the pages to the registries.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from hopcast import core, options

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"

WRITTEN = {
    "topology": 'In a platform file: `[topology]` with `kind = "{name}"`.',
    "routing": 'In a platform file: `[routing]` with `kind = "{name}"`.',
    "attachment": 'Where hosts have several NICs, in a platform file: `[nic]` with `attachment = "{name}"`.',
    "model": "`hopcast run --model {name}`; its parameters in a platform file: `[network.{name}]`.",
    "transport": 'For `--model packet`, in a platform file: `[transport]` with `protocol = "{name}"`.',
    "compute-model": (
        'In a platform file: `[compute]` with `model = "{name}"`; its parameters: `[compute.{name}]`.'
    ),
    "congestion-control": 'In a platform file: `[transport]` with `congestion = "{name}"`.',
    "placement": '`--placement {name}`, or in a platform file: `[placement]` with `kind = "{name}"`.',
    "collective": 'In a platform file, under `[mpi.collectives]`: `{collective} = "{algorithm}"`.',
    "pattern": "`hopcast run PLATFORM -n RANKS {name}`, then parameters as `--parameter value`.",
    "format": "`hopcast run PLATFORM FILE_OR_DIRECTORY`; the format is recognised.",
    "observer": "Its tables are part of every report of `--out`; `call-records` needs `--records N`, too.",
    "platform": "`hopcast run {name} …`; `hopcast platform show {name}` prints it.",
}
"""Ways to ask for an entry of each registry."""

WRITTEN_OTHERWISE = {
    (
        "compute-model",
        "roofline",
    ): 'In a platform file: `[compute]` with `model = "roofline"`; this is the default.',
    ("placement", "file"): '`--placement FILE`, or in a platform file: `[placement]` with `kind = "file"`.',
    ("placement", "list"): (
        "In Python `placement=[0, 0, 1, 1]`, in a request the same as `placement`, or in a platform file: "
        '`[placement]` with `kind = "list"`.'
    ),
}
"""Ways to ask for entries that differ from the others of their registry."""

SOURCES = {
    "topology": "network/src/topology",
    "routing": "network/src/routing",
    "attachment": "network/src/topology",
    "model": "network/src/model",
    "transport": "network/src/model/packet/transport",
    "compute-model": "mpi/src/compute",
    "congestion-control": "network/src/congestion",
    "collective": "mpi/src/collective",
    "pattern": "workload/src/pattern",
    "format": "workload/src/trace",
}
"""Folders below `crates` in which the entries of a registry have a file each."""


def pages() -> dict[str, str]:
    """The text of every generated page, by its path below `docs`."""
    models = {
        f"models/{registry['noun']}/{entry['name']}.md": page(registry["noun"], entry)
        for registry in core.registries().values()
        for entry in registry["entries"]
    }
    return models | {
        "models/README.md": index(),
        "mpi-functions.md": mpi_functions(),
        "run-options.md": run_options(),
        "platform-reference.md": f"# Platform files: every section and key\n{core.platform_reference()}",
    }


def mpi_functions() -> str:
    """The functions of MPI that compiled programs call, by chapter, as the headers say."""
    lines = ["# MPI functions for compiled programs", ""]
    lines += ["All functions of the MPI 5.0 standard, by chapter. Each name stands for its form `_c`, too."]
    lines += [
        "What needs other programs (starting processes, meeting those of another run) is refused. Functions"
    ]
    lines += [
        'of the chapter "Removed" are of MPI 1, and not in the standard any more: old programs call them.',
        "",
    ]
    for header in sorted((ROOT / "crates/libmpi/include/mpi").glob("*.h")):
        found = re.findall(r"MPI_FN\((\w+)\)\(.*\); /\*", header.read_text())
        plain = dict.fromkeys(f"`MPI_{name.removesuffix('_c')}`" for name in found)
        if plain:
            lines += [f"## {header.stem.replace('_', ' ').capitalize()}", "", f"{', '.join(plain)}.", ""]
    return "\n".join(lines)


TAKES = {
    "text": "text",
    "time": "time with its unit",
    "size": "size with its unit",
    "switch": "true",
    "on-off": "true or false",
    "names": "list of names; on the command line with commas",
    "placement": "name, file, or list of places",
    "overrides": "values by key",
    "folder": "folder",
}
"""Words about the values that an option takes, by kind."""


def run_options() -> str:
    """The options of a run, as the table of options has them."""
    lines = [
        "# Options of a run",
        "",
        "One table makes the flags of `hopcast run`, the keywords of `hopcast.run`, the keys of "
        "[request files](command-line.md#a-run-as-a-file) with their JSON schema, and this page. A flag is "
        "written as here, its keyword and key with underscores and without dashes in front; `-n` is `ranks`. "
        "What is done with a run (`--json`, `--quiet`, `--request`, `--save-request`) is the command line's "
        "alone: [the command line](command-line.md#a-run-as-a-file).",
        "",
        "| option | takes | default | of | meaning |",
        "| --- | --- | --- | --- | --- |",
    ]
    for option in options.table().values():
        default = "–" if option.default_words is None else option.default_words
        kinds = "every workload" if "function" in option.workloads else ", ".join(option.workloads)
        cells = (f"`{option.flag}`", takes(option.takes), default, kinds, option.text)
        lines.append("| " + " | ".join(map(cell, cells)) + " |")
    return "\n".join([*lines, ""])


def takes(kind: dict) -> str:
    """Values that an option takes."""
    if kind["kind"] == "whole":
        return f"whole number from {kind['least']} to {kind['most']}"
    if kind["kind"] == "number":
        return f"number of at least {kind['least']:g}"
    if kind["kind"] == "choice":
        return ", ".join(f"`{choice}`" for choice in kind["choices"])
    return TAKES[kind["kind"]]


def index() -> str:
    """The list of all pages."""
    lines = ["# Reference", ""]
    for name, registry in core.registries().items():
        lines += [f"## {name.replace('-', ' ').capitalize()}", "", "| name | what it is |", "| --- | --- |"]
        for entry in registry["entries"]:
            link = f"[`{entry['name']}`]({registry['noun']}/{entry['name']}.md)"
            lines.append(f"| {link} | {cell(entry['summary'])} |")
        lines.append("")
    return "\n".join(lines)


def page(noun: str, entry: dict) -> str:
    """One entry."""
    collective, _, algorithm = entry["name"].partition("/")
    lines = [f"# {noun.replace('-', ' ').capitalize()} `{entry['name']}`", "", sentence(entry["summary"]), ""]
    written = WRITTEN_OTHERWISE.get((noun, entry["name"]), WRITTEN[noun])
    lines += [written.format(name=entry["name"], collective=collective, algorithm=algorithm), ""]
    if len(entry.get("does", [])) > 1:
        lines += ["Also for: " + ", ".join(f"`{kind}`" for kind in entry["does"][1:]) + ".", ""]
    if entry["parameters"]:
        lines += ["| parameter | takes | default | meaning |", "| --- | --- | --- | --- |"]
        lines += [row(parameter) for parameter in entry["parameters"]] + [""]
    if example := next(iter(entry.get("examples", [])), ""):
        lines += ["For example:", "", "```toml", f"[{noun}]", f'kind = "{entry["name"]}"', example, "```", ""]
    head = source_head(noun, entry["name"])
    if head:
        lines += ["## Model", "", head, ""]
    if entry["source"] and "Source" not in head:
        lines += ["Source: " + sentence(entry["source"]), ""]
    if noun == "platform":
        lines += ["```toml", (ROOT / f"data/platforms/{entry['name']}.toml").read_text().rstrip(), "```", ""]
    return "\n".join(lines)


def row(parameter: dict) -> str:
    """One parameter."""
    default = {None: "required", "": "–"}.get(parameter["default"], f"`{parameter['default']}`")
    cells = (f"`{parameter['name']}`", parameter["takes"], default, parameter["summary"])
    return "| " + " | ".join(map(cell, cells)) + " |"


def cell(text: str) -> str:
    """Text that cannot end a table's cell."""
    return text.replace("|", "\\|").replace("\n", " ")


def sentence(text: str) -> str:
    """With a full stop."""
    return text if text.endswith((".", "!", "?")) else text + "."


def source_file(noun: str, name: str) -> Path | None:
    """The file of an entry: named as the entry is, or a folder of that name."""
    if noun not in SOURCES:
        return None
    stem = ROOT / "crates" / SOURCES[noun] / _folder(noun, name) / name.rpartition("/")[2].replace("-", "_")
    found = [file for file in (stem.with_suffix(".rs"), stem / "mod.rs") if file.is_file()]
    return found[0] if found else None


def _folder(noun: str, name: str) -> str:
    """The folder of a collective's algorithms: `reduce_scatter` holds those of reduce_scatter_block, too."""
    collective = name.rpartition("/")[0]
    folders = (ROOT / "crates" / SOURCES[noun]).iterdir() if collective else ()
    return max((folder.name for folder in folders if collective.startswith(folder.name)), default="", key=len)


def source_head(noun: str, name: str) -> str:
    """The comment at the head of an entry's file, as Markdown."""
    file = source_file(noun, name)
    if file is None:
        return ""
    head = []
    for line in file.read_text().splitlines():
        if not line.startswith("//!"):
            break
        head.append(line.removeprefix("//!").removeprefix(" "))
    text = re.sub(r"\[([^\]]+)\]\((?:crate|super|self)[^)]*\)", r"\1", "\n".join(head))  # links to Rust items
    return text.replace("\\[", "[").replace("\\]", "]").strip()


def write() -> int:
    """Writes the pages that changed and removes those of entries that are gone; gives how many there are."""
    wanted = pages()
    for file in (DOCS / "models").rglob("*.md"):
        if file.relative_to(DOCS).as_posix() not in wanted:
            file.unlink()
    for name, text in wanted.items():
        file = DOCS / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.is_file() or file.read_text() != text:
            file.write_text(text)
    return len(wanted)


if __name__ == "__main__":
    sys.stdout.write(f"{write()} pages\n")
