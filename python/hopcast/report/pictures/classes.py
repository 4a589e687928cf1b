"""Traffic by class of link (direction on grids, level on trees) over time: lines that pictures share."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from hopcast.report.pictures.periods import Periods
from hopcast.report.store import Result
from hopcast.report.svg import Axis, Canvas, horizontal_axis, steps, time_labels, vertical_axis

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy

HOST_CLASSES = ("host up", "host down")
"""Between hosts and routers: what NICs send and receive."""

_LINES = 16
_COLUMNS = 512
_DIRECTION = re.compile(r"^(up|down) | (up|down)$|[+-]$")
_COLOURS = 7
_HOSTS_COLOUR = 8


class Classes:
    """The classes that carry anything, at most 16 of them: those that carry most."""

    def __init__(self, result: Result) -> None:
        """Reads a result that has the table `class_periods`, with rows in it."""
        import numpy

        table, short = result.tables["class_periods"], result.summary["statistics"]
        order = {name: number for number, name in enumerate(short["classes"])}
        keys = numpy.array([order[name] for name in table["class"].to_pylist()])
        self.periods = Periods(table, short["period_s"], keys, _COLUMNS)
        self.edges = self.periods.edges
        carried = self.periods.total("bytes")
        most = numpy.argsort(-carried, kind="stable")[:_LINES]
        self.rows = sorted((row for row in most if carried[row]), key=lambda row: (row < 2, row))
        self.names = [short["classes"][row] for row in self.rows]
        self.all_shown = len(self.rows) == numpy.count_nonzero(carried)
        self.strokes = _strokes(self.names)

    @classmethod
    def of(cls, result: Result) -> Classes | None:
        """Data of a result, if it has statistics over time that are not empty."""
        table = result.tables.get("class_periods")
        classes = cls(result) if table is not None and table.num_rows else None
        return classes if classes and classes.rows else None

    def key(self, canvas: Canvas, y: float) -> float:
        """Says which line is which, from height `y` on; gives the height below."""
        x = 0.0
        for name, stroke in zip(self.names, self.strokes, strict=True):
            width = 44 + 7.2 * len(name)
            if x + width > canvas.width:
                x, y = 0.0, y + 20
            canvas.add("path", d=f"M{x:.1f} {y + 6:.1f}h22", **stroke)
            canvas.text(x + 28, y + 10, name, class_="tick")
            x += width
        return y + 20

    def chart(
        self,
        canvas: Canvas,
        box: tuple[float, ...],
        values: numpy.ndarray,
        label: Callable[[float], str],
        least: float = 0.0,
    ) -> None:
        """Lines of `values`, a row per class, in a box (left, right, top, bottom), at least up to `least`."""
        left, right, top, bottom = box
        most = max(float(values[self.rows].max()), least) or 1.0
        across, up = Axis(0, float(self.edges[-1]), left, right), Axis(0, most, bottom, top)
        vertical_axis(canvas, up, left, right, lambda ticks: [label(tick) for tick in ticks], about=4)
        horizontal_axis(canvas, across, bottom + 4, bottom, time_labels, about=round((right - left) / 120))
        for row, name, stroke in zip(self.rows, self.names, self.strokes, strict=True):
            spans = zip(self.edges[:-1], self.edges[1:], values[row], strict=True)
            canvas.add("path", title=name, d=steps(across, up, list(spans)), **stroke)


def _strokes(names: list[str]) -> list[dict[str, Any]]:
    """A colour for each dimension or level; the way back is dashed, and so are those that share a colour."""
    kinds = list(dict.fromkeys(_DIRECTION.sub("", name) for name in names if name not in HOST_CLASSES))
    strokes, used = [], set()
    for name in names:
        if name in HOST_CLASSES:
            colour = _HOSTS_COLOUR
        else:
            colour = kinds.index(_DIRECTION.sub("", name)) % _COLOURS + 1
        dashes = "5 3" if colour in used else "none"
        used.add(colour)
        strokes.append(
            {
                "fill": "none",
                "stroke": f"var(--line-{colour})",
                "stroke_width": 1.4,
                "stroke_dasharray": dashes,
            }
        )
    return strokes
