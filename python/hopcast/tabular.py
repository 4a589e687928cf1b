"""Rows of tables in files: CSV with a header, also compressed (.xz, .gz), and Parquet."""

from __future__ import annotations

import csv
import gzip
import io
import lzma
from pathlib import Path

from hopcast import text_file
from hopcast.archive import DAMAGED
from hopcast.errors import InputError


def rows(place: Path) -> list[dict[str, str]]:
    """Rows as texts by column; empty cells are empty texts. An error names the file and what is wrong with
    it.

    Lines that begin with "#" are comments.
    """
    if place.suffix == ".parquet":
        return _parquet(place)
    try:
        text_file.refuse_named_pipe(place)
        data = place.read_bytes()
        data = {".xz": lzma.decompress, ".gz": gzip.decompress}.get(place.suffix, bytes)(data)
        text = data.decode("utf-8-sig")
    except (OSError, *DAMAGED) as error:
        raise InputError(f"{place}: {getattr(error, 'strerror', None) or error}") from None
    except UnicodeDecodeError:
        raise InputError(f"{place}: is no text: CSV is wanted") from None
    kept = "".join(line for line in io.StringIO(text) if not line.startswith("#"))
    reader = csv.DictReader(io.StringIO(kept), restkey="")
    found = []
    for number, row in enumerate(reader, 1):
        if "" in row or None in row.values():
            raise InputError(f"{place}: row {number} has not as many cells as the header: {', '.join(row)}")
        found.append({name.strip(): cell.strip() for name, cell in row.items()})
    if not found:
        raise InputError(f"{place}: no rows below a header")
    return found


def number(row: dict[str, str], column: str, place: str) -> float:
    """A cell as a finite number."""
    try:
        value = float(row[column])
    except (KeyError, ValueError):
        cell = row.get(column)
        raise InputError(
            f"{place}: column '{column}': '{cell}' is no number"
            if cell is not None
            else f"{place}: no column '{column}'; columns: {', '.join(row)}"
        ) from None
    if value - value != 0:
        raise InputError(f"{place}: column '{column}': {value} is no finite number")
    return value


def _parquet(place: Path) -> list[dict[str, str]]:
    import pyarrow
    from pyarrow import parquet

    try:
        table = parquet.read_table(place)
    except (OSError, pyarrow.ArrowInvalid) as error:
        raise InputError(f"{place}: {error}") from None
    if not table.num_rows:
        raise InputError(f"{place}: no rows")
    return [
        {name: "" if cell is None else str(cell) for name, cell in row.items()} for row in table.to_pylist()
    ]
