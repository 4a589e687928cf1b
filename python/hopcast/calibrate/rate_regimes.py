"""Regimes of max-rate data: sizes between which one law holds for every number of pairs.

The cut into ranges of least Σ (relative error / accuracy)² + parameters · ln(rows), by dynamic programming
over all cuts, which is exact. The law is that of three parameters. A breakpoint that only shows with many
pairs is found here, and not in the times of one pair alone.
"""

from __future__ import annotations

import math

import numpy as np

from hopcast.calibrate.pair_sums import Sums
from hopcast.calibrate.pair_times import PairTimes
from hopcast.calibrate.piecewise import ACCURACY

LEAST_SIZES = 2
LEAST_TIMES = 8
"""Fewest times of a regime, over all its sizes and numbers of pairs: two for each parameter."""
PARAMETERS = 4
"""Number of parameters of a regime: three of its law, and its end."""


def learn(data: PairTimes, least: int = LEAST_SIZES) -> list[float]:
    """Ends of all regimes but the last."""
    sizes = np.unique(data.sizes)
    count = len(sizes)
    price = PARAMETERS * math.log(len(data.sizes))
    best = [0.0, *[math.inf] * count]
    before = [0] * (count + 1)
    for end in range(least, count + 1):
        for start in range(0, end - least + 1):
            if math.isinf(best[start]):
                continue
            inside = (data.sizes >= sizes[start]) & (data.sizes <= sizes[end - 1])
            if inside.sum() < min(LEAST_TIMES, len(data.sizes)):
                continue
            cost = best[start] + Sums(data.where(inside)).best(0.0, alone=True)[1] / ACCURACY**2 + price
            if cost < best[end]:
                best[end], before[end] = cost, start
    ends = []
    end = count
    while end and before[end]:
        end = before[end]
        ends.append(float(sizes[end - 1]))
    return ends[::-1]
