"""Pictures of a run that goes on, made of the rows that it has written so far."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopcast import live_tables
from hopcast.report import units
from hopcast.report.pictures import (
    Picture,
    links_over_time,
    matrix_over_time,
    message_latency,
    messages_over_time,
    time_per_rank,
)
from hopcast.report.pictures.picture import SPLIT, column
from hopcast.report.store import Result

if TYPE_CHECKING:
    import numpy
    import pyarrow

_BINS_PER_OCTAVE = 8
"""Bins of the histogram of latencies in each doubling."""


def draw(report: Path, ranks: int | None) -> list[Picture]:
    """Pictures of the rows so far of the run that will write its report into this folder.

    ranks: number of its ranks, if that is known.
    """
    tables = live_tables.rows(report, "messages", "matrix_periods", "rank_progress", "links")
    progress = tables.get("rank_progress")
    ranks = ranks or _ranks(tables.get("matrix_periods"))
    messages = tables.get("messages")
    result = Result({"ranks": ranks, "kept_messages": kept(messages)}, tables)
    latencies = Result({}, {} if messages is None else {"message_latency": _histogram(messages)})
    drawn = [
        _progress(progress) if progress is not None and progress.num_rows else None,
        links_over_time.draw(Result({}, load_of_links(report) | _only(tables, "links"))),
        matrix_over_time.draw(result),
        message_latency.draw(latencies),
        messages_over_time.draw(result),
    ]
    return [picture for picture in drawn if picture is not None]


def _only(tables: dict[str, pyarrow.Table], name: str) -> dict[str, pyarrow.Table]:
    return {name: tables[name]} if name in tables else {}


def kept(messages: pyarrow.Table | None) -> dict[str, Any] | None:
    """Number of messages so far, of which `messages` holds an equal share, as a report has it."""
    if messages is None or not messages.num_rows:
        return None
    share = messages["share"][0].as_py()
    return {"messages": round(messages.num_rows / share), "kept": messages.num_rows, "share": share}


def _ranks(matrix: pyarrow.Table | None) -> int:
    """Number of ranks of a trace: up to the highest that has sent or received."""
    if matrix is None or not matrix.num_rows:
        return 1
    from pyarrow import compute

    return 1 + max(compute.max(matrix[name]).as_py() for name in ("source", "destination"))


def load_of_links(report: Path) -> dict[str, pyarrow.Table]:
    """Table `links_over_time` in periods of one length; empty where there are none.

    Periods begin at multiples of their length, which doubles with the run: the longest is the length of all.
    """
    import numpy
    import pyarrow

    spans = [_spans(part) for part in live_tables.each_part(report, "links_over_time")]
    if not spans:
        return {}
    length_s, end_s = max(length for length, _ in spans), max(end for _, end in spans)
    cells: dict[Any, tuple[int, str]] = {}
    loads = numpy.zeros((0, round(end_s / length_s) + 1))
    for part in live_tables.each_part(report, "links_over_time"):
        link, classes = column(part, "link"), column(part, "class")
        keys, first, place = numpy.unique(
            classes if link[0] == links_over_time.NO_LINK else link, return_index=True, return_inverse=True
        )
        for key, at in zip(keys.tolist(), first.tolist(), strict=True):
            cells.setdefault(key, (int(link[at]), str(classes[at])))
        loads = numpy.vstack([loads, numpy.zeros((len(cells) - len(loads), loads.shape[1]))])
        rows = {key: row for row, key in enumerate(cells)}
        row = numpy.array([rows[key] for key in keys.tolist()])[place]
        period = numpy.floor(column(part, "begin_s") / length_s + 1e-6).astype(int)
        known = period < loads.shape[1]  # of a part that has come since
        numpy.add.at(loads, (row[known], period[known]), column(part, "bytes")[known])
    row, period = numpy.nonzero(loads)
    names = list(cells.values())
    columns = {
        "begin_s": period * length_s,
        "end_s": (period + 1) * length_s,
        "class": [names[one][1] for one in row],
        "link": numpy.array([names[one][0] for one in row], dtype="uint32"),
        "bytes": loads[row, period],
    }
    return {"links_over_time": pyarrow.table(columns)}


def _spans(part: pyarrow.Table) -> tuple[float, float]:
    """Length of the longest period, and end of the last one [s]."""
    begin, end = column(part, "begin_s"), column(part, "end_s")
    return float((end - begin).max()), float(end.max())


def _histogram(messages: pyarrow.Table) -> pyarrow.Table:
    """Table `message_latency` of the messages so far: their number in logarithmic bins."""
    import numpy
    import pyarrow

    latency = column(messages, "latency_s")
    share = float(column(messages, "share")[0]) if messages.num_rows else 1.0
    place = numpy.floor(numpy.log2(numpy.maximum(latency, 1e-12)) * _BINS_PER_OCTAVE)
    places, counts = numpy.unique(place, return_counts=True)
    low, high = (2 ** ((places + after) / _BINS_PER_OCTAVE) for after in (0, 1))
    # The outermost bins end at the shortest and the longest, as in reports.
    if places.size:
        low[0], high[-1] = max(float(latency.min()), 1e-12), float(latency.max())
    return pyarrow.table({"low_s": low, "high_s": high, "count": numpy.rint(counts / share).astype(int)})


def _progress(table: pyarrow.Table) -> Picture:
    """Time of each rank so far, and the simulated time that the run has reached."""
    edges, means, standing = _latest(table)
    canvas, up = time_per_rank.stacks(
        "Ranks so far: compute, transfer and waiting", edges, means, standing["at_s"]
    )
    canvas.line(70, up(standing["at_s"]), 1072, up(standing["at_s"]), "mark")
    count = int(edges[-1])
    finding = (
        f"At {units.seconds(standing['at_s'], 3)}, {standing['finished']:,} of {units.things(count, 'rank')} "
    )
    finding += "have finished." if count > 1 else "has finished."
    if standing["finished"] < count:
        bin_ = standing["behind"]
        first, last = int(edges[bin_]), int(edges[bin_ + 1]) - 1
        who = f"rank {first:,}" if first == last else f"one of ranks {first:,} to {last:,}"
        finding += (
            f" Furthest behind is {who}, whose current call began at {units.seconds(standing['least'], 3)}."
        )
    finding += " Bars show what ranks did in the calls and stretches of computing that are over."
    return Picture("Progress of ranks", finding, canvas.svg(), SPLIT)


def _latest(table: pyarrow.Table) -> tuple[numpy.ndarray, dict[str, numpy.ndarray], dict[str, Any]]:
    """Edges of the bins of ranks, means of each part of their time, and the standing of all together."""
    import numpy

    values = {name: column(table, name) for name in table.column_names}
    order = numpy.lexsort((values["at_s"], values["domain"], values["rank"]))
    values = {name: value[order] for name, value in values.items()}
    changes = (numpy.diff(values["rank"]) != 0) | (numpy.diff(values["domain"]) != 0)
    last = numpy.append(changes, True)
    values = {name: value[last] for name, value in values.items()}
    first, bins = numpy.unique(values["rank"], return_inverse=True)
    ranks = numpy.bincount(bins, values["ranks"])
    means = {name: numpy.bincount(bins, values[f"{name}_s"] * values["ranks"]) / ranks for name, _ in SPLIT}
    edges = numpy.append(first, int(ranks.sum())).astype(int)
    goes_on = values["finished"] < values["ranks"]
    least = numpy.where(goes_on, values["least_reached_s"], numpy.inf)
    standing = {
        "at_s": float(values["at_s"].max()),
        "finished": int(values["finished"].sum()),
        "least": float(least.min()),
        "behind": int(bins[least.argmin()]),
    }
    return edges, means, standing
