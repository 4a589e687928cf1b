"""The pictures of `report.html`, one file each. Adding one is a file here and a line in `PICTURES`.

A picture is a function of the result that gives a `Picture`, or `None` where the run has no data for it.
"""

from __future__ import annotations

from hopcast.report.pictures import (
    buffers_by_place,
    busiest_links,
    call_durations,
    causes,
    faults,
    latency_over_time,
    links_over_time,
    load_by_place,
    load_of_routers,
    matrix,
    message_latency,
    mpi_calls,
    slow_packets,
    throughput_over_time,
    time_per_rank,
    traffic_by_class,
)
from hopcast.report.pictures.picture import Picture

PICTURES = (
    time_per_rank.draw,
    causes.draw,
    mpi_calls.draw,
    call_durations.draw,
    busiest_links.draw,
    links_over_time.draw,
    throughput_over_time.draw,
    traffic_by_class.draw,
    load_by_place.draw,
    buffers_by_place.draw,
    load_of_routers.draw,
    latency_over_time.draw,
    slow_packets.draw,
    faults.draw,
    matrix.draw,
    message_latency.draw,
)

__all__ = ["PICTURES", "Picture"]
