"""Mixtures of normal or half-normal modes: durations fall around a few times, and each mode has its weight.

Expectation and maximisation from several seeded starts for every number of modes from 1 to 4 and for both
shapes; the number and the shape of the least BIC are taken. A half-normal mode has its least value where it
is densest. In the fit its edge is not quite sharp: a split normal, with a hundredth of the deviation below
the edge. Moments place the edge well and not exactly, so that a further half-normal mode has to gain a
hundredth for each value. Modes closer than one deviation are one, and modes of a weight below 1e-4 are
dropped. For a range of sizes, the modes are those of t − b n, with the slope b that all modes share.

scikit-learn's GaussianMixture gives the same for plain values, but needs scipy and itself, 140 MB, for the
forty lines below, and knows no common slope.

Source: Cornebize, thesis, Université Grenoble Alpes 2021, 4.3.1, where modes are read off by eye.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

MODES_MOST = 4
RESTARTS = 20
ROUNDS_FIRST = 30
"""Rounds of each restart, which sees bins of values."""
ROUNDS_MOST = 300
"""Further rounds of the best restart."""
ROUNDS_LAST = 10
"""Rounds over all values in the end."""
CONVERGED = 1e-9
WEIGHT_LEAST = 1e-4
SLOPE_ROUNDS = 4
SLOPE_CONVERGED = 0.01
"""Change over all sizes that is small beside the narrowest mode."""
BINS = 400
GAIN_LEAST = 0.01


NORMAL = "normal"
HALF_NORMAL = "half-normal"
_EDGE = {NORMAL: 1.0, HALF_NORMAL: 0.01}
"""Deviation below the densest value, as a share of that above it."""


@dataclass(frozen=True)
class Mode:
    """A mode by its moments."""

    mean: float
    deviation: float
    weight: float
    shape: str = NORMAL


@dataclass(frozen=True)
class Mixture:
    """Modes by falling weight; weights sum to 1."""

    modes: tuple[Mode, ...]
    criterion: float
    """BIC; of half-normal modes, with what each further one has to gain."""

    @property
    def mean(self) -> float:
        """Mean over all modes, each by its weight."""
        return sum(mode.weight * mode.mean for mode in self.modes)


def fit(values: np.ndarray, *, most: int = MODES_MOST, seed: int = 0) -> Mixture:
    """The mixture of the least BIC."""
    values = np.asarray(values, float)
    if len(values) < 2 or not np.ptp(values) > 0:
        raise ValueError("a mixture needs two different values")
    found = [
        _of(values, count, shape, np.random.default_rng([seed, count]))
        for shape in (NORMAL, HALF_NORMAL)
        for count in range(1, most + 1)
    ]
    return min((mixture for mixture in found if mixture is not None), key=lambda mixture: mixture.criterion)


def of_line(sizes: np.ndarray, seconds: np.ndarray, slope: float, *, seed: int = 0) -> tuple[float, Mixture]:
    """The slope that all modes of a regime share, and the modes of its start-up.

    In turns, from `slope` on: the modes of what the slope leaves, and the slope of least squares within them.
    """
    sizes, seconds = np.asarray(sizes, float), np.asarray(seconds, float)
    mixture = fit(seconds - slope * sizes, seed=seed)
    for _ in range(SLOPE_ROUNDS):
        better = _slope_within(sizes, seconds, slope, mixture)
        moved = abs(better - slope) * np.ptp(sizes)
        slope, mixture = better, _moved(seconds - better * sizes, mixture)
        if moved < SLOPE_CONVERGED * min(mode.deviation for mode in mixture.modes):
            break
    return slope, mixture


def _moved(values: np.ndarray, mixture: Mixture) -> Mixture:
    """As many modes of values that have moved a little, from those of before on."""
    start = tuple(
        np.array([getattr(mode, name) for mode in mixture.modes]) for name in ("mean", "deviation", "weight")
    )
    floor = 1e-3 * float(values.std())
    shape = mixture.modes[0].shape
    start = (start[0], np.maximum(start[1], floor), start[2])
    best, _ = _improved(*_binned(values), start, shape, floor, ROUNDS_MOST)
    every = np.ones_like(values)
    found, likelihood = _improved(values, every, best, shape, floor, ROUNDS_LAST)
    return _mixture(found, shape, likelihood, len(values))


def _slope_within(sizes: np.ndarray, seconds: np.ndarray, slope: float, mixture: Mixture) -> float:
    """Slope of least Σ ((t − b n − μ) / σ)², each call in its likeliest mode; not negative."""
    means, deviations, weights = (
        np.array([getattr(mode, name) for mode in mixture.modes]) for name in ("mean", "deviation", "weight")
    )
    rest = (seconds - slope * sizes)[:, None]
    own = np.argmax(np.log(weights) - np.log(deviations) - 0.5 * ((rest - means) / deviations) ** 2, axis=1)
    above = below = 0.0
    for place, deviation in enumerate(deviations):
        n, t = sizes[own == place], seconds[own == place]
        if len(n) > 1:
            above += float((n - n.mean()) @ (t - t.mean())) / deviation**2
            below += float((n - n.mean()) @ (n - n.mean())) / deviation**2
    return max(0.0, above / below) if below > 0 else slope


def _of(values: np.ndarray, count: int, shape: str, random: np.random.Generator) -> Mixture | None:
    if len(np.unique(values)) < 2 * count:
        return None
    floor = 1e-3 * float(values.std())
    binned, held = _binned(values)
    found = [
        _improved(binned, held, _start(binned, held, count, random, floor), shape, floor, ROUNDS_FIRST)
        for _ in range(RESTARTS if count > 1 else 1)
    ]
    best, _ = max(found, key=lambda item: item[1])
    best, _ = _improved(binned, held, best, shape, floor, ROUNDS_MOST)
    every = np.ones_like(values)
    modes, likelihood = _improved(values, every, best, shape, floor, ROUNDS_LAST)
    means, deviations, weights = modes
    if (weights < WEIGHT_LEAST).any():
        return None
    order = np.argsort(means)
    apart = np.diff(means[order]) > np.maximum(deviations[order][1:], deviations[order][:-1])
    if not apart.all():
        return None
    return _mixture(modes, shape, likelihood, len(values))


def _mixture(modes: tuple[np.ndarray, ...], shape: str, likelihood: float, values: int) -> Mixture:
    """Modes by falling weight, with their criterion."""
    means, deviations, weights = modes
    criterion = -2 * likelihood + (3 * len(means) - 1) * math.log(values)
    if shape == HALF_NORMAL:
        criterion += GAIN_LEAST * values * (len(means) - 1)
    by_weight = np.argsort(-weights, kind="stable")
    return Mixture(
        tuple(Mode(float(means[i]), float(deviations[i]), float(weights[i]), shape) for i in by_weight),
        criterion,
    )


def _binned(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means and counts of bins: half of their edges by quantiles, half evenly, so that rare modes stay."""
    if len(values) <= BINS:
        return values, np.ones_like(values)
    shares = np.linspace(0, 1, BINS // 2 + 1)
    edges = np.unique(np.concatenate([np.quantile(values, shares), values.min() + shares * np.ptp(values)]))
    places = np.clip(np.searchsorted(edges, values, side="right"), 1, len(edges))
    counts = np.bincount(places)
    sums = np.bincount(places, values)
    return sums[counts > 0] / counts[counts > 0], counts[counts > 0].astype(float)


def _start(
    values: np.ndarray, held: np.ndarray, count: int, random: np.random.Generator, floor: float
) -> tuple[np.ndarray, ...]:
    """k-means++: each further centre is drawn by the square of its distance from those before."""
    centres = [random.choice(values, p=held / held.sum())]
    for _ in range(count - 1):
        distance = held * np.min((values[:, None] - np.array(centres)) ** 2, axis=1)
        centres.append(random.choice(values, p=distance / distance.sum()))
    means = np.array(centres)
    nearest = np.argmin((values[:, None] - means) ** 2, axis=1)
    deviations = np.empty(count)
    for place in range(count):
        mine = nearest == place
        spread = np.average((values[mine] - means[place]) ** 2, weights=held[mine])
        deviations[place] = max(math.sqrt(spread), floor)
    return means, deviations, np.full(count, 1 / count)


def _improved(
    values: np.ndarray,
    held: np.ndarray,
    modes: tuple[np.ndarray, ...],
    shape: str,
    floor: float,
    rounds: int,
) -> tuple[tuple[np.ndarray, ...], float]:
    """Expectation and maximisation by moments until the likelihood stands still; `held`: counts of values."""
    means, deviations, weights = modes
    likelihood = -math.inf
    for _ in range(rounds):
        logs = np.log(weights) + _log_density(values[:, None], means, deviations, shape)
        top = logs.max(axis=1, keepdims=True)
        shares = np.exp(logs - top)
        sums = shares.sum(axis=1, keepdims=True)
        now = float(held @ (top + np.log(sums))[:, 0])
        if now - likelihood < CONVERGED * abs(now):
            return (means, deviations, weights), now
        likelihood = now
        shares *= held[:, None] / sums
        mine = np.maximum(shares.sum(axis=0), 1e-12)
        weights = mine / mine.sum()
        means = shares.T @ values / mine
        spread = (shares * (values[:, None] - means) ** 2).sum(axis=0) / mine
        deviations = np.maximum(np.sqrt(spread), floor)
    return (means, deviations, weights), likelihood


def _log_density(values: np.ndarray, means: np.ndarray, deviations: np.ndarray, shape: str) -> np.ndarray:
    """Logarithm of the split normal density of these moments: deviation s above its densest value, e s below.

    Mean: densest + sqrt(2/π) (1 − e) s; variance: (1 − 2/π) (1 − e)² s² + e s².
    Source: Wallis, "The two-piece normal, binormal, or double Gaussian distribution", 2014.
    """
    edge = _EDGE[shape]
    scale = deviations / math.sqrt((1 - 2 / math.pi) * (1 - edge) ** 2 + edge)
    rest = values - (means - math.sqrt(2 / math.pi) * (1 - edge) * scale)
    standard = np.where(rest < 0, rest / (edge * scale), rest / scale)
    return math.log(2 / ((1 + edge) * math.sqrt(2 * math.pi))) - np.log(scale) - 0.5 * standard**2
