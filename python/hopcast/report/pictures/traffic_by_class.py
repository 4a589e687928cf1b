"""Traffic by class of link over time: load, waiting, credit stalls and buffers, as heat maps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hopcast.report import units
from hopcast.report.pictures.by_class import ByClass
from hopcast.report.pictures.picture import Picture
from hopcast.report.store import Result
from hopcast.report.svg import Axis, Canvas, heat, horizontal_axis, time_labels

if TYPE_CHECKING:
    import numpy

_ROW = 15
_ROWS = 24


def draw(result: Result) -> Picture | None:
    """Four panels, one above the other: rows are classes, columns are periods."""
    table = result.tables.get("class_periods")
    if table is None or not table.num_rows:
        return None
    traffic = ByClass.of(table)
    rows = min(len(traffic.names), _ROWS)
    panels = [
        ("load", "share of the bandwidth", traffic.load, units.percent),
        ("waiting", "mean of a packet, for its next link", traffic.waiting, lambda s: units.seconds(s, 3)),
        ("credit stalls", "share of the links' time", traffic.stall, units.percent),
        ("buffers", "mean of a virtual channel's", traffic.occupancy, units.size),
    ]
    height = _ROW * rows + 34
    canvas = Canvas(1080, height * len(panels) + 26, "Traffic by class of link over time")
    across = Axis(0, float(traffic.edges[-1]), 150, 1072)
    for number, (name, meaning, values, words) in enumerate(panels):
        most = float(values[:rows].max())
        top = number * height + 24
        canvas.text(150, top - 8, name, class_="name")
        canvas.text(1072, top - 8, f"{meaning}; strongest: {words(most)}", anchor="end", class_="tick")
        _panel(canvas, values[:rows] / (most or 1.0), traffic.names[:rows], across, top)
    bottom = height * len(panels) - 6
    horizontal_axis(canvas, across, bottom + 8, bottom, time_labels, about=8)
    return Picture("Traffic over time", _finding(traffic), canvas.svg())


def _panel(canvas: Canvas, shares: numpy.ndarray, names: list[str], across: Axis, top: float) -> None:
    heat(canvas, shares, across.start, top, across.end - across.start, _ROW * len(names))
    canvas.add(
        "rect",
        x=across.start,
        y=top,
        width=across.end - across.start,
        height=_ROW * len(names),
        class_="frame",
    )
    for row, name in enumerate(names):
        canvas.text(140, top + _ROW * row + 12, name, anchor="end", class_="tick")


def _finding(traffic: ByClass) -> str:
    if not traffic.waiting.max():
        return "No packet waited for a link."
    row, period = divmod(int(traffic.waiting.argmax()), traffic.waiting.shape[1])
    return (
        f"Packets wait longest for {traffic.names[row]} at {units.seconds(float(traffic.edges[period]), 3)}: "
        f"{units.seconds(float(traffic.waiting.max()), 3)} in the mean. Each panel has its own scale."
    )
