"""Modes of repeated measurements, and the test that there is more than one.

Modes are maxima of a density estimated with normal kernels. Silverman's test of k modes: the *critical
bandwidth* is the least with which the estimate has k modes. Samples drawn from that estimate, with its
variance set back to that of the data, show more than k modes at the same bandwidth in a share p of cases. A
small p says that k modes are too few. Where one is, the mean of repetitions may lie where hardly any
measurement does.

Source: Silverman, "Using kernel density estimates to investigate multimodality", J. R. Stat. Soc. B 43, 1981.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import ndimage, signal

from hopcast.statistics.intervals import finite

BINS = 512
RESAMPLES = 200
MODES_MOST = 6
SHARE_LEAST = 0.01
"""Smallest share of the measurements that counts as a mode."""
KERNEL_REACH = 4.0
"""Standard deviations up to which a kernel is drawn."""


@dataclass(frozen=True)
class Mode:
    """A maximum of the density, and the share of measurements between the minima beside it."""

    at: float
    share: float


@dataclass(frozen=True)
class Modes:
    """Modes in ascending order of place."""

    modes: tuple[Mode, ...]
    p_value: float
    """Probability of so clear a second mode where there is one."""


def find(
    values: Sequence[float] | np.ndarray,
    *,
    significance: float = 0.05,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Modes:
    """Modes of the values: the least number that Silverman's test does not reject at `significance`.

    Modes of less than 1 % of the values are parts of their neighbours.
    """
    data = finite(values)
    if len(data) < 4 or np.ptp(data) == 0:
        return Modes((Mode(float(np.median(data)), 1.0),), 1.0)
    random = np.random.default_rng(seed)
    p_values = []
    for number in range(1, MODES_MOST + 1):
        bandwidth = critical_bandwidth(data, number)
        p_values.append(_p_value(data, bandwidth, number, resamples, random))
        if p_values[-1] >= significance:
            break
    return Modes(_modes(data, bandwidth), p_values[0])


def critical_bandwidth(values: Sequence[float] | np.ndarray, number: int = 1) -> float:
    """Least bandwidth with which the density has no more than `number` modes, to half a percent."""
    data = finite(values)
    high = float(np.ptp(data))
    low = high / BINS
    while high / low > 1.005:
        middle = (low * high) ** 0.5
        if _density(data, middle).count() > number:
            low = middle
        else:
            high = middle
    return high


@dataclass(frozen=True)
class _Density:
    """Binned density."""

    centers: np.ndarray
    heights: np.ndarray

    def peaks(self) -> np.ndarray:
        """Places of maxima that stand out of rounding."""
        padded = np.concatenate([[0.0], self.heights, [0.0]])
        found, _ = signal.find_peaks(padded, prominence=1e-6 * padded.max())
        return found - 1

    def count(self) -> int:
        """Number of maxima."""
        return len(self.peaks())


def _density(data: np.ndarray, bandwidth: float) -> _Density:
    low, high = data.min() - 3 * bandwidth, data.max() + 3 * bandwidth
    heights, edges = np.histogram(data, bins=BINS, range=(low, high))
    step = edges[1] - edges[0]
    smooth = ndimage.gaussian_filter1d(
        heights.astype(float), bandwidth / step, mode="constant", truncate=KERNEL_REACH
    )
    return _Density((edges[1:] + edges[:-1]) / 2, smooth)


def _modes(data: np.ndarray, bandwidth: float) -> tuple[Mode, ...]:
    density = _density(data, bandwidth)
    peaks = density.peaks().tolist()
    while True:
        valleys = [
            first + int(density.heights[first : second + 1].argmin())
            for first, second in itertools.pairwise(peaks)
        ]
        cuts = np.searchsorted(np.sort(data), density.centers[valleys])
        shares = np.diff([0, *cuts, len(data)]) / len(data)
        least = int(np.argmin(shares))
        if len(peaks) == 1 or shares[least] >= SHARE_LEAST:
            break
        del peaks[least]
    return tuple(
        Mode(float(density.centers[peak]), float(share)) for peak, share in zip(peaks, shares, strict=True)
    )


def _p_value(
    data: np.ndarray, bandwidth: float, number: int, resamples: int, random: np.random.Generator
) -> float:
    mean, variance = data.mean(), data.var(ddof=1)
    shrink = 1 / np.sqrt(1 + bandwidth**2 / variance)
    more = 0
    for _ in range(resamples):
        drawn = random.choice(data, len(data)) + bandwidth * random.standard_normal(len(data))
        more += _density(mean + shrink * (drawn - mean), bandwidth).count() > number
    return (more + 1) / (resamples + 1)
