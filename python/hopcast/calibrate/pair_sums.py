"""Max-rate laws by sums over the rows of each number of pairs, for all thresholds at once.

With f_k = k / (1 + (k − 1) ρ), ρ = R_Ci / R_Cb (f_k = 1 in the law of three parameters),

    T = s + n max(g_C f_k, g_N k)

is linear in (s, g_C, g_N) once it is known for which k the second term is the larger: those from a threshold
on. Normal equations of all thresholds come from five sums for each k.
"""

from __future__ import annotations

import itertools

import numpy as np

from hopcast.calibrate.pair_times import PairTimes

NOTICED = 4.0
"""Fall of the sum, in variances of a row, from which on a NIC's limit is believed: two standard errors."""
ROUNDING = 1e-12
"""Square of a relative error that is one of arithmetic."""


class Sums:
    """Sums of relative least squares; those of two ranges of sizes add up."""

    def __init__(self, data: PairTimes):
        self.pairs, places = np.unique(data.pairs, return_inverse=True)
        inverse, size = 1 / data.seconds, data.sizes / data.seconds
        terms = (inverse**2, inverse * size, size**2, inverse, size, np.ones_like(size))
        self.sums = np.array([np.bincount(places, term, len(self.pairs)) for term in terms])

    def best(self, ratio: float, *, alone: bool = False) -> tuple[np.ndarray, float]:
        """(s, g_C, g_N), none negative, and Σ (T_model / T − 1)²; `alone`: the law of three parameters.

        g_N is zero, a NIC that never limits, unless it lowers the sum by more than chance does.
        """
        own = np.ones_like(self.pairs) if alone else self.pairs / (1 + (self.pairs - 1) * ratio)
        matrices, targets = self._equations(own)
        candidates = [np.zeros((1, 3))]
        for count in (1, 2, 3):
            for used in itertools.combinations(range(3), count):
                candidates.append(_solved(matrices, targets, list(used)))
        parameters = np.concatenate(candidates)
        costs = self._costs(parameters, own)
        place = int(np.argmin(costs))
        free = np.flatnonzero(parameters[:, 2] == 0)
        without = int(free[np.argmin(costs[free])])
        rows = self.sums[-1].sum()
        if costs[without] <= costs[place] * (1 + NOTICED / rows) + ROUNDING * rows:
            place = without
        return parameters[place], float(costs[place])

    def _equations(self, own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Normal equations for each threshold: the first t numbers of pairs are limited by the processes."""
        s1, sn, snn, b1, bn, _ = self.sums
        count = len(self.pairs)
        first = np.tril(np.ones((count + 1, count)), -1)
        later = 1 - first
        matrices = np.zeros((count + 1, 3, 3))
        matrices[:, 0, 0] = s1.sum()
        for column, factor, mask in ((1, own, first), (2, self.pairs, later)):
            matrices[:, 0, column] = matrices[:, column, 0] = mask @ (factor * sn)
            matrices[:, column, column] = mask @ (factor**2 * snn)
        targets = np.column_stack(
            [np.full(count + 1, b1.sum()), first @ (own * bn), later @ (self.pairs * bn)]
        )
        return matrices, targets

    def _costs(self, parameters: np.ndarray, own: np.ndarray) -> np.ndarray:
        s1, sn, snn, b1, bn, rows = self.sums
        start = parameters[:, :1]
        slope = np.maximum(parameters[:, 1:2] * own, parameters[:, 2:] * self.pairs)
        squares = (
            start**2 * s1 + 2 * start * slope * sn + slope**2 * snn - 2 * (start * b1 + slope * bn) + rows
        )
        return squares.sum(axis=1)


def _solved(matrices: np.ndarray, targets: np.ndarray, used: list[int]) -> np.ndarray:
    """Solutions with the other parameters at zero; those that are singular or negative are left out."""
    parts = matrices[:, used][:, :, used]
    scale = np.sqrt(np.diagonal(parts, axis1=1, axis2=2))
    sound = (scale > 0).all(axis=1)
    parts, scale, wanted = parts[sound], scale[sound], targets[sound][:, used]
    scaled = parts / (scale[:, :, None] * scale[:, None, :])
    regular = np.abs(np.linalg.det(scaled)) > 1e-12
    solutions = np.zeros((int(regular.sum()), 3))
    found = np.linalg.solve(scaled[regular], (wanted / scale)[regular][..., None])[..., 0] / scale[regular]
    solutions[:, used] = found
    return solutions[(found >= 0).all(axis=1)]
