"""Durations counted in logarithmic bins, as the tables hold them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hopcast.report import units
from hopcast.report.svg import Axis, Canvas, horizontal_axis


@dataclass(frozen=True)
class Histogram:
    """Durations by bin, and the number of those that are zero."""

    bins: tuple[tuple[float, float, int], ...]
    """(low [s], high [s], count), ascending; low is above zero."""
    instant: int
    """Number of durations of zero, which have no place on a logarithmic axis."""

    @classmethod
    def of(cls, rows: Iterable[tuple[float, float, int]]) -> Histogram:
        """Histogram of rows (low [s], high [s], count) in any order."""
        rows = [(float(low), float(high), int(count)) for low, high, count in rows]
        timed = sorted(row for row in rows if row[0] > 0 and row[2] > 0)
        return cls(tuple(timed), sum(count for low, _, count in rows if low <= 0))

    @property
    def total(self) -> int:
        """Number of all that were counted."""
        return self.instant + sum(count for *_, count in self.bins)

    @property
    def sum_s(self) -> float:
        """Roughly all durations together [s]: each at the middle of its bin."""
        return sum((low * high) ** 0.5 * count for low, high, count in self.bins)

    def quantile(self, share: float) -> float:
        """The duration [s] that `share` of all do not exceed; within a bin by equal ratios."""
        wanted = share * self.total
        below = self.instant
        if wanted <= below:
            return 0.0
        for low, high, count in self.bins:
            if below + count >= wanted:
                return low * (high / low) ** ((wanted - below) / count)
            below += count
        return self.bins[-1][1]

    def bars(self, across: Axis) -> Iterator[tuple[float, float, int, str]]:
        """(x, width, count, what it is) of each bin."""
        for low, high, count in self.bins:
            width = max(1.0, across(high) - across(low) - 0.6)
            yield across(low), width, count, f"{units.seconds(low, 3)} to {units.seconds(high, 3)}: {count:,}"


def axis_over(histograms: Iterable[Histogram], start: float, end: float) -> Axis:
    """A logarithmic axis over all of them."""
    histograms = list(histograms)
    low = min(histogram.bins[0][0] for histogram in histograms)
    high = max(histogram.bins[-1][1] for histogram in histograms)
    return Axis(low, high, start, end, logarithmic=True)


def time_ticks(canvas: Canvas, across: Axis, y: float, top: float, about: int) -> None:
    """Grid lines and labels of a logarithmic time axis, each label in its own unit."""
    horizontal_axis(canvas, across, y, top, lambda ticks: [units.seconds(t, 1) for t in ticks], about)
