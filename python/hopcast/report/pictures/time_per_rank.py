"""Time per rank: compute, transfer and waiting, stacked; many ranks are binned to their mean."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from hopcast.report import units
from hopcast.report.pictures.picture import SPLIT, Picture, bin_edges, column
from hopcast.report.store import Result
from hopcast.report.svg import Axis, Canvas, horizontal_axis, time_labels, vertical_axis

if TYPE_CHECKING:
    import numpy

PLACE = 10
"""Place on the page among all pictures: the least is the first."""

_BARS = 220


def draw(result: Result) -> Picture | None:
    """One bar per rank or bin of ranks, up to the makespan."""
    import numpy

    table = result.tables.get("ranks")
    if table is None or not table.num_rows:
        return None
    ranks = table.num_rows
    edges = bin_edges(ranks, _BARS)
    counts = numpy.diff(edges)
    means = {name: numpy.add.reduceat(column(table, f"{name}_s"), edges[:-1]) / counts for name, _ in SPLIT}
    finish = column(table, "finish_s")
    canvas, _ = stacks("Time per rank, split into compute, transfer and waiting", edges, means, finish.max())
    return Picture("Time per rank", _finding(result.summary, finish), canvas.svg(), SPLIT)


def stacks(
    label: str, edges: numpy.ndarray, means: dict[str, numpy.ndarray], end_s: float
) -> tuple[Canvas, Axis]:
    """Drawing of one bar for each bin of ranks, and its axis of time, which goes up to `end_s` at least."""
    import numpy

    ranks = int(edges[-1])
    tallest = max(float(end_s), float(numpy.sum(list(means.values()), axis=0).max()))
    canvas = Canvas(1080, 284, label)
    across, up = Axis(0, ranks, 70, 1072), Axis(0, tallest or 1.0, 262, 12)
    vertical_axis(canvas, up, 70, 1072, time_labels)
    gap = 0.0 if edges.size > 121 else 0.12 * (across(1) - across(0))
    for place, (low, high) in enumerate(pairwise(edges)):
        _stack(canvas, across, up, (int(low), int(high)), {name: means[name][place] for name in means}, gap)
    _rank_axis(canvas, across, ranks)
    return canvas, up


def _stack(canvas: Canvas, across: Axis, up: Axis, span: tuple[int, int], parts: dict, gap: float) -> None:
    low, high = span
    who = f"rank {low}" if high - low == 1 else f"ranks {low:,} to {high - 1:,} (mean)"
    title = who + "".join(f"\n{name} {units.seconds(value)}" for name, value in parts.items())
    bottom = 0.0
    for name, value in parts.items():
        y = up(bottom + value)
        canvas.bar(
            across(low) + gap / 2,
            y,
            across(high) - across(low) - gap,
            up(bottom) - y,
            name,
            title,
            class_="crisp",
        )
        bottom += value


def _rank_axis(canvas: Canvas, across: Axis, ranks: int) -> None:
    def names(ticks):
        return [f"rank {tick:,.0f}" if tick == ticks[0] else f"{tick:,.0f}" for tick in ticks]

    horizontal_axis(canvas, across, 262, 262, names, about=min(10, ranks))


def _finding(summary: dict, finish) -> str:
    import numpy

    if summary["failure"] or summary["partial"]:
        done = int((finish > 0).sum())
        return f"{units.things(done, 'rank')} of {finish.size:,} had finished when the run ended."

    last, median = float(finish.max()), float(numpy.median(finish))
    spread = (last - median) / last if last else 0.0
    who = f"rank {int(finish.argmax()):,}"
    if spread < 0.001:
        return f"All ranks finish together, within {units.percent(0.001)} of {units.seconds(last)}."
    early = units.percent(spread)
    return (
        f"The last to finish is {who} at {units.seconds(last)}; half of the ranks are done {early} earlier."
    )
