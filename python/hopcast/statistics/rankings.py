"""Orders of configurations by their responses, and how well two orders agree.

Configurations whose intervals overlap with that of the best one are tied with it. Agreement is Kendall's τ-b,
1 for the same order, -1 for the opposite one, with its two-sided p-value, and the regret: what the first of
one order loses, by the other's values, to that one's best.

Source: Kendall, "A new measure of rank correlation", Biometrika 30, 1938.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from hopcast.errors import InputError
from hopcast.statistics.intervals import Interval, student


@dataclass(frozen=True)
class Place:
    """A configuration in an order."""

    rank: int
    """1 is best; equal means share a rank."""
    name: Hashable
    mean: Interval
    tied: bool
    """True where its interval overlaps that of the best; of one measurement, where the means are equal."""


@dataclass(frozen=True)
class Agreement:
    """Two orders of the same configurations."""

    tau: float
    p_value: float
    regret: float
    """Relative loss of choosing by the first order, by the second one's values; 0 is none."""


def ranked(
    measurements: Mapping[Hashable, Sequence[float]], *, smaller_is_better: bool, confidence: float = 0.95
) -> list[Place]:
    """Configurations from the best on."""
    if not measurements:
        raise InputError("no configurations to rank")
    means = {name: student(values, confidence=confidence) for name, values in measurements.items()}
    sign = 1 if smaller_is_better else -1
    order = sorted(means, key=lambda name: sign * means[name].value)
    best = means[order[0]]
    places: list[Place] = []
    for number, name in enumerate(order, 1):
        mean = means[name]
        equal = bool(places) and places[-1].mean.value == mean.value
        places.append(Place(places[-1].rank if equal else number, name, mean, _overlap(best, mean)))
    return places


def agreement(
    first: Mapping[Hashable, float], second: Mapping[Hashable, float], *, smaller_is_better: bool
) -> Agreement:
    """Agreement of two orders, over the configurations that both have; at least two."""
    common = [name for name in first if name in second]
    from scipy import stats  # takes a second to load

    if len(common) < 2:
        raise InputError(f"{len(common)} configurations in common: at least two are wanted")
    tau = stats.kendalltau([first[name] for name in common], [second[name] for name in common])
    choose = min if smaller_is_better else max
    chosen = second[choose(common, key=lambda name: first[name])]
    best = choose(second[name] for name in common)
    return Agreement(
        float(tau.statistic), float(tau.pvalue), abs(chosen - best) / abs(best) if best else math.nan
    )


def _overlap(best: Interval, other: Interval) -> bool:
    if math.isnan(best.low) or math.isnan(other.low):
        return best.value == other.value
    return best.low <= other.high and other.low <= best.high
