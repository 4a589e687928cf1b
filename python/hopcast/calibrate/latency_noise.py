"""Noise of the wire's latency, from ping-pongs beside the calls that were measured alone.

Up to the eager limit a round trip without the bytes and without its own measured send is

    r = R₁ + S₂ + R₂ + L₁ + L₂       R, S: receives and a send of either side; L: latency of the wire

R and S are known by their own measurements, all independent. The modes of L are those of greatest
likelihood of r, by expectation and maximisation: R₁ + S₂ + R₂ is a sum of shuffled measurements, in pieces
that are normal each, and L a mixture of one to three normal modes, by BIC. The sum is known by a sample
alone, so that a further mode has to gain a hundredth for each value.

No noise is given where r varies no more than what its parts do (three standard errors), where sizes differ
and their repetitions do not, or where calls overlap with the wire.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hopcast.calibrate.campaigns import Campaign
from hopcast.calibrate.mixtures import GAIN_LEAST, WEIGHT_LEAST, Mode
from hopcast.calibrate.network_fit import NetworkFit, Regime
from hopcast.calibrate.quantities import between
from hopcast.calibrate.series import Calls

MODES_MOST = 3
PIECES = 60
"""Pieces of the sum of the processes' times."""
BINS = 300
ROUNDS_FIRST = 30
ROUNDS_MOST = 300
CONVERGED = 1e-9
STANDARD_ERRORS = 3.0
"""Excess of a variance that is believed."""
WITHIN_LEAST = 0.5
"""Least part of the excess that the repetitions of single sizes have to show."""
LEAST_CALLS = 50


@dataclass(frozen=True)
class Latency:
    """Modes of what noise adds to a latency that every message has [s]."""

    base_s: float
    modes: tuple[Mode, ...]


def find(
    campaign: Campaign, fit: NetworkFit, cut: Sequence[bool]
) -> tuple[Mapping[float, Latency], tuple[str, ...]]:
    """Noise by the size above which its regime is, and why there is none; `fit`: with lines through means.

    cut: regimes whose processes work while the wire does.
    """
    campaign = campaign.without_clock()
    noise: dict[float, Latency] = {}
    without: dict[str, list[str]] = {}
    for regime, overlaps in zip(fit.regimes, cut, strict=True):
        found = _of_regime(campaign, fit, regime, overlaps=overlaps)
        if isinstance(found, Latency):
            noise[regime.above] = found
        elif found is not None:
            without.setdefault(found, []).append(between(regime.above, regime.up_to))
    return noise, tuple(
        f"{'; '.join(regimes)}: no noise of latency is given: {reason}" for reason, regimes in without.items()
    )


def _of_regime(
    campaign: Campaign, fit: NetworkFit, regime: Regime, *, overlaps: bool
) -> Latency | str | None:
    trips = _inside(campaign.calls["round_trip"], regime)
    if len(trips.sizes) < LEAST_CALLS or not np.std(trips.seconds) > 0:
        return None
    limit = fit.eager_limit
    if limit is not None and (regime.up_to is None or regime.up_to > limit):
        return "a message above the eager limit is three on the wire"
    missing = [kind for kind in ("send", "recv") if kind not in regime.lines or kind not in campaign.calls]
    if missing:
        return f"{' and '.join(missing)} were not measured, so that theirs would be counted as the wire's"
    sends, receives = (_inside(campaign.calls[kind], regime) for kind in ("send", "recv"))
    if len(sends.sizes) != len(trips.sizes) or min(len(sends.sizes), len(receives.sizes)) < LEAST_CALLS:
        return "ping-pongs and their calls do not belong together, or there are too few"
    if overlaps:
        return "the processes' calls overlap with the wire, and nobody can tell whose noise it is"
    slope = {kind: regime.lines[kind].slope for kind in ("one_way", "send", "recv")}
    sent = sends.seconds - slope["send"] * sends.sizes
    received = receives.seconds - slope["recv"] * receives.sizes
    rest = trips.seconds - 2 * slope["one_way"] * trips.sizes - sent
    return _noise(_Parts(trips.sizes, rest, sends.sizes, sent, receives.sizes, received))


@dataclass(frozen=True)
class _Parts:
    """Start-ups [s] with the sizes of their calls: r of the round trips, S and R."""

    sizes: np.ndarray
    rest: np.ndarray
    sent_sizes: np.ndarray
    sent: np.ndarray
    received_sizes: np.ndarray
    received: np.ndarray

    def others(self) -> np.ndarray:
        """A sample of R₁ + S₂ + R₂."""
        random = np.random.default_rng(0)
        count = len(self.rest)
        first, second = (random.permutation(np.resize(self.received, count)) for _ in range(2))
        return first + second + random.permutation(self.sent)


