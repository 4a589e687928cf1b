"""Message latency: from the sender's call to the receiver's having it, as a histogram."""

from __future__ import annotations

from hopcast.report import units
from hopcast.report.pictures.histogram import Histogram, axis_over, time_ticks
from hopcast.report.pictures.picture import Picture, column
from hopcast.report.store import Result
from hopcast.report.svg import Axis, Canvas, vertical_axis

PLACE = 160
"""Place on the page among all pictures: the least is the first."""


def draw(result: Result) -> Picture | None:
    """Counts over a logarithmic axis, with the median and the 99th percentile marked."""
    table = result.tables.get("message_latency")
    if table is None:
        return None
    histogram = Histogram.of(
        zip(*(column(table, name) for name in ("low_s", "high_s", "count")), strict=True)
    )
    if not histogram.bins:
        return None
    canvas = Canvas(520, 520, "Message latency")
    across = axis_over([histogram], 66, 512)
    up = Axis(0, max(count for *_, count in histogram.bins), 456, 30)
    vertical_axis(canvas, up, 66, 512, lambda ticks: [units.tick(tick) for tick in ticks])
    time_ticks(canvas, across, 456, 30, about=6)
    for x, width, count, what in histogram.bars(across):
        canvas.bar(x, up(count), width, up(0) - up(count), "accent", f"{what} messages")
    middle, late = histogram.quantile(0.5), histogram.quantile(0.99)
    for value, name in ((middle, "median"), (late, "99 %")):
        canvas.line(across(value), 22, across(value), 456, "mark")
        canvas.text(across(value), 16, name, anchor="middle", class_="tick")
    canvas.text(512, 492, "from the sender's call to its receipt", anchor="end", class_="tick")
    finding = (
        f"Half of the messages arrive within {units.seconds(middle, 3)}, "
        f"99 of 100 within {units.seconds(late, 3)}."
    )
    return Picture("Message latency", finding, canvas.svg(), wide=False)
