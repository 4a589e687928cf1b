"""Regimes of max-rate data: sizes between which one law holds for every number of pairs.

The cut into ranges of least Σ (relative error / accuracy)² + parameters · ln(rows), by dynamic programming
over all cuts, which is exact. The law is that of three parameters. A breakpoint that only shows with many
pairs is found here, and not in the times of one pair alone. Times of the modified law bend where the NIC
begins to limit, which is no breakpoint: `merged` joins what that law describes as one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hopcast.calibrate import rates
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


def merged(data: PairTimes, ends: Sequence[float], law: str) -> list[float]:
    """The ends that are left when neighbours join which one law describes as well, by their criteria."""
    edges = [0.0, *ends, math.inf]
    known: dict[tuple[float, float], float] = {}

    def criterion(above: float, up_to: float) -> float:
        if (above, up_to) not in known:
            part = data.where((data.sizes > above) & (data.sizes <= up_to))
            known[above, up_to] = rates.fit(part, law).criterion
        return known[above, up_to]

    while len(edges) > 2:
        rises = [
            criterion(low, high) - criterion(low, middle) - criterion(middle, high)
            for low, middle, high in zip(edges, edges[1:], edges[2:], strict=False)
        ]
        place = int(np.argmin(rises))
        if rises[place] > 0:
            break
        del edges[place + 1]
    return edges[1:-1]
