"""Buffers that were full and links that stood idle for lack of credit: heat maps of time and place."""

from __future__ import annotations

from hopcast.report import units
from hopcast.report.pictures.picture import Picture
from hopcast.report.pictures.regions import Quantity, Regions
from hopcast.report.store import Result

PLACE = 100
"""Place on the page among all pictures: the least is the first."""


def draw(result: Result) -> Picture | None:
    """Draws the fill of the buffers at the links' ends, and the time for which links are stalled."""
    regions = Regions.of(result)
    if regions is None:
        return None
    periods = regions.periods
    buffers = Quantity(
        "Buffers",
        "filled, mean of a virtual channel's at these links' ends",
        units.size,
        periods.mean("occupancy_mean_B"),
    )
    stalls = Quantity(
        "Credit stalls",
        "share of the links' time, idle for lack of credit",
        units.percent,
        periods.share("stall_s"),
        least=0.01,
    )
    if not buffers.values.max():
        return None
    canvas = regions.draw("Buffers and credit stalls by place and time", (buffers, stalls))
    finding = f"Buffers are fullest with {regions.peak(buffers)}."
    if stalls.values.max():
        finding += f" Links are stalled most with {regions.peak(stalls)}: congested is what lies behind."
    else:
        finding += " No link was ever idle for lack of credit."
    return Picture("Buffers and credit stalls by place and time", finding, canvas.svg())
