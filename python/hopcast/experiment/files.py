"""The two files of an experiment: parameters that hold for all of it (YAML), and its pieces (CSV)."""

from __future__ import annotations

import csv
import hashlib
import inspect
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hopcast import text_file
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
        written = yaml.safe_load(text_file.read(file)) or {}
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
    _check_values(file, written)
    return {**own, **written}


def _check_values(file: Path, written: Mapping[str, Any]) -> None:
    """Refuses times and frequencies that are none."""
    from hopcast import core
    from hopcast.experiment import machine_settings

    for name in ("warm_up", "monitoring"):
        if name in written and core.seconds(f"{file}: {name}", written[name]) <= 0:
            raise InputError(f"{file}: {name}: {written[name]!r}: a time above 0 is wanted, such as '1 s'")
    if "frequency" in written:
        machine_settings.hertz(written["frequency"])


def _type(value: Any) -> dict[str, Any]:
    """Schema of the values that may take the place of a default."""
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return {} if value is None else {"type": kinds[type(value)]}


def read_pieces(file: Path) -> list[dict[str, Any]]:
    """Pieces of an experiment file: a column for each parameter, a line for each piece."""
    try:
        text_file.refuse_named_pipe(file)
        text = file.read_text(encoding="utf-8-sig")  # spreadsheets begin their files with a mark
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: {getattr(error, 'strerror', None) or error}") from error
    reader = csv.DictReader(io.StringIO(text))
    pieces = []
    names = reader.fieldnames or []
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{file}: two columns are called '{twice}'")
    for row in reader:
        if None in row or None in row.values():
            raise InputError(f"{file}:{reader.line_num}: has another number of columns than the first line")
        pieces.append({name: value_of(value) for name, value in row.items()})
    if not pieces:
        raise InputError(f"{file}: has no piece: a line of names, and one for each piece, are wanted")
    return pieces


REPETITION, MEASUREMENT = "repetition", "measurement"
"""Columns that number measurements of one point: pieces alike, and several measurements of a piece."""
_OF_ROWS = ("piece", "state", "why")
"""Columns that every row of results has."""


def check_columns(rows: Sequence[Mapping[str, Any]], place: str, piece: Callable) -> None:
    """Refuses columns that are others' names, and those that `piece` does not take."""
    for name in dict.fromkeys(name for row in rows for name in row):
        if name in _OF_ROWS or name == "self" or not name:
            raise InputError(
                f"{place}: column '{name}': choose another name; every row of results has "
                f"{', '.join(_OF_ROWS)}"
            )
    for row in rows:
        try:
            inspect.signature(piece).bind(**row)
        except TypeError as error:
            columns = ", ".join(row) or "none"
            raise InputError(f"{place}: piece() has {error}; columns: {columns}") from None


def check_results(parameters: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> None:
    """Refuses results that would stand in a column of the piece itself."""
    for row in rows:
        for name, value in row.items():
            is_given = name in parameters and parameters[name] is not value
            # A NaN differs from itself.
            if name in _OF_ROWS or (is_given and value != parameters[name] and value == value):
                raise InputError(
                    f"its results have a column '{name}', which its row has: choose another name"
                )


def given(install: Mapping[str, Any], names: Iterable[str], folder: Path) -> dict[str, Path]:
    """Files and folders that parameters of an install file in `folder` name, as far as they are here."""
    found = {}
    for name in names:
        text = install[name]
        # An archive that is repeated has them in its folder `files`.
        for path in (folder / text, folder / "files" / Path(text).name) if text else ():
            if path.exists():
                found[name] = path
                break
    return found


def digest(path: Path) -> str:
    """Hash of a file, or of all files of a folder with their names."""
    whole = hashlib.sha256()
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if file.is_file():
            whole.update(f"{file.relative_to(path)}\0".encode(errors="surrogateescape"))
            whole.update(hashlib.sha256(file.read_bytes()).digest())
    return whole.hexdigest()


def value_of(text: str) -> Any:
    """A value of a CSV file: a number if it is one."""
    for kind in () if "_" in text else (int, float):  # Python reads 1_000 as a number; a name may be 2_1
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
