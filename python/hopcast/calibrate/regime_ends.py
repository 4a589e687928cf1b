"""Standard errors of the sizes at which one regime ends and the next begins.

Every pair of neighbouring measured sizes between the ends around it is tried as the place of an end. With W
the sum of the weighted squares of all kinds' lines on both sides, and s² = W / (points − parameters) of the
best place, at least 1,

    p ∝ ln(next / size) e^(− (W − W_least) / 2 s²)

is the probability that the end lies between a size and the next one, and the end is evenly distributed
between them. The standard error is the root of the mean square of its distance from the size that the fit
has taken: even of an end that shows at once it is not less than the sizes beside it allow.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from hopcast.calibrate.accuracy import SPREAD_MOST
from hopcast.calibrate.lines import log_lines
from hopcast.calibrate.piecewise import LEAST_POINTS, scatter_of
from hopcast.calibrate.series import Series

RANGE = 0.95
"""Probability of the range that is given."""


@dataclass(frozen=True)
class End:
    """An end of a regime as the times show it [B]."""

    error: float
    """Standard error; nan where there is none."""
    low: float = math.nan
    high: float = math.nan
    """Sizes that were measured, between which it lies with a probability of 95 %."""
    source: str = ""
    """Origin of the size that the fit has taken."""

    def said(self, size: float) -> str:
        """Text for the platform file about the end at `size`."""
        if not math.isfinite(self.error):
            return "no standard error: too few sizes beside it"
        shown = f"between {self.low:.0f} B and {self.high:.0f} B"
        if self.error > SPREAD_MOST * size:
            return f"not identified by the times: {shown}"
        return f"± {float(f'{self.error:.3g}'):g} B: {shown}, which were measured"


def find(series: Mapping[str, Series], sources: Mapping[float, str]) -> dict[float, End]:
    """Each of the ends, in rising order, with the others where they are.

    series: times of each kind; places are sizes of `round_trip`.
    sources: origin of each end.
    """
    edges = [0.0, *sources, math.inf]
    weights = {name: scatter_of(kind.sizes, kind.seconds) ** -2.0 for name, kind in series.items()}
    return {
        end: replace(_end(series, weights, end, (edges[place], edges[place + 2])), source=source)
        for place, (end, source) in enumerate(sources.items())
    }


def _end(
    series: Mapping[str, Series],
    weights: Mapping[str, np.ndarray],
    end: float,
    around: tuple[float, float],
) -> End:
    sizes = series["round_trip"].sizes
    sizes = sizes[(sizes > around[0]) & (sizes <= around[1])]
    if len(sizes) < 2 * LEAST_POINTS:
        return End(math.nan)
    places = np.arange(LEAST_POINTS - 1, len(sizes) - LEAST_POINTS)
    misfit, points = np.zeros(len(places)), 0
    for name, kind in series.items():
        first, last = np.searchsorted(kind.sizes, around, side="right")
        cuts = np.clip(np.searchsorted(kind.sizes, sizes[places], side="right"), first, last)
        for starts, stops in ((np.full(len(cuts), first), cuts), (cuts, np.full(len(cuts), last))):
            filled = stops > starts
            if filled.any():
                ranges = starts[filled], stops[filled]
                misfit[filled] += log_lines(kind.sizes, kind.seconds, weights[name], *ranges)[2]
        points += int(last - first)
    scale = max(1.0, float(misfit.min()) / max(1, points - 4 * len(series)))
    below, above = sizes[places], sizes[places + 1]
    shares = np.log(above / below) * np.exp(-(misfit - misfit.min()) / (2 * scale))
    shares /= shares.sum()
    one, two = below - end, above - end
    square = float(shares @ ((one**2 + one * two + two**2) / 3))
    total = np.cumsum(shares)
    low = int(np.searchsorted(total, (1 - RANGE) / 2))
    high = min(int(np.searchsorted(total, (1 + RANGE) / 2)), len(places) - 1)
    return End(math.sqrt(square), float(below[low]), float(above[high]))
