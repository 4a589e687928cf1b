"""Settings of a report as names and values, for comparisons and for its page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hopcast import options
from hopcast.report import units
from hopcast.toml import tomllib

_OF_RUNS = ("workload", "platform", "model", "ranks", "hosts_used", "placement", "seed")
_OF_MAKING = ("hopcast_version", "python", "system", "host")
_OPTIONS_SHOWN_BEFORE = ("ranks", "model", "seed", "placement")


def settings(summary: dict) -> dict[str, str]:
    """All settings that decide a result: the run, options, values of the platform, inputs, and versions."""
    made = made_by(summary)
    found = {name: str(summary.get(name, "—")) for name in _OF_RUNS}
    found |= {
        f"option {flag(name)}": _text(value)
        for name, value in made.get("options", {}).items()
        if name not in _OPTIONS_SHOWN_BEFORE
    }
    if made.get("arguments"):
        found["arguments"] = " ".join(made["arguments"])
    toml = made.get("platform", {}).get("toml", "")
    found |= {key: _text(value) for key, value in _flat(tomllib.loads(toml))}
    for entry in made.get("inputs", []):
        found[f"{entry['role']}, content"] = short_hash(entry)
    found |= {name: str(made.get(name, summary.get(name, "—"))) for name in _OF_MAKING}
    return found


def made_by(summary: dict) -> dict:
    """The provenance of a report; empty for one of an older hopcast."""
    return summary.get("made_by") or {}


def given_options(summary: dict) -> list[tuple[str, str]]:
    """Options that differ from their defaults, as flags and values."""
    unset = {name: option.unset for name, option in options.table().items()}
    return [
        (flag(name), _text(value))
        for name, value in made_by(summary).get("options", {}).items()
        if value is not None and value != [] and value != unset.get(name)
    ]


def flag(name: str) -> str:
    """An option as the command line calls it."""
    known = options.table().get(name)
    return f"--{name.replace('_', '-')}" if known is None else known.flag


def short_hash(entry: dict[str, Any]) -> str:
    """Files of an input, their size, and the first digits of their hash."""
    size = "—" if entry["size_B"] is None else units.size(entry["size_B"])
    files = "" if entry["files"] == 1 else f"{units.things(entry['files'], 'file')}, "
    return f"{files}{size}, sha256 {(entry['sha256'] or '—')[:12]}"


def _flat(values: dict[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Keys with their sections, as `--set` takes them; entries of arrays of tables by number from 0."""
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{key}.")
        elif isinstance(value, list) and value and all(isinstance(entry, dict) for entry in value):
            for number, entry in enumerate(value):
                yield from _flat(entry, f"{before}{key}.{number}.")
        elif before:  # name, summary and source do not change a result
            yield before + key, value


def _text(value: Any) -> str:
    if value is None:
        return "—"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "—"
    return str(value)
