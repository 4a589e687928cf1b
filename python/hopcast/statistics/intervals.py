"""Intervals of a statistic of repeated measurements.

Bootstrap: quantiles of the statistic over resamples with replacement, bias-corrected and accelerated (BCa).
It assumes independent measurements, not normal ones; below about eight its intervals are too short.
Student: mean ± t s/√n, for normal measurements.

Source: Efron, "Better bootstrap confidence intervals", JASA 82, 1987; scipy.stats.bootstrap.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from hopcast.errors import InputError

RESAMPLES = 9999
"""Resamples of a bootstrap: ends of a 95 % interval are known to about 1 % of its length."""


@dataclass(frozen=True)
class Interval:
    """A value and the ends of its interval, in the unit of the measurements."""

    value: float
    low: float
    high: float
    confidence: float
    count: int
    """Number of measurements."""

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


def bootstrap(
    values: Sequence[float] | np.ndarray,
    statistic: Callable[..., np.ndarray] = np.mean,
    *,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval:
    """Bootstrap interval of a statistic that takes `axis`, such as `numpy.mean` or `numpy.median`.

    confidence: 0 to 1, both excluded. One measurement alone, or equal ones, have an interval without length
    where they agree, and without ends (nan) where there is only one.
    """
    data = finite(values)
    _check(confidence)
    value = float(statistic(data, axis=-1))
    if len(data) == 1:
        return Interval(value, math.nan, math.nan, confidence, 1)
    if np.ptp(data) == 0:
        return Interval(value, value, value, confidence, len(data))
    from scipy import stats  # takes a second to load

    with warnings.catch_warnings():
        # A bootstrap distribution of few values has no acceleration; quantiles alone stand in below.
        warnings.simplefilter("ignore")
        for method in ("BCa", "percentile"):
            found = stats.bootstrap(
                (data,),
                statistic,
                confidence_level=confidence,
                n_resamples=resamples,
                method=method,
                rng=np.random.default_rng(seed),
                vectorized=True,
            ).confidence_interval
            if math.isfinite(found.low) and math.isfinite(found.high):
                break
    return Interval(value, float(found.low), float(found.high), confidence, len(data))


def student(values: Sequence[float] | np.ndarray, *, confidence: float = 0.95) -> Interval:
    """Interval of the mean of normal measurements; no ends (nan) for one measurement."""
    data = finite(values)
    _check(confidence)
    mean, count = float(data.mean()), len(data)
    if count == 1:
        return Interval(mean, math.nan, math.nan, confidence, 1)
    half = float(special.stdtrit(count - 1, 0.5 + confidence / 2) * data.std(ddof=1) / math.sqrt(count))
    return Interval(mean, mean - half, mean + half, confidence, count)


def central(values: Sequence[float] | np.ndarray, *, confidence: float = 0.9) -> Interval:
    """Median of the values, and the quantiles between which the central share of them lies."""
    data = finite(values)
    _check(confidence)
    low, middle, high = np.quantile(data, [0.5 - confidence / 2, 0.5, 0.5 + confidence / 2])
    return Interval(float(middle), float(low), float(high), confidence, len(data))


def finite(values: Sequence[float] | np.ndarray) -> np.ndarray:
    """The values as an array of numbers; an error where there is none, or one is no finite number."""
    data = np.asarray(values, float).ravel()
    if not len(data):
        raise InputError("no measurements: a statistic needs at least one")
    if not np.isfinite(data).all():
        place = int(np.flatnonzero(~np.isfinite(data))[0])
        raise InputError(
            f"measurement {place + 1} of {len(data)} is {data[place]}: finite numbers are wanted"
        )
    return data


def _check(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise InputError(f"confidence {confidence}: between 0 and 1, such as 0.95")
