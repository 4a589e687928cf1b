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
from collections.abc import Iterator, Sequence
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
    sample = _Sample.of(values)
    counts = [count for count in range(1, most + 1) if sample.distinct >= 2 * count]
    starts = [_starts(sample, count, np.random.default_rng([seed, count])) for count in counts]
    found = [mixture for shape in _EDGE for mixture in _of_shape(sample, starts, shape)]
    return min(found, key=lambda mixture: mixture.criterion)


def of_line(sizes: np.ndarray, seconds: np.ndarray, slope: float, *, seed: int = 0) -> tuple[float, Mixture]:
    """The slope that all modes of a regime share, and the modes of its start-up.

    In turns, from `slope` on: the modes of what the slope leaves, and the slope of least squares within them.
    Modes are looked for anew in the end: a slope that is a little off blurs sharp edges and hides the shape.
    """
    sizes, seconds = np.asarray(sizes, float), np.asarray(seconds, float)
    slope, mixture = _in_turns(sizes, seconds, slope, fit(seconds - slope * sizes, seed=seed))
    again = fit(seconds - slope * sizes, seed=seed)
    if again.criterion < mixture.criterion:
        return _in_turns(sizes, seconds, slope, again)
    return slope, mixture


def _in_turns(
    sizes: np.ndarray, seconds: np.ndarray, slope: float, mixture: Mixture
) -> tuple[float, Mixture]:
    for _ in range(SLOPE_ROUNDS):
        better = _slope_within(sizes, seconds, slope, mixture)
        moved = abs(better - slope) * np.ptp(sizes)
        slope, mixture = better, _moved(seconds - better * sizes, mixture)
        if moved < SLOPE_CONVERGED * min(mode.deviation for mode in mixture.modes):
            break
    return slope, mixture


def _moved(values: np.ndarray, mixture: Mixture) -> Mixture:
    """As many modes of values that have moved a little, from those of before on."""
    sample = _Sample.of(values)
    means, deviations, weights = (
        np.array([[getattr(mode, name) for mode in mixture.modes]])
        for name in ("mean", "deviation", "weight")
    )
    start = _Modes(means, np.maximum(deviations, sample.floor), weights)
    shape = mixture.modes[0].shape
    best, _ = _improved(sample.binned, sample.held, start, shape, sample.floor, ROUNDS_MOST)
    # A mode that has lost its values is none.
    best = _Modes(best.means, best.deviations, np.where(best.weights < WEIGHT_LEAST, 0.0, best.weights)).of(0)
    found, likelihood = _improved(values, None, best, shape, sample.floor, ROUNDS_LAST)
    return _mixture(found, shape, float(likelihood[0]), len(values))


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
            above += float(_sums(n - n.mean(), t - t.mean())) / deviation**2
            below += float(_sums(n - n.mean(), n - n.mean())) / deviation**2
    return max(0.0, above / below) if below > 0 else slope


@dataclass(frozen=True)
class _Sample:
    """Values of a fit, and the bins that stand for them until the last rounds."""

    values: np.ndarray
    binned: np.ndarray
    held: np.ndarray
    """Number of values in each bin."""
    floor: float
    """Least deviation of a mode."""
    distinct: int

    @classmethod
    def of(cls, values: np.ndarray) -> _Sample:
        return cls(values, *_binned(values), 1e-3 * float(values.std()), len(np.unique(values)))


@dataclass(frozen=True)
class _Modes:
    """Modes of several fits of the same values, `[fit, mode]`; one of weight 0 is none."""

    means: np.ndarray
    deviations: np.ndarray
    weights: np.ndarray

    @classmethod
    def joined(cls, parts: Sequence[_Modes]) -> _Modes:
        """All fits of some that may differ in their numbers of modes."""
        widest = max(part.means.shape[1] for part in parts)
        none = {"means": 0.0, "deviations": 1.0, "weights": 0.0}
        return cls(
            *(
                np.concatenate([_widened(getattr(part, name), widest, fill) for part in parts])
                for name, fill in none.items()
            )
        )

    def of(self, fit: int) -> _Modes:
        """One fit alone, without the modes that are none."""
        there = self.weights[fit] > 0
        return _Modes(*(part[fit, there][None] for part in (self.means, self.deviations, self.weights)))

    def rows(self, fits: np.ndarray | Sequence[int]) -> _Modes:
        """Some of the fits."""
        return _Modes(self.means[fits], self.deviations[fits], self.weights[fits])


def _widened(part: np.ndarray, width: int, fill: float) -> np.ndarray:
    missing = np.full((len(part), width - part.shape[1]), fill)
    return np.concatenate([part, missing], axis=1)


def _of_shape(sample: _Sample, starts: Sequence[_Modes], shape: str) -> Iterator[Mixture]:
    """The best mixture of each number of modes, where they are apart; `starts`: by number of modes."""
    binned, held, floor = sample.binned, sample.held, sample.floor
    best = []
    for start in starts:
        tried, likelihoods = _improved(binned, held, start, shape, floor, ROUNDS_FIRST)
        best.append(tried.rows([int(np.argmax(likelihoods))]))
    better, _ = _improved(binned, held, _Modes.joined(best), shape, floor, ROUNDS_MOST)
    for place in range(len(starts)):
        modes, likelihood = _improved(sample.values, None, better.of(place), shape, floor, ROUNDS_LAST)
        if _are_apart(modes):
            yield _mixture(modes, shape, float(likelihood[0]), len(sample.values))


