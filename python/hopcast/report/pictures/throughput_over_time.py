"""Throughput over time: a line for each class of link (direction on grids, level on trees)."""

from __future__ import annotations

from hopcast.report import units
from hopcast.report.pictures.by_class import HOST_CLASSES, ByClass
from hopcast.report.pictures.picture import Picture
from hopcast.report.store import Result
from hopcast.report.svg import Axis, Canvas, horizontal_axis, steps, time_labels, vertical_axis

_LINES = 8


def draw(result: Result) -> Picture | None:
    """The mean throughput of a link of each class, in each period."""
    table = result.tables.get("class_periods")
    if table is None or not table.num_rows:
        return None
    traffic = ByClass.of(table)
    between = [row for row, name in enumerate(traffic.names) if name not in HOST_CLASSES]
    rows = (between or list(range(len(traffic.names))))[:_LINES]
    most = float(traffic.throughput[rows].max()) or 1.0

    canvas = Canvas(1080, 320, "Throughput of links over time")
    across, up = Axis(0, float(traffic.edges[-1]), 90, 1072), Axis(0, most, 290, 10)
    vertical_axis(canvas, up, 90, 1072, lambda ticks: [units.rate(tick, "B/s") for tick in ticks])
    horizontal_axis(canvas, across, 294, 290, time_labels, about=8)
    for number, row in enumerate(rows):
        spans = zip(traffic.edges[:-1], traffic.edges[1:], traffic.throughput[row], strict=True)
        canvas.add(
            "path",
            title=traffic.names[row],
            d=steps(across, up, list(spans)),
            fill="none",
            stroke=f"var(--line-{number + 1})",
            stroke_width=1.4,
            # Both directions of a dimension often carry the same: the line below shows through the gaps.
            stroke_dasharray="5 4" if number % 2 else "none",
        )
    legend = tuple((f"line-{number + 1}", traffic.names[row]) for number, row in enumerate(rows))
    return Picture("Throughput by class of link", _finding(traffic, rows), canvas.svg(), legend)


def _finding(traffic: ByClass, rows: list[int]) -> str:
    throughput = traffic.throughput[rows]
    row, period = divmod(int(throughput.argmax()), throughput.shape[1])
    peak = units.rate(float(throughput.max()), "B/s")
    load = traffic.load[rows[row], period]
    share = f", {units.percent(float(load))} of what they can carry" if load else ""
    length = units.seconds(float(traffic.edges[1] - traffic.edges[0]), 3)
    when = units.seconds(float(traffic.edges[period]), 3)
    more = "" if len(rows) == len(traffic.names) or len(rows) < _LINES else f" {_LINES} classes are shown."
    return (
        f"Mean of the links of a class, headers included, over periods of {length}. "
        f"The peak is {peak}{share}, on {traffic.names[rows[row]]} at {when}.{more}"
    )
