"""Reader of ping-pongs that other benchmarks print: Intel MPI Benchmarks, OSU, and perftest.

    IMB       PingPong: columns #bytes, #repetitions, t[usec], Mbytes/sec; t is half of a round trip
    OSU       osu_latency: columns size, latency in µs; half of a round trip
    perftest  ib_write_lat, ib_send_lat: #bytes, #iterations, t_min, t_max, t_typical[usec], …; half of a
              round trip; ib_read_lat is a whole one
              ib_write_bw, ib_send_bw: #bytes, #iterations, peak, average in MB/sec or MiB/sec
              (2^20 bytes), with --report_gbits in Gb/sec (10^9 bits)

Tables of bandwidth (osu_bw, ib_write_bw) keep many messages on the way: no time of one message, they give
the nominal rate of the link alone. Empty messages are left out, since a relative error has no size of zero.

Sources: Intel MPI Benchmarks user guide 2021; OSU Micro-Benchmarks 7, README; perftest 4.5, README.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from hopcast.calibrate.campaigns import Campaign
from hopcast.calibrate.series import Calls
from hopcast.errors import InputError
from hopcast.importing import texts

MOST_ROWS = 1_000_000
_IMB = re.compile(r"#\s*Benchmarking\s+(\S+)")
_IMB_HEAD = re.compile(r"#bytes\s+#repetitions\s+(\S.*)")
_OSU = re.compile(r"#\s*OSU MPI(?:-\w+)?\s+(?P<what>.*?)\s+(?:Test\b.*|v\d.*)?")
_OSU_HEAD = re.compile(
    r"#\s*Size\s+(?P<column>(?:Avg )?Latency|Bandwidth)\s*\((?P<unit>\w+/?\w*)\).*", re.IGNORECASE
)
_PERFTEST = re.compile(
    r"(?P<what>RDMA_Write|RDMA_Read|Send|Atomic)\s+(?P<bidirectional>Bidirectional )?"
    r"(?:BW|Latency|Post List BW) Test.*"
)
_PERFTEST_HEAD = re.compile(r"#bytes\s+#iterations\s+(.*)")
_WAITING = re.compile(r"#\s*\(\s*(\d+) additional processes? waiting.*")
_RANK_TAG = re.compile(r"\[\d+,\d+\]<std(?:out|err)>:\s?")
"""Tag of a rank before each line, of `mpiexec --tag-output`."""
_ROW = re.compile(r"\d+(?:\s+[-+\w.%]+)*\s*")
_BANDWIDTH_UNITS = {"MB/sec": 2**20, "MiB/sec": 2**20, "Gb/sec": 1e9 / 8}


@dataclass
class Table:
    """Rows of one table, and where it began."""

    kind: str
    """round_trip, or bandwidth."""
    title: str
    place: str
    time_column: int = 1
    factor: float = 1.0
    """From the column's number to seconds of a round trip, or bytes per second."""
    columns: int = 2
    rows: list[tuple[float, float]] = field(default_factory=list)
    waiting: int = 0
    """Processes that wait while two measure."""


def is_it(place: Path) -> bool:
    """True for a text with the head of a table of one of the benchmarks."""
    if not place.is_file() or ".tar" in place.suffixes:
        return False
    try:
        text = texts.read(place)
    except InputError:
        return False
    return any(True for _ in _tables(text, str(place)))


def read(place: Path) -> list[Campaign]:
    """One campaign of all ping-pongs of the file; a table of bandwidth gives the nominal rate."""
    found = list(_tables(texts.read(place), str(place)))
    trips = [table for table in found if table.kind == "round_trip"]
    rates = [value for table in found if table.kind == "bandwidth" for _, value in table.rows]
    if not trips:
        raise InputError(
            f"{place}: {', '.join(sorted({table.title for table in found}))}: no table of ping-pongs: many "
            "messages are on the way at once, which tells no time of one: take PingPong, osu_latency or "
            "ib_write_lat"
        )
    titles = sorted({table.title for table in trips})
    if len(titles) > 1:
        raise InputError(
            f"{place}: tables of {', '.join(titles)} in one file, and one is fitted: split the file"
        )
    pairs = [row for table in trips for row in table.rows if row[0] > 0]
    empty = sum(row[0] == 0 for table in trips for row in table.rows)
    if not pairs:
        raise InputError(f"{trips[0].place}: the table of {trips[0].title} has no rows: the run was cut")
    findings = [f"{titles[0]}: half of a round trip as printed, doubled"] if trips[0].factor != 1e-6 else []
    if empty:
        findings.append(f"{titles[0]}: {empty} times of empty messages are left out")
    if waiting := max(table.waiting for table in trips):
        findings.append(
            f"{titles[0]}: {waiting} processes waited while ranks 0 and 1 measured: if those are on one "
            "host, this is its memory, and no network"
        )
    sizes, seconds = (np.array(part, float) for part in zip(*pairs, strict=True))
    calls = Calls(np.full(len(sizes), "round_trip"), sizes, np.zeros(len(sizes)), seconds)
    settings = {"bandwidth": max(rates)} if rates else {}
    return [Campaign(place.name, {"round_trip": calls}, settings=settings, findings=tuple(findings))]


