"""Messages over time: how long each took that was kept, as a map of time and latency."""

from __future__ import annotations

from hopcast.report import units
from hopcast.report.pictures.picture import Picture, column
from hopcast.report.store import Result
from hopcast.report.svg import Axis, Canvas, heat, horizontal_axis, time_labels, vertical_axis

PLACE = 165
"""Place on the page among all pictures: the least is the first."""

_ACROSS, _UP = 240, 70
"""Cells of the map."""


def draw(result: Result) -> Picture | None:
    """Numbers of messages by time of receipt and by latency, the latter on a logarithmic scale."""
    import numpy

    table = result.tables.get("messages")
    if table is None or not table.num_rows:
        return None
    received, latency = column(table, "received_s"), column(table, "latency_s")
    positive = latency[latency > 0]
    low = float(positive.min()) if positive.size else 1e-12
    high = max(float(latency.max()), low * 1.2)
    end = max(float(received.max()), 1e-12)
    edges = numpy.linspace(0, end, _ACROSS + 1), numpy.geomspace(low, high, _UP + 1)
    counts, _, _ = numpy.histogram2d(received, numpy.clip(latency, low, high), edges)
    shares = numpy.log1p(counts) / numpy.log1p(counts.max())

    canvas = Canvas(1080, 320, "Latency of messages over time")
    across, up = Axis(0, end, 90, 1072), Axis(low, high, 290, 10, logarithmic=True)
    heat(canvas, shares.T[::-1], 90, 10, 982, 280)
    vertical_axis(canvas, up, 90, 1072, lambda ticks: [units.seconds(tick, 1) for tick in ticks])
    horizontal_axis(canvas, across, 294, 290, time_labels, about=8)
    return Picture("Latency of messages over time", _finding(result, table.num_rows), canvas.svg())


def _finding(result: Result, rows: int) -> str:
    kept = result.summary.get("kept_messages") or {"messages": rows, "kept": rows, "share": 1.0}
    if kept["share"] == 1:
        which = f"All {units.things(kept['messages'], 'message')}"
    else:
        which = (
            f"{kept['kept']:,} of {units.things(kept['messages'], 'message')}, those of a share of "
            f"1 in {round(1 / kept['share']):,}"
        )
    return f"{which}, from the sender's call to the receiver's buffer, at the time of receipt."