def _noise(parts: _Parts) -> Latency | str | None:
    """Noise of the latency, or why there is none; None where nothing varies."""
    known = _variance(parts.sent), _variance(parts.received)
    whole = _variance(parts.rest)
    excess = whole[0] - known[0][0] - 2 * known[1][0]
    error = STANDARD_ERRORS * math.hypot(whole[1], known[0][1], 2 * known[1][1])
    if whole[0] <= (1e-4 * abs(float(parts.rest.mean()))) ** 2:
        return None
    if excess <= error:
        unseen = math.sqrt(error / 2)
        return f"ping-pongs vary as their calls do; a deviation below {1e9 * unseen:.3g} ns would not show"
    within = (
        _within(parts.sizes, parts.rest)
        - _within(parts.sent_sizes, parts.sent)
        - 2 * _within(parts.received_sizes, parts.received)
    )
    if within < WITHIN_LEAST * excess:
        return "sizes differ from their line by more than their repetitions from each other"
    modes = _deconvolved(parts.rest, parts.others(), excess / 2)
    base = max(0.0, min(mode.mean - 3 * mode.deviation for mode in modes))
    return Latency(base, tuple(Mode(mode.mean - base, mode.deviation, mode.weight) for mode in modes))


def _inside(calls: Calls, regime: Regime) -> Calls:
    top = np.inf if regime.up_to is None else regime.up_to
    return calls.where((calls.sizes > regime.above) & (calls.sizes <= top))


def _variance(values: np.ndarray) -> tuple[float, float]:
    """Variance, and its standard error by the fourth moment."""
    squares = (values - values.mean()) ** 2
    return float(squares.mean()), float(squares.std() / math.sqrt(len(values)))


def _within(sizes: np.ndarray, values: np.ndarray) -> float:
    """Variance of the repetitions of a size, over all sizes."""
    _, places, counts = np.unique(sizes, return_inverse=True, return_counts=True)
    means = np.bincount(places, values) / counts
    freedom = len(values) - len(counts)
    return float(((values - means[places]) ** 2).sum() / freedom) if freedom > 0 else 0.0


@dataclass(frozen=True)
class _Pieces:
    """A distribution in pieces: each its share, mean and variance."""

    shares: np.ndarray
    means: np.ndarray
    variances: np.ndarray


