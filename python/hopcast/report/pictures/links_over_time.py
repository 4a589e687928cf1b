"""Links over time: which links, or classes of links, were loaded when."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hopcast.report import units
from hopcast.report.pictures.picture import Picture, column
from hopcast.report.store import Result
from hopcast.report.svg import Axis, Canvas, heat, horizontal_axis, time_labels

if TYPE_CHECKING:
    import numpy

PLACE = 60
"""Place on the page among all pictures: the least is the first."""

_ROWS = 20
NO_LINK = 2**32 - 1
"""Value of the column `link` where only classes of links were kept."""


def draw(result: Result) -> Picture | None:
    """A heat map: rows are links, the most loaded first; columns are slices of simulated time."""
    import numpy

    table = result.tables.get("links_over_time")
    if table is None or not table.num_rows:
        return None
    rows, place = _rows(table, result.tables.get("links"))
    begins = column(table, "begin_s")
    span = float(column(table, "end_s")[0] - begins[0])
    at = (begins / span).round().astype(int)
    loads = numpy.zeros((len(rows), int(at.max()) + 1))
    shown = place >= 0
    numpy.add.at(loads, (place[shown], at[shown]), column(table, "bytes")[shown])
    most = float(loads.max()) or 1.0
    end = span * loads.shape[1]

    height = 22 * len(rows) + 40
    canvas = Canvas(1080, height, "Load of links over time")
    across = Axis(0, end, 270, 1072)
    heat(canvas, loads / most, 270, 4, 802, 22 * len(rows))
    for row, name in enumerate(rows):
        canvas.text(258, 4 + 22 * row + 16, name, anchor="end", class_="name small")
        canvas.line(270, 4 + 22 * (row + 1), 1072, 4 + 22 * (row + 1))
    horizontal_axis(canvas, across, height - 26, height - 32, time_labels, about=8)
    peak = units.rate(most / span, "B/s")
    slices = units.seconds(span, 3)
    finding = f"The strongest colour is {peak}, over slices of {slices}; bare paper is an idle link."
    return Picture("Links over time", finding, canvas.svg())


def _rows(table, links) -> tuple[list[str], numpy.ndarray]:
    """The names of the rows that are shown, and each record's row (-1 for none).

    A row is one link; where the run kept no single links, all links of one class.
    """
    import numpy

    link = column(table, "link")
    if link[0] == NO_LINK:
        keys, codes = numpy.unique(table["class"].to_numpy(zero_copy_only=False), return_inverse=True)
    else:
        keys, codes = numpy.unique(link, return_inverse=True)
    totals = numpy.bincount(codes, weights=column(table, "bytes"))
    order = numpy.argsort(-totals, kind="stable")[:_ROWS]
    place = numpy.full(keys.size, -1)
    place[order] = numpy.arange(order.size)
    if link[0] == NO_LINK:
        return [f"all {keys[code]}" for code in order], place[codes]
    names = {} if links is None else _names(links)
    # While a run goes on, the traffic of a link may be there before its name.
    return [names.get(int(keys[code]), f"link {keys[code]}") for code in order], place[codes]


def _names(links) -> dict[int, str]:
    """The names of links by their numbers."""
    columns = links.to_pydict()
    ones = [1] * links.num_rows
    parallel, of = (columns.get(name, ones) for name in ("parallel", "parallel_of"))
    ends = zip(columns["from"], columns["to"], strict=True)
    return dict(zip(columns["link"], map(units.link, ends, parallel, of), strict=True))