def _tables(text: str, place: str) -> Iterator[Table]:
    title, table, count, waiting = "", None, 0, 0
    perftest: re.Match[str] | None = None
    for number, raw in enumerate(text.split("\n"), 1):
        line, at = _RANK_TAG.sub("", raw).strip(), f"{place}:{number}"
        if match := _WAITING.fullmatch(line):
            waiting = texts.number(match[1], at, "processes")
        elif match := _PERFTEST.fullmatch(line):
            perftest = match
        elif (match := _IMB.match(line)) or (match := _OSU.fullmatch(line)):
            title, waiting = match[1], 0
        head = _head(line, title, perftest, at)
        if head is not None:
            if table is not None:
                yield table
            table = head
            table.waiting = waiting
        elif table is not None and _ROW.fullmatch(line):
            count += 1
            if count > MOST_ROWS:
                raise InputError(f"{at}: more than {MOST_ROWS:,} rows")
            table.rows.append(_row(line, table, at))
        elif table is not None and table.rows:
            yield table
            table = None
    if table is not None:
        yield table


def _head(line: str, title: str, perftest: re.Match[str] | None, at: str) -> Table | None:
    """The table that a line of column names begins; None for another line, or a table of another kind."""
    if match := _PERFTEST_HEAD.fullmatch(line):
        return _perftest_table(match[1], perftest, at)
    if match := _IMB_HEAD.fullmatch(line):
        names = match[1].split()
        if title == "PingPong" and names[0] == "t[usec]":
            return Table("round_trip", "IMB PingPong", at, 2, 2e-6, 2 + len(names))
        return None
    if match := _OSU_HEAD.fullmatch(line):
        if match["column"].lower() == "bandwidth":
            return Table("bandwidth", f"OSU {title}", at, 1, 1e6)
        if not re.search(r"\b(?:All|Bcast|Barrier|Gather|Scatter|Reduce|Multi|Put|Get|One|Acc)", title, re.I):
            return Table("round_trip", f"OSU {title}", at, 1, 2e-6)
    return None


def _perftest_table(columns: str, test: re.Match[str] | None, at: str) -> Table | None:
    what = test["what"] if test is not None else "RDMA_Write"
    if "t_" in columns:
        names = re.findall(r"t_\w+\[\w+\]|99%\s*percentile\[\w+\]|99\.9%\s*percentile\[\w+\]", columns)
        wanted = "t_typical[usec]" if "t_typical[usec]" in names else "t_avg[usec]"
        if wanted not in names:
            raise InputError(
                f"{at}: a table of latency without t_typical[usec] and t_avg[usec]: '{columns[:60]}'"
            )
        factor = 1e-6 if what in ("RDMA_Read", "Atomic") else 2e-6
        return Table(
            "round_trip", f"perftest {what} latency", at, 2 + names.index(wanted), factor, 2 + len(names)
        )
    unit = re.search(r"BW average\s*\[(\w+/sec)\]", columns)
    if unit is None:
        return None
    if unit[1] not in _BANDWIDTH_UNITS:
        known = ", ".join(_BANDWIDTH_UNITS)
        raise InputError(f"{at}: unknown unit of bandwidth '{unit[1]}'; known: {known}")
    share = 0.5 if test is not None and test["bidirectional"] else 1.0
    return Table("bandwidth", f"perftest {what} bandwidth", at, 3, share * _BANDWIDTH_UNITS[unit[1]])


def _row(line: str, table: Table, at: str) -> tuple[float, float]:
    words = line.split()
    if len(words) <= table.time_column or len(words) < table.columns:
        raise InputError(
            f"{at}: {len(words)} columns, and the table of {table.title} has more: the run was cut"
        )
    try:
        size, value = float(words[0]), float(words[table.time_column])
    except ValueError:
        raise InputError(
            f"{at}: '{words[table.time_column][:40]}' is no time or rate of {table.title}"
        ) from None
    if not (math.isfinite(value) and value >= 0 and size < 2**62):
        raise InputError(f"{at}: '{line[:60]}': not a size and a time or rate")
    if value == 0 and size > 0:
        raise InputError(f"{at}: a time or rate of 0 for {size:.0f} B: the clock was too coarse")
    return size, value * table.factor
