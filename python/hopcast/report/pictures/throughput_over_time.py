"""Throughput over time: a line for each class of link (direction on grids, level on trees)."""

from __future__ import annotations

from hopcast.report import units
from hopcast.report.pictures.classes import Classes
from hopcast.report.pictures.picture import Picture
from hopcast.report.store import Result
from hopcast.report.svg import Canvas

PLACE = 70
"""Place on the page among all pictures: the least is the first."""


def draw(result: Result) -> Picture | None:
    """The mean throughput of a link of each class, in each period."""
    classes = Classes.of(result)
    if classes is None:
        return None
    canvas = Canvas(1080, 0, "Throughput of links over time")
    top = classes.key(canvas, 0) + 12
    canvas.height = round(top) + 310
    throughput = classes.periods.mean("throughput_Bps")
    classes.chart(canvas, (90, 1072, top, top + 280), throughput, lambda tick: units.rate(tick, "B/s"))

    shown = throughput[classes.rows]
    row, period = divmod(int(shown.argmax()), shown.shape[1])
    load = float(classes.periods.share("busy_s")[classes.rows[row], period])
    busy = f", when they are busy {units.percent(load)} of the time" if load else ""
    length = units.seconds(result.summary["statistics"]["period_s"], 3)
    when = units.seconds(float(classes.edges[period]), 3)
    finding = (
        f"What a link carries, headers included: the mean of each class of links, by periods of {length}. "
        f"The peak is {units.rate(float(shown.max()), 'B/s')}, on {classes.names[row]} at {when}{busy}."
    )
    if not classes.all_shown:
        finding += f" Shown are the {len(classes.rows)} classes that carry most."
    return Picture("Throughput over time", finding, canvas.svg())
