"""Communication matrices over time: who sends how much to whom in each eighth of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hopcast.report import units
from hopcast.report.pictures.picture import Picture, column
from hopcast.report.store import Result
from hopcast.report.svg import Canvas, heat

if TYPE_CHECKING:
    import numpy
    import pyarrow

PLACE = 155
"""Place on the page among all pictures: the least is the first."""

_SLICES = 8
_CELLS = 128
"""Most cells of a matrix across."""


def draw(result: Result) -> Picture | None:
    """Heat maps with one logarithmic scale; sources down, destinations across."""
    import numpy

    table = result.tables.get("matrix_periods")
    if table is None or not table.num_rows:
        return None
    end = float(column(table, "end_s").max())
    sent = _slices(table, int(result.summary["ranks"]), end)
    most = float(sent.max())
    if not most:
        return None
    least = float(sent[sent > 0].min())
    span = numpy.log(most / least) or 1.0
    shares = numpy.where(sent > 0, 0.08 + 0.92 * numpy.log(numpy.maximum(sent, least) / least) / span, 0.0)

    canvas = Canvas(1080, 560, "Communication matrix over time")
    for place, matrix in enumerate(shares):
        x, y = 10 + place % 4 * 270, 26 + place // 4 * 272
        heat(canvas, matrix, x, y, 240, 240)
        canvas.add("rect", x=x, y=y, width=240, height=240, class_="frame")
        canvas.text(x, y - 6, f"from {units.seconds(place * end / _SLICES, 3)}", class_="tick")
    return Picture("Communication matrix over time", _finding(sent, end), canvas.svg())


def _slices(table: pyarrow.Table, ranks: int, end: float) -> numpy.ndarray:
    """Bytes by slice of the run, source and destination; a period counts where its middle lies."""
    import numpy

    own = int(table["ranks_per_bin"][0].as_py())
    per_cell = own * -(-ranks // (own * _CELLS))
    cells = -(-ranks // per_cell)
    middle = (column(table, "begin_s") + column(table, "end_s")) / 2
    slice_ = numpy.minimum(middle / end * _SLICES, _SLICES - 1).astype(int)
    source, destination = (column(table, name) // per_cell for name in ("source", "destination"))
    sent = numpy.zeros((_SLICES, cells, cells))
    numpy.add.at(sent, (slice_, source, destination), column(table, "bytes"))
    return sent


def _finding(sent: numpy.ndarray, end: float) -> str:
    totals = sent.sum(axis=(1, 2))
    most = int(totals.argmax())
    begin = units.seconds(most * end / _SLICES, 3)
    return (
        f"Each map is an eighth of the run, with sources down and destinations across. The most is sent in "
        f"that from {begin}: {units.size(float(totals[most]))} of {units.size(float(totals.sum()))}."
    )
