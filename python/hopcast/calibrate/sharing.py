"""Bandwidth that all pairs of a group of processes have together, from ping-pongs of 1, 2, … pairs at once.

    T_k(n) = T_1(n) + n max(0, k / B − 1 / b)

T_1 is the time of one pair, as measured beside the others; b the bandwidth of one message, by the fit of a
pair alone; B, the `total_bandwidth` of a level or of a host's memory, is at least b. The least squares of
relative errors in 1/B are exact: the rows that the group's bandwidth limits are tried, one k / n more at a
time. Assumption: pairs copy at the same time, which long messages do. Source: the max-rate law, Gropp, Olson,
Samfass, EuroMPI 2016, whose R_N is a group's B here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hopcast.calibrate.accuracy import SPREAD_MOST, Accuracy, accuracy
from hopcast.calibrate.pair_sums import NOTICED, ROUNDING
from hopcast.calibrate.pair_times import PairTimes
from hopcast.errors import InputError


@dataclass(frozen=True)
class Sharing:
    """Bandwidth of a group."""

    total_Bps: float | None
    """None where the data do not identify it."""
    error: float
    """Relative standard error."""
    pairs: int
    """Largest number of pairs at once."""
    accuracy: Accuracy
    """Errors of the law at the rows of several pairs."""

    def __str__(self) -> str:
        if self.total_Bps is None:
            return f"not identified: up to {self.pairs} pairs do not show it"
        spread = f" ± {1e-9 * self.total_Bps * self.error:.2g}" if math.isfinite(self.error) else ""
        return f"{1e-9 * self.total_Bps:.4g}{spread} GB/s, 1 to {self.pairs} pairs; {self.accuracy}"


def fit(data: PairTimes, bandwidth_Bps: Callable[[float], float], above: float = 0.0) -> Sharing:
    """The group's bandwidth.

    bandwidth_Bps: of one message of a size, a pair alone.
    above: shorter messages are left out, if there are longer ones: processes copy them meanwhile.
    """
    alone = {
        float(size): float(seconds)
        for size, seconds, pairs in zip(data.sizes, data.seconds, data.pairs, strict=True)
        if pairs == 1
    }
    known = (data.pairs > 1) & np.isin(data.sizes, list(alone))
    if not known.any():
        raise InputError(
            f"{data.name}: no length with the times of one pair and of several: what pairs have together "
            "is not in it; measure with nodecomm, 2 pairs or more"
        )
    long = known & (data.sizes > above)
    rows = data.where(long if long.any() else known)
    one = np.array([alone[float(size)] for size in rows.sizes])
    free = np.array([1 / bandwidth_Bps(float(size)) for size in rows.sizes])
    law = _Law(rows, one, free)
    best = law.best()
    cost, without, count = law.cost(best), law.cost(0.0), len(rows.seconds)
    active = best * rows.pairs > free
    seen = bool(active.any()) and without > cost * (1 + NOTICED / count) + ROUNDING * count
    slopes = (rows.sizes * rows.pairs / rows.seconds)[active]
    freedom = count - 1
    error = math.sqrt(cost / freedom / (slopes @ slopes)) / best if seen and freedom > 0 else math.inf
    if not seen or (freedom > 0 and error > SPREAD_MOST):
        return Sharing(None, math.inf, int(rows.pairs.max()), accuracy(law.at(0.0), rows.seconds))
    return Sharing(1 / best, error, int(rows.pairs.max()), accuracy(law.at(best), rows.seconds))


@dataclass(frozen=True)
class _Law:
    rows: PairTimes
    one: np.ndarray
    free: np.ndarray
    """Time of a byte of one message alone [s/B]."""

    def at(self, total: float) -> np.ndarray:
        """Times where a byte of the group takes `total` [s/B]."""
        return self.one + self.rows.sizes * np.maximum(0.0, self.rows.pairs * total - self.free)

    def cost(self, total: float) -> float:
        return float(((self.at(total) / self.rows.seconds - 1) ** 2).sum())

    def best(self) -> float:
        """Time of a byte of the group, at most that of a byte of one message."""
        begins = np.unique(self.free / self.rows.pairs)
        most = float(self.free.min())
        candidates = [0.0, most]
        for low, high in zip(begins, [*begins[1:], np.inf], strict=True):
            active = self.rows.pairs * low >= self.free * (1 - 1e-12)
            slope = (self.rows.sizes * self.rows.pairs / self.rows.seconds)[active]
            rest = (1 - (self.one - self.rows.sizes * self.free) / self.rows.seconds)[active]
            optimum = float(slope @ rest / (slope @ slope))
            candidates.append(min(max(optimum, low), high, most))
        return min(candidates, key=self.cost)
