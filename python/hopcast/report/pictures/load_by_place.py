"""Links that were busy and packets that waited: heat maps of time and place, by class of link."""

from __future__ import annotations

from hopcast.report import units
from hopcast.report.pictures.picture import Picture
from hopcast.report.pictures.regions import Quantity, Regions
from hopcast.report.store import Result

PLACE = 90
"""Place on the page among all pictures: the least is the first."""


def draw(result: Result) -> Picture | None:
    """The share of time for which links transmit, and the mean wait of a packet."""
    regions = Regions.of(result)
    if regions is None:
        return None
    periods = regions.periods
    busy = Quantity("Links busy", "share of their time", units.percent, periods.share("busy_s"), least=0.01)
    waiting = Quantity(
        "Queue waiting",
        "mean of a packet, for these links",
        lambda value: units.seconds(value, 3),
        periods.by_packet("waiting_mean_s"),
    )
    canvas = regions.draw("Load of links by place and time", (busy, waiting))
    finding = (
        "Each panel is a class of links, places from top to bottom, time to the right, by the scale above "
        f"it. Links are busiest with {regions.peak(busy)}."
    )
    if waiting.values.max():
        finding += f" Packets wait longest with {regions.peak(waiting)}."
    return Picture("Load by place and time", finding, canvas.svg())
