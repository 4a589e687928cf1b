"""Measurements in the order in which they were made: drift, runs, and two passes over time.

- Drift: Kendall's τ between value and time (Mann-Kendall test), and the slope of Theil and Sen: both hold for
  any distribution and do not mind outliers.
- Order effects: the runs test of Wald and Wolfowitz. Of n₁ values above the median and n₂ below, the number
  of runs has

      mean 2 n₁ n₂/n + 1    variance 2 n₁ n₂ (2 n₁ n₂ - n)/(n² (n - 1))    n = n₁ + n₂

  with fewer where neighbours are alike (oscillations slower than the sampling), more where they alternate.
- Two passes: the second half beside the first, by the rank-sum test of Mann and Whitney.

A small p-value says that the order matters; measurements are then not independent, and intervals are too
short.

Sources: Mann 1945; Sen 1968; Wald, Wolfowitz 1940; Mann, Whitney 1947; Cornebize, thesis, 2021, chapter 8.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from hopcast.errors import InputError
from hopcast.statistics.intervals import finite


@dataclass(frozen=True)
class Drift:
    """Change of values with time."""

    slope: float
    """Median slope, in units of the values per unit of time."""
    low: float
    high: float
    p_value: float
    """Probability of such a trend, either way, where there is none."""
    change: float
    """Slope times the whole time over the median value: relative change from first to last; nan where the
    median is zero."""


@dataclass(frozen=True)
class Runs:
    """Runs of values above and below the median."""

    count: int
    expected: float
    z: float
    """Deviation from the expected number in standard deviations; negative: neighbours are alike."""
    p_value: float


@dataclass(frozen=True)
class Passes:
    """Second half of the measurements beside the first."""

    ratio: float
    """Median of the second half over that of the first; nan where that is zero."""
    p_value: float


def drift(
    values: Sequence[float] | np.ndarray,
    times: Sequence[float] | np.ndarray | None = None,
    *,
    confidence: float = 0.95,
) -> Drift:
    """Trend of the values over `times`; without, over their numbers 0, 1, …"""
    data = finite(values)
    when = np.arange(len(data), dtype=float) if times is None else finite(times)
    if len(when) != len(data):
        raise InputError(f"{len(data)} values and {len(when)} times: as many are wanted")
    if len(data) < 3:
        raise InputError(f"{len(data)} measurements: a drift shows from three on")
    if np.ptp(when) == 0:
        raise InputError("all times are equal: no drift shows")
    slope, _, low, high = stats.theilslopes(data, when, alpha=confidence)
    tau = stats.kendalltau(when, data).pvalue
    middle = float(np.median(data))
    change = float(slope) * float(np.ptp(when)) / middle if middle else math.nan
    return Drift(float(slope), float(low), float(high), 1.0 if math.isnan(tau) else float(tau), change)


def runs(values: Sequence[float] | np.ndarray) -> Runs:
    """Runs test about the median, both sides; values equal to the median are left out."""
    data = finite(values)
    signs = np.sign(data - np.median(data))
    signs = signs[signs != 0]
    above, below = int((signs > 0).sum()), int((signs < 0).sum())
    count = len(signs)
    if not above or not below or count < 3:
        return Runs(min(count, 1), float(min(count, 1)), 0.0, 1.0)
    number = 1 + int((signs[1:] != signs[:-1]).sum())
    pairs = 2 * above * below
    mean = pairs / count + 1
    deviation = math.sqrt(pairs * (pairs - count) / (count**2 * (count - 1)))
    z = (number - mean) / deviation
    return Runs(number, mean, z, float(2 * stats.norm.sf(abs(z))))


def passes(values: Sequence[float] | np.ndarray) -> Passes:
    """Compares the second half with the first; of an odd number, the middle one is left out."""
    data = finite(values)
    half = len(data) // 2
    if half < 1:
        raise InputError("one measurement: two passes need at least two")
    first, second = data[:half], data[-half:]
    middle = float(np.median(first))
    test = stats.mannwhitneyu(first, second)
    return Passes(float(np.median(second)) / middle if middle else math.nan, float(test.pvalue))
