"""The pictures of `report.html`, one file each. Adding one is a file here and a line in `PICTURES`.

A picture is a function of the result that gives a `Picture`, or `None` where the run has no data for it.
"""

from __future__ import annotations

from hopcast.report.pictures import (
    busiest_links,
    call_durations,
    links_over_time,
    matrix,
    message_latency,
    mpi_calls,
    time_per_rank,
)
from hopcast.report.pictures.picture import Picture

PICTURES = (
    time_per_rank.draw,
    mpi_calls.draw,
    call_durations.draw,
    busiest_links.draw,
    links_over_time.draw,
    matrix.draw,
    message_latency.draw,
)

__all__ = ["PICTURES", "Picture"]
