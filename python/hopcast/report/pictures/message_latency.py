"""Message latency: from the sender's call to the receiver's having it, as a histogram."""

from __future__ import annotations

from hopcast.report import units
from hopcast.report.pictures.call_durations import quantile
from hopcast.report.pictures.picture import Picture, column
from hopcast.report.store import Result
from hopcast.report.svg import Axis, Canvas, horizontal_axis, vertical_axis


def draw(result: Result) -> Picture | None:
    """Counts over a logarithmic axis, with the median and the 99th percentile marked."""
    table = result.tables.get("message_latency")
    bins = _bins(table) if table is not None else []
    if not bins:
        return None
    canvas = Canvas(520, 520, "Message latency")
    across = Axis(bins[0][0], bins[-1][1], 66, 512, logarithmic=True)
    up = Axis(0, max(count for *_, count in bins), 456, 30)
    vertical_axis(canvas, up, 66, 512, lambda ticks: [units.count(tick) for tick in ticks])
    horizontal_axis(canvas, across, 456, 30, lambda ticks: [units.seconds(t, 1) for t in ticks])
    for low, high, count in bins:
        title = f"{units.seconds(low, 3)} to {units.seconds(high, 3)}: {count:,} messages"
        width = max(1.0, across(high) - across(low) - 0.6)
        canvas.bar(across(low), up(count), width, up(0) - up(count), "accent", title)
    for share, name in ((0.5, "median"), (0.99, "99 %")):
        x = across(quantile(bins, share))
        canvas.line(x, 22, x, 456, "mark")
        canvas.text(x, 16, name, anchor="middle", class_="tick")
    canvas.text(512, 492, "from the sender's call to its receipt", anchor="end", class_="tick")
    finding = (
        f"Half of the messages arrive within {units.seconds(quantile(bins, 0.5), 3)}, "
        f"99 of 100 within {units.seconds(quantile(bins, 0.99), 3)}."
    )
    return Picture("Message latency", finding, canvas.svg(), wide=False)


def _bins(table) -> list[tuple[float, float, int]]:
    """Bins (low, high, count) in order; one that begins at zero is drawn as its last decade."""
    columns = [column(table, name) for name in ("low_s", "high_s", "count")]
    bins = (
        (max(float(low), float(high) / 10), float(high), int(count))
        for low, high, count in zip(*columns, strict=True)
        if count > 0 and high > 0
    )
    return sorted(bins)
