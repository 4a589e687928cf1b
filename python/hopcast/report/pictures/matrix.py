"""Communication matrix: who sent how much to whom; large runs are binned."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hopcast.report import units
from hopcast.report.pictures.picture import Picture, column
from hopcast.report.store import Result
from hopcast.report.svg import Axis, Canvas, heat

if TYPE_CHECKING:
    import numpy
    import pyarrow

PLACE = 150
"""Place on the page among all pictures: the least is the first."""

_BINS = 256


def draw(result: Result) -> Picture | None:
    """A heat map of bytes on a logarithmic scale; sources down, destinations across."""

    table = result.tables.get("matrix")
    if table is None or not table.num_rows:
        return None
    ranks = int(result.summary["ranks"])
    sent, per_cell = binned(table, ranks)
    most = float(sent.max())
    least = float(sent[sent > 0].min()) if most else 0.0
    if not most:
        return None
    shares = _shares(sent, least, most)

    canvas = Canvas(520, 520, "Communication matrix")
    across = Axis(0, len(sent) * per_cell, 66, 512)
    heat(canvas, shares, 66, 10, 446, 446)
    canvas.add("rect", x=66, y=10, width=446, height=446, class_="frame")
    _labels(canvas, across, ranks)
    _scale(canvas, least, most)
    return Picture("Communication matrix", _finding(sent, per_cell), canvas.svg(), wide=False)


def binned(table: pyarrow.Table, ranks: int) -> tuple[numpy.ndarray, int]:
    """Bytes from cell to cell, and how many ranks a cell holds: whole bins of the table, in equal numbers."""
    import numpy

    own = int(table["ranks_per_bin"][0].as_py())
    per_cell = own * math.ceil(math.ceil(ranks / own) / _BINS)
    cells = math.ceil(ranks / per_cell)
    source, destination = (column(table, name) // per_cell for name in ("source", "destination"))
    sent = numpy.zeros((cells, cells))
    numpy.add.at(sent, (source, destination), column(table, "bytes"))
    return sent, per_cell


def _shares(sent, least: float, most: float):
    """0 for nothing, else 0.08 to 1 by the logarithm."""
    import numpy

    if least == most:
        return (sent > 0) * 0.7
    logarithm = numpy.log(numpy.maximum(sent, least) / least) / numpy.log(most / least)
    return numpy.where(sent > 0, 0.08 + 0.92 * logarithm, 0.0)


def _labels(canvas: Canvas, across: Axis, ranks: int) -> None:
    for tick in across.ticks(4):
        if tick < 0.97 * ranks:
            canvas.text(across(tick), 472, f"{tick:,.0f}", anchor="start", class_="tick")
            canvas.text(58, across(tick) - 56 + 10, f"{tick:,.0f}", anchor="end", class_="tick")
    canvas.text(512, 488, "destination rank", anchor="end", class_="tick")
    canvas.text(10, 456, "source rank", transform="rotate(-90 10 456)", class_="tick")


def _scale(canvas: Canvas, least: float, most: float) -> None:
    """The colours from the least to the most."""
    import numpy

    if least == most:
        canvas.text(66, 510, f"every pair that talks: {units.size(most)}", class_="tick")
        return
    canvas.text(66, 510, units.size(least), class_="tick")
    heat(canvas, numpy.linspace(0.08, 1, 64)[None, :], 136, 501, 130, 10)
    canvas.text(274, 510, units.size(most), class_="tick")


def _finding(sent, per_cell: int) -> str:
    filled = float((sent > 0).mean())
    cell = f" One cell is {per_cell:,} × {per_cell:,} ranks." if per_cell > 1 else ""
    return f"{units.percent(filled)} of the cells are used.{cell}"
