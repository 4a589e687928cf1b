"""Periods of statistics over time as columns of a picture: neighbours are one where they are too many."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hopcast.report.pictures.picture import bin_edges, column

if TYPE_CHECKING:
    import numpy
    import pyarrow


class Periods:
    """Sums up the rows of a table by a key of theirs and by column."""

    def __init__(self, table: pyarrow.Table, length_s: float, keys: numpy.ndarray, at_most: int) -> None:
        """`keys` says of each row which one of 0, 1, … it counts for; periods are `length_s` long."""
        import numpy

        begins, ends = column(table, "begin_s"), column(table, "end_s")
        period = (begins / length_s).round().astype(int)
        cuts = bin_edges(int(period.max()) + 1, at_most)
        self.edges: numpy.ndarray = cuts * length_s
        """Times at which columns begin, and the last one ends [s]."""
        self.edges[-1] = ends.max()
        self._table, self._keys = table, keys
        self._column = numpy.searchsorted(cuts, period, side="right") - 1
        self._spans = ends - begins
        self._shape = (int(keys.max()) + 1, cuts.size - 1)

    def mean(self, name: str) -> numpy.ndarray:
        """Mean of a rate or level over time; rows of one key and period add up."""
        import numpy

        return self._sum(column(self._table, name) * self._spans) / numpy.diff(self.edges)

    def share(self, name: str) -> numpy.ndarray:
        """Share of a time that is summed over links in the time of the links that the run used."""
        import numpy

        used = "links_used" if "links_used" in self._table.column_names else "links"
        return self._sum(column(self._table, name) / column(self._table, used)) / numpy.diff(self.edges)

    def by_packet(self, name: str) -> numpy.ndarray:
        """Mean over all packets of a mean over packets."""
        import numpy

        packets = column(self._table, "packets")
        count = self._sum(packets)
        total = self._sum(column(self._table, name) * packets)
        return numpy.divide(total, count, out=numpy.zeros(self._shape), where=count > 0)

    def total(self, name: str) -> numpy.ndarray:
        """The sum by key."""
        return self._sum(column(self._table, name)).sum(axis=1)

    def _sum(self, values: numpy.ndarray) -> numpy.ndarray:
        import numpy

        sums = numpy.zeros(self._shape)
        numpy.add.at(sums, (self._keys, self._column), values)
        return sums