def _are_apart(modes: _Modes) -> bool:
    """True for modes that are neither rare nor closer than one deviation."""
    means, deviations, weights = modes.means[0], modes.deviations[0], modes.weights[0]
    order = np.argsort(means)
    apart = np.diff(means[order]) > np.maximum(deviations[order][1:], deviations[order][:-1])
    return bool(apart.all()) and not (weights < WEIGHT_LEAST).any()


def _mixture(modes: _Modes, shape: str, likelihood: float, values: int) -> Mixture:
    """Modes by falling weight, with their criterion."""
    means, deviations, weights = modes.means[0], modes.deviations[0], modes.weights[0]
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


def _starts(sample: _Sample, count: int, random: np.random.Generator) -> _Modes:
    """Starts by k-means++: each further centre is drawn by the square of its distance from those before."""
    values, held = sample.binned, sample.held
    runs = RESTARTS if count > 1 else 1
    drawn = random.random((runs, count))
    distance = np.full((runs, len(values)), np.inf)
    means = np.empty((runs, count))
    for place in range(count):
        shares = np.cumsum(held * (distance if place else np.ones_like(distance)), axis=1)
        index = (shares <= drawn[:, place, None] * shares[:, -1:]).sum(axis=1)
        means[:, place] = values[np.minimum(index, len(values) - 1)]
        distance = np.minimum(distance, (values - means[:, place, None]) ** 2)
    nearest = np.argmin((values - means[..., None]) ** 2, axis=1)
    mine = held * (nearest[:, None, :] == np.arange(count)[:, None])
    spread = (mine * (values - means[..., None]) ** 2).sum(axis=2) / np.maximum(mine.sum(axis=2), 1.0)
    deviations = np.maximum(np.sqrt(spread), sample.floor)
    return _Modes(means, deviations, np.full((runs, count), 1 / count))


def _improved(
    values: np.ndarray, held: np.ndarray | None, modes: _Modes, shape: str, floor: float, rounds: int
) -> tuple[_Modes, np.ndarray]:
    """Expectation and maximisation by moments of all fits at once, each until its likelihood stands still.

    `held`: counts of values, None where each counts once.
    """
    centre = float(values.mean())
    values = values - centre
    held = np.ones_like(values) if held is None else held
    squares = values**2
    means, deviations, weights = modes.means - centre, modes.deviations.copy(), modes.weights.copy()
    likelihood = np.full(len(means), -np.inf)
    running = np.arange(len(means))
    for _ in range(rounds):
        own = _Modes(means[running], deviations[running], weights[running])
        shares, top = _densities(values, own, shape)
        sums = shares.sum(axis=1)
        now = _sums(top + np.log(sums), held)
        stands = now - likelihood[running] < CONVERGED * np.abs(now)
        likelihood[running] = now
        if stands.any():
            running, shares, sums, own = running[~stands], shares[~stands], sums[~stands], own.rows(~stands)
            if not len(running):
                break
        shares *= (held / sums)[:, None, :]
        mine = np.maximum(shares.sum(axis=2), 1e-12)
        mine[own.weights == 0] = 0.0
        weights[running] = mine / mine.sum(axis=1, keepdims=True)
        mine[own.weights == 0] = 1.0
        means[running] = _sums(shares, values) / mine
        spread = _sums(shares, squares) / mine - means[running] ** 2
        deviations[running] = np.maximum(np.sqrt(np.maximum(spread, 0.0)), floor)
    return _Modes(means + centre, deviations, weights), likelihood


def _sums(shares: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Sums of products over the last axis; `@` would wake all cores, which costs more than it spares."""
    return np.einsum("...v,v->...", shares, values)


def _densities(values: np.ndarray, modes: _Modes, shape: str) -> tuple[np.ndarray, np.ndarray]:
    """Weighted densities `[fit, mode, value]` of split normals beside the largest, and its logarithm.

    A mode of these moments has the deviation s above its densest value, and e s below.
    Mean: densest + sqrt(2/π) (1 − e) s; variance: (1 − 2/π) (1 − e)² s² + e s².
    Source: Wallis, "The two-piece normal, binormal, or double Gaussian distribution", 2014.
    """
    edge = _EDGE[shape]
    scale = modes.deviations / math.sqrt((1 - 2 / math.pi) * (1 - edge) ** 2 + edge)
    densest = modes.means - math.sqrt(2 / math.pi) * (1 - edge) * scale
    with np.errstate(divide="ignore"):
        height = np.log(2 / ((1 + edge) * math.sqrt(2 * math.pi))) + np.log(modes.weights) - np.log(scale)
    found = values - densest[..., None]
    found *= (math.sqrt(0.5) / scale)[..., None]
    if edge < 1:
        np.minimum(found, found / edge, out=found)
    np.multiply(found, found, out=found)
    np.subtract(height[..., None], found, out=found)
    top = found.max(axis=1)
    found -= top[:, None, :]
    return np.exp(found, out=found), top
