"""Reader of tables of times by size: CSV with a header, plain or compressed with xz or gzip.

Columns are `size` or `msg_size` or `bytes`, `duration` or `seconds`, and, where a table holds several series,
`experiment` (send, isend, recv, pingpong) and `cluster`. That a `pingpong` is a round trip, and that sizes
are bytes, is an assumption, which the caller can replace.
"""

from __future__ import annotations

import csv
import gzip
import io
import lzma
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import numpy as np

from hopcast.archive import DAMAGED
from hopcast.calibrate.campaigns import Campaign
from hopcast.calibrate.series import Calls
from hopcast.errors import InputError

SIZE = ("size", "msg_size", "bytes")
DURATION = ("duration", "seconds")
_KINDS = {"pingpong": "round_trip", "send": "send", "isend": "isend", "recv": "recv"}
_OPENERS: dict[str, Callable[..., TextIO]] = {".xz": lzma.open, ".gz": gzip.open}


def read(place: Path, *, unit_bytes: float = 1.0, one_way: bool = False) -> list[Campaign]:
    """One campaign for each cluster of the table, or one for the whole."""
    findings: list[str] = []
    rows = _rows(place, findings)
    if unit_bytes == 1 and not one_way:
        findings.append(
            f"{place.name}: a table says no units: sizes are taken as bytes (--unit-bytes), and times of "
            "ping-pongs as round trips in seconds (--one-way)"
        )
    size, duration = (_column(place, rows[0], names) for names in (SIZE, DURATION))
    groups: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for number, row in enumerate(rows, 2):
        kind = row.get("experiment", "pingpong")
        if kind not in _KINDS:
            raise InputError(f"{place}:{number}: unknown experiment '{kind}'; known: {', '.join(_KINDS)}")
        try:
            pair = (
                float(row[size]) * unit_bytes,
                float(row[duration]) * (2 if one_way and kind == "pingpong" else 1),
            )
        except (TypeError, ValueError):
            raise InputError(f"{place}:{number}: not a size and a duration: {list(row.values())}") from None
        groups.setdefault(row.get("cluster", place.name), {}).setdefault(_KINDS[kind], []).append(pair)
    return [
        Campaign(name, {kind: _calls(kind, pairs) for kind, pairs in kinds.items()}, findings=tuple(findings))
        for name, kinds in groups.items()
    ]


def is_table(place: Path) -> bool:
    """True for a file with a header that names a size and a duration."""
    columns = head(place)
    return any(name in columns for name in SIZE) and any(name in columns for name in DURATION)


def is_table_of_calls(place: Path) -> bool:
    """True for a file with a header that names a duration, and no size."""
    columns = head(place)
    return any(name in columns for name in DURATION) and not any(name in columns for name in SIZE)


def head(place: Path) -> list[str]:
    """Columns of a CSV file with a header; none of another file."""
    if not place.is_file() or ".csv" not in place.suffixes:
        return []
    with opened(place) as file:
        return file.readline().strip().split(",")


@contextmanager
def opened(place: Path) -> Iterator[TextIO]:
    """A text, plain or compressed; errors of the system and of a damaged file name it."""
    try:
        with _OPENERS.get(place.suffix, open)(place, "rt", errors="replace", newline="") as file:
            yield file
    except (gzip.BadGzipFile, *DAMAGED) as error:
        raise InputError(f"{place}: this compressed file is cut or damaged: {error}") from None
    except OSError as error:
        raise InputError(f"{place}: cannot be read: {error.strerror or error}") from None


def _rows(place: Path, findings: list[str]) -> list[dict[str, str]]:
    """Rows; one that was cut at the end of the file is left out, with a finding."""
    with opened(place) as file:
        text = file.read()
    rows = list(csv.DictReader(io.StringIO(text)))
    if not text.endswith("\n") and len(rows) > 1 and not _fits(rows[-1], rows[:-1]):
        findings.append(
            f"{place.name}: an incomplete line at the end, '{text.rsplit(chr(10), 1)[-1][:40]}': the run was "
            f"cut; the fit takes the {len(rows) - 1} before it"
        )
        rows.pop()
    if not rows:
        raise InputError(f"{place}: a header and no line: nothing to fit")
    return rows


def _fits(last: dict[str, str], others: list[dict[str, str]]) -> bool:
    """True where the last row has numbers, and a time in the range of the rows before it."""
    key = next((name for name in DURATION if name in last), DURATION[0])
    try:
        times = [float(row[key]) for row in others]
        return all(last.values()) and min(times) / 100 <= float(last[key]) <= 100 * max(times)
    except (TypeError, ValueError, KeyError):
        return False


def _column(place: Path, row: dict[str, str], names: tuple[str, ...]) -> str:
    found = [name for name in names if name in row]
    if not found:
        raise InputError(f"{place}: no column {' or '.join(names)}; columns: {', '.join(row)}")
    return found[0]


def _calls(kind: str, pairs: list[tuple[float, float]]) -> Calls:
    sizes, seconds = (np.array(part, float) for part in zip(*pairs, strict=True))
    return Calls(np.full(len(sizes), kind), sizes, np.zeros(len(sizes)), seconds)
