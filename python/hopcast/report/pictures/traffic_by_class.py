"""Efficiency, queue waiting, credit stalls and buffers over time: a line for each class of link."""

from __future__ import annotations

from hopcast.report import units
from hopcast.report.pictures.classes import Classes
from hopcast.report.pictures.picture import Picture
from hopcast.report.store import Result
from hopcast.report.svg import Canvas

PLACE = 80
"""Place on the page among all pictures: the least is the first."""

_HEIGHT = 150
_LEAST = 0.01
"""To what share of one an axis goes at the least."""


def draw(result: Result) -> Picture | None:
    """Four charts with the same time and the same lines."""
    classes = Classes.of(result)
    if classes is None:
        return None
    periods, channels = classes.periods, result.summary["statistics"]["channels"]
    waiting = periods.by_packet("waiting_mean_s")
    charts = [
        ("Efficiency", "payload, of what the links could carry", periods.mean("efficiency"), _percent),
        ("Queue waiting", "mean of a packet, for this link", waiting, lambda tick: units.seconds(tick, 2)),
        ("Credit stalls", "share of the links' time", periods.share("stall_s"), _percent),
        ("Buffers", "filled, mean of a channel's", periods.mean("occupancy_mean_B") / channels, _bytes),
    ]
    canvas = Canvas(1080, 0, "Efficiency, waiting, credit stalls and buffers over time")
    top = classes.key(canvas, 0) + 18
    for number, (name, meaning, values, label) in enumerate(charts):
        left, y = 70 + number % 2 * 560, top + number // 2 * (_HEIGHT + 70) + 18
        canvas.text(left, y - 12, name, class_="name")
        canvas.text(left + 442, y - 12, meaning, anchor="end", class_="tick")
        least = _LEAST if label is _percent else 0.0
        classes.chart(canvas, (left, left + 442, y, y + _HEIGHT), values, label, least)
    canvas.height = round(top + 2 * (_HEIGHT + 70) - 22)
    return Picture("Efficiency, waiting and buffers over time", _finding(classes, waiting), canvas.svg())


def _percent(share: float) -> str:
    return f"{100 * share:g} %"


def _bytes(size: float) -> str:
    return f"{size:,.0f} B"


def _finding(classes: Classes, waiting) -> str:
    shown = waiting[classes.rows]
    words = (
        "A packet waits from when it could be sent on until it is; a link is stalled while it is idle for "
        "lack of room in the buffer at its end."
    )
    if not shown.max():
        return f"{words} No packet waited."
    row, period = divmod(int(shown.argmax()), shown.shape[1])
    when, wait = units.seconds(float(classes.edges[period]), 3), units.seconds(float(shown.max()), 3)
    return f"{words} Packets wait longest for {classes.names[row]} at {when}: {wait} in the mean."
