"""Traffic by class of link (direction on grids, level on trees) over time, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hopcast.report.pictures.picture import column

if TYPE_CHECKING:
    import numpy
    import pyarrow

HOST_CLASSES = ("host up", "host down")
"""Between hosts and routers: what NICs send and receive."""


@dataclass(frozen=True)
class ByClass:
    """Sums over virtual channels; each array has a row per class and a column per period."""

    names: list[str]
    edges: numpy.ndarray
    """Where periods begin, and where the last one ends [s]."""
    throughput: numpy.ndarray
    """Mean of the links [B/s]."""
    load: numpy.ndarray
    """Share of the links' bandwidth; 0 where that is unlimited."""
    waiting: numpy.ndarray
    """Mean of the packets [s]."""
    stall: numpy.ndarray
    """Share of the links' time."""
    occupancy: numpy.ndarray
    """Mean of the buffers [B]."""

    @classmethod
    def of(cls, table: pyarrow.Table) -> ByClass:
        """Of the table `class_periods`, which has rows."""
        import numpy

        begins, ends = column(table, "begin_s"), column(table, "end_s")
        length = float((ends - begins).max())
        at = (begins / length).round().astype(int)
        classes = table["class"].to_pylist()
        names = sorted(set(classes), key=lambda name: (name not in HOST_CLASSES, classes.index(name)))
        row = numpy.array([names.index(name) for name in classes])
        shape = (len(names), int(at.max()) + 1)

        def total(values: numpy.ndarray) -> numpy.ndarray:
            sums = numpy.zeros(shape)
            numpy.add.at(sums, (row, at), values)
            return sums

        def ratio(part: numpy.ndarray, whole: numpy.ndarray) -> numpy.ndarray:
            return numpy.divide(part, whole, out=numpy.zeros_like(part), where=whole > 0)

        payload, packets = total(column(table, "payload_bytes")), total(column(table, "packets"))
        channels = int(column(table, "channel").max()) + 1
        link_time = column(table, "links") * (ends - begins)
        edges = length * numpy.arange(shape[1] + 1)
        edges[-1] = float(ends[at == at.max()].max())
        return cls(
            names=names,
            edges=edges,
            throughput=total(column(table, "throughput_Bps")),
            load=total(column(table, "efficiency")) * ratio(total(column(table, "bytes")), payload),
            waiting=ratio(total(column(table, "waiting_mean_s") * column(table, "packets")), packets),
            stall=total(ratio(column(table, "stall_s"), link_time)),
            occupancy=total(column(table, "occupancy_mean_B")) / channels,
        )
