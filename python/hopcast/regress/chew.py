"""Chew's test: do the next r observations come from the distribution of the n before them?

Of n observations of p values with mean x̄ and covariance S, and the mean m of the next r,

    t = n r (n - p) / ((n + r) (n - 1) p) · (m - x̄)ᵀ S⁻¹ (m - x̄)   ~   F(p, n - p)

Alarm if t is at least the γ-quantile of F(p, n - p); the likelihood is 1 - F(t). For p = 1 that is an
interval,

    x̄ ± s √((n + r)/(n r) · F⁻¹(γ; 1, n - 1))

It assumes independent normal observations. Neighbouring days are not independent where something moves all of
them, so γ = 95 % raises false alarms in every fifth test of the published series; 99.99 % is in use. Needs n
> p, and says little before n is several times p. A deviation below 1e-4 of the mean is taken to be that:
results that are equal to the last digit, as those of simulations, do not make the next rounding an alarm.

Source: Chew, "Confidence, prediction and tolerance regions for the multivariate normal distribution", JASA
61, 1966; Cornebize, thesis, 2021, chapter 9.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from hopcast.errors import InputError

CONFIDENCE = 0.9999
DEVIATION_LEAST = 1e-4
"""Least deviation, relative to the mean."""
CONDITION_MOST = 1e12
"""Condition of the correlations above which factors are taken to follow from each other."""


@dataclass(frozen=True)
class Reference:
    """Mean and covariance of the observations before."""

    count: int
    mean: np.ndarray
    covariance: np.ndarray

    @property
    def size(self) -> int:
        """Number p of values of an observation."""
        return len(self.mean)


def reference(past: np.ndarray) -> Reference:
    """Reference of past observations, rows of p values; more of them than values are wanted."""
    past = np.asarray(past, float)
    past = past[:, None] if past.ndim == 1 else past
    count, size = past.shape
    if count <= size or count < 2:
        raise InputError(
            f"{count} observations of {size} values: the test needs more observations than values"
        )
    mean = past.mean(axis=0)
    covariance = np.atleast_2d(np.cov(past.T, ddof=1))
    least = (DEVIATION_LEAST * np.abs(mean)) ** 2
    floored = covariance + np.diag(np.maximum(0.0, least - np.diag(covariance)))
    return Reference(count, mean, floored)


def squared_distance(known: Reference, mean: np.ndarray | float) -> float:
    """(m - x̄)ᵀ S⁻¹ (m - x̄); an error where some combination of the values never varies."""
    away = np.atleast_1d(np.asarray(mean, float)) - known.mean
    scale = np.sqrt(np.diag(known.covariance))
    varying = scale > 0  # values that are always zero do not vary
    if away[~varying].any():
        return math.inf
    away, scale = away[varying] / scale[varying], scale[varying]
    correlation = known.covariance[np.ix_(varying, varying)] / np.outer(scale, scale)
    if len(away) and np.linalg.cond(correlation) > CONDITION_MOST:
        raise InputError("some of the factors follow from the others: test fewer of them together")
    return float(away @ np.linalg.solve(correlation, away)) if len(away) else 0.0


def statistic(known: Reference, mean: np.ndarray | float, r: int = 1) -> float:
    """t of the mean of r observations."""
    n, p = known.count, known.size
    return n * r * (n - p) / ((n + r) * (n - 1) * p) * squared_distance(known, mean)


def threshold(known: Reference, confidence: float = CONFIDENCE) -> float:
    """Value of t from which on there is an alarm."""
    return float(special.fdtri(known.size, known.count - known.size, confidence))


def likelihood(known: Reference, t: float) -> float:
    """Probability of a statistic of at least t where nothing has changed."""
    return float(special.fdtrc(known.size, known.count - known.size, t))


def region(known: Reference, r: int = 1, confidence: float = CONFIDENCE) -> float:
    """Largest squared distance of the mean of r observations that is no alarm."""
    n, p = known.count, known.size
    return (n + r) * (n - 1) * p / (n * r * (n - p)) * threshold(known, confidence)


def interval(known: Reference, r: int = 1, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Ends of the interval of the mean of r observations of one value."""
    if known.size != 1:
        raise InputError(f"{known.size} values have a region, and no interval")
    half = math.sqrt(region(known, r, confidence) * known.covariance[0, 0])
    return float(known.mean[0]) - half, float(known.mean[0]) + half
