"""Energy to solution by cause."""

from __future__ import annotations

from hopcast.report import units
from hopcast.report.energy import amount, by_cause
from hopcast.report.pictures.picture import Picture
from hopcast.report.store import Result
from hopcast.report.svg import Axis, Canvas

PLACE = 25
"""Place on the page among all pictures: the least is the first."""

_ROW = 26
_COLOURS = {
    "hosts_idle": "idle",
    "computing": "compute",
    "communication": "waiting",
    "routers": "line-5",
    "links": "line-6",
    "bytes_moved": "bandwidth",
}
"""Colour of each cause, a variable of the style sheet."""


def draw(result: Result) -> Picture | None:
    """One bar for each cause that the platform gives a power for."""
    rows = by_cause(result.summary)
    total = sum(energy for *_, energy in rows)
    if not total:
        return None
    _, most, energy = max(rows, key=lambda row: row[2])
    finding = f"The run takes {amount(result.summary)}; {units.percent(energy / total)} of it: {most}."
    canvas = Canvas(1080, _ROW * len(rows) + 8, "Energy by cause")
    across = Axis(0, total, 240, 900)
    for number, (name, words, energy) in enumerate(rows):
        y = 4 + _ROW * number
        told = f"{units.rate(energy, 'J')}, {units.percent(energy / total)}"
        canvas.text(230, y + 16, words, anchor="end")
        width = max(0.5, across(energy) - 240)
        canvas.bar(240, y + 3, width, _ROW - 8, _COLOURS[name], f"{words}\n{told}")
        canvas.text(248 + width, y + 16, told)
    return Picture("Energy by cause", finding, canvas.svg())
