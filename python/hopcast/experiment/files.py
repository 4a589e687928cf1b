"""The two files of an experiment: parameters that hold for all of it (YAML), and its pieces (CSV)."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hopcast.errors import InputError

COMMON: dict[str, dict[str, Any]] = {
    "launcher": {"type": "string"},
    "compiler": {"type": "string"},
    "hyperthreading": {"enum": ["on", "off", True, False]},
    "turbo": {"enum": ["on", "off", True, False]},
    "c_states": {"enum": ["on", "off", True, False]},
    "frequency": {"type": "string"},
    "warm_up": {"type": "string"},
    "monitoring": {"type": "string"},
}
"""Schema of the parameters that every experiment knows."""


def read_install(file: Path | None, own: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of an install file over the defaults of an experiment, whose types they keep."""
    if file is None:
        return dict(own)
    import jsonschema
    import yaml

    try:
        written = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"{file}: {getattr(error, 'strerror', None) or error}") from error
    known = {**COMMON, **{name: _type(value) for name, value in own.items()}}
    schema = {"type": "object", "properties": known, "additionalProperties": False}
    try:
        jsonschema.validate(written, schema)
    except jsonschema.ValidationError as error:
        place = ".".join(map(str, error.absolute_path))
        names = f"; known: {', '.join(known)}" if error.validator == "additionalProperties" else ""
        raise InputError(f"{file}: {f'{place}: ' if place else ''}{error.message}{names}") from error
    switches = ("hyperthreading", "turbo", "c_states")  # YAML reads on and off as true and false
    written = {
        name: ("on" if value else "off") if name in switches and isinstance(value, bool) else value
        for name, value in written.items()
    }
    return {**own, **written}


def _type(value: Any) -> dict[str, Any]:
    """Schema of the values that may take the place of a default."""
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return {} if value is None else {"type": kinds[type(value)]}


def read_pieces(file: Path) -> list[dict[str, Any]]:
    """Pieces of an experiment file: a column for each parameter, a line for each piece."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: {getattr(error, 'strerror', None) or error}") from error
    reader = csv.DictReader(io.StringIO(text))
    pieces = []
    for row in reader:
        if None in row or None in row.values():
            raise InputError(f"{file}:{reader.line_num}: has another number of columns than the first line")
        pieces.append({name: value_of(value) for name, value in row.items()})
    if not pieces:
        raise InputError(f"{file}: has no piece: a line of names, and one for each piece, are wanted")
    return pieces


def value_of(text: str) -> Any:
    """A value of a CSV file: a number if it is one."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def to_csv(rows: Iterable[Mapping[str, Any]]) -> str:
    """Rows as CSV, with the columns of all of them."""
    rows = list(rows)
    names: Sequence[str] = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n", restval="")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