def _pieces(values: np.ndarray, most: int) -> _Pieces:
    """Half of the edges by quantiles, half evenly, so that rare values stay."""
    shares = np.linspace(0, 1, most // 2 + 1)
    edges = np.unique(np.concatenate([np.quantile(values, shares), values.min() + shares * np.ptp(values)]))
    places = np.clip(np.searchsorted(edges, values, side="right"), 1, len(edges))
    counts = np.bincount(places)
    means = np.bincount(places, values) / np.maximum(counts, 1)
    squares = np.bincount(places, (values - means[places]) ** 2) / np.maximum(counts, 1)
    there = counts > 0
    return _Pieces(counts[there] / len(values), means[there], squares[there])


@dataclass(frozen=True)
class _Fit:
    means: np.ndarray
    deviations: np.ndarray
    weights: np.ndarray
    likelihood: float = -math.inf

    @property
    def is_apart(self) -> bool:
        order = np.argsort(self.means)
        wide = np.maximum(self.deviations[order][1:], self.deviations[order][:-1])
        return bool((np.diff(self.means[order]) > wide).all()) and bool((self.weights >= WEIGHT_LEAST).all())


def _deconvolved(rest: np.ndarray, others: np.ndarray, variance: float) -> list[Mode]:
    """Modes of L, heaviest first, whose variance is about `variance`."""
    seen, known = _pieces(rest, BINS), _pieces(others, PIECES)
    floor = 1e-3 * float(rest.std())
    mean, count = float(rest.mean() - others.mean()) / 2, len(rest)
    fits = [_improved(seen, known, _single(mean, variance), floor, ROUNDS_MOST)]
    for number in range(2, MODES_MOST + 1):
        starts = _pairs(mean, variance) if number == 2 else _splits(fits[-1])
        tried = [_improved(seen, known, start, floor, ROUNDS_FIRST) for start in starts]
        best = max(tried, key=lambda fit: fit.likelihood)
        fits.append(_improved(seen, known, best, floor, ROUNDS_MOST))

    def criterion(fit: _Fit) -> float:
        further = len(fit.means) - 1
        return -2 * count * fit.likelihood + 3 * further * math.log(count) + GAIN_LEAST * count * further

    best = min((fit for fit in fits if fit.is_apart), key=criterion)
    return [
        Mode(float(best.means[i]), float(best.deviations[i]), float(best.weights[i]))
        for i in np.argsort(-best.weights, kind="stable")
    ]


def _single(mean: float, variance: float) -> _Fit:
    return _Fit(np.array([mean]), np.array([math.sqrt(variance)]), np.array([1.0]))


def _pairs(mean: float, variance: float) -> list[_Fit]:
    """Two modes of that mean and variance, with several weights of the later one."""
    starts = []
    for weight in (0.02, 0.1, 0.3, 0.5, 0.7, 0.9):
        apart = math.sqrt(0.9 * variance / (weight * (1 - weight)))
        means = np.array([mean - weight * apart, mean + (1 - weight) * apart])
        starts.append(_Fit(means, np.full(2, math.sqrt(0.1 * variance)), np.array([1 - weight, weight])))
    return starts


def _splits(fit: _Fit) -> list[_Fit]:
    """One mode more: each of them in two."""
    starts = []
    for place, (mean, deviation, weight) in enumerate(
        zip(fit.means, fit.deviations, fit.weights, strict=True)
    ):
        rest = np.arange(len(fit.means)) != place
        for share in (0.5, 0.1):
            starts.append(
                _Fit(
                    np.append(fit.means[rest], [mean - deviation, mean + 2 * deviation]),
                    np.append(fit.deviations[rest], [0.5 * deviation, deviation]),
                    np.append(fit.weights[rest], [(1 - share) * weight, share * weight]),
                )
            )
    return starts


def _improved(seen: _Pieces, known: _Pieces, fit: _Fit, floor: float, rounds: int) -> _Fit:
    """Expectation and maximisation until the likelihood of a value stands still.

    In the pair of modes (i, j) beside the piece c, r is normal around μ_c + μ_i + μ_j with
    V = σ_c² + σ_i² + σ_j²; L_i is normal then with mean μ_i + (σ_i² / V) (r − …) and variance
    σ_i² (1 − σ_i² / V).
    """
    means, deviations, weights, likelihood = fit.means, fit.deviations, fit.weights, -math.inf
    one, two = np.triu_indices(len(means))
    twice = np.where(one == two, 1.0, 2.0)
    for _ in range(rounds):
        own, other = deviations[one] ** 2, deviations[two] ** 2
        variance = known.variances[:, None] + own + other
        centre = known.means[:, None] + means[one] + means[two]
        with np.errstate(divide="ignore"):
            height = np.log(known.shares[:, None] * twice * weights[one] * weights[two])
        height -= 0.5 * np.log(2 * math.pi * variance)
        apart = seen.means - centre[..., None]
        logs = height[..., None] - apart**2 * (0.5 / variance)[..., None]
        top = logs.max(axis=(0, 1))
        shares = np.exp(logs - top)
        sums = shares.sum(axis=(0, 1))
        now = float((seen.shares * (top + np.log(sums))).sum())
        if now - likelihood < CONVERGED * abs(now):
            break
        likelihood = now
        shares *= seen.shares / sums
        moments = [(shares * power).sum(axis=2) for power in (1.0, apart, apart**2)]
        means, deviations, weights = _maximised(moments, variance, (one, two), fit_of=(means, deviations))
        deviations = np.maximum(deviations, floor)
    return _Fit(means, deviations, weights, likelihood)


def _maximised(
    moments: list[np.ndarray],
    variance: np.ndarray,
    pairs: tuple[np.ndarray, np.ndarray],
    fit_of: tuple[np.ndarray, np.ndarray],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means, deviations and weights by the expected moments of both latencies of each pair."""
    means, deviations = fit_of
    mass, shift, square = (np.zeros(len(means)) for _ in range(3))
    for side in pairs:
        own = deviations[side] ** 2
        gain = own / variance
        parts = moments[0], gain * moments[1], gain**2 * moments[2] + own * (1 - gain) * moments[0]
        for total, part in zip((mass, shift, square), parts, strict=True):
            np.add.at(total, side, part.sum(axis=0))
    mass = np.maximum(mass, 1e-12)
    spread = square / mass - (shift / mass) ** 2
    return means + shift / mass, np.sqrt(np.maximum(spread, 0.0)), mass / mass.sum()
