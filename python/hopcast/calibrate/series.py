"""Times by size: single calls, and what is made of the repetitions of each size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Calls:
    """Single calls in the order in which they were made."""

    functions: np.ndarray
    sizes: np.ndarray
    """Bytes."""
    starts: np.ndarray
    """Seconds."""
    seconds: np.ndarray
    """Durations."""

    def where(self, mask: np.ndarray | slice) -> Calls:
        """Those of a mask, or of a slice."""
        return Calls(self.functions[mask], self.sizes[mask], self.starts[mask], self.seconds[mask])

    def of(self, function: str) -> Calls:
        """Those of one function."""
        return self.where(self.functions == function)

    def first(self, count: int) -> Calls:
        """The first so many."""
        return self.where(slice(0, count))


@dataclass(frozen=True)
class Series:
    """One time for each size, in the order of sizes."""

    sizes: np.ndarray
    """Bytes."""
    seconds: np.ndarray
    """Median of the repetitions."""
    errors: np.ndarray
    """Relative standard error of the median; nan where there is one repetition."""
    repetitions: np.ndarray

    def where(self, mask: np.ndarray) -> Series:
        """The sizes of a mask."""
        return Series(self.sizes[mask], self.seconds[mask], self.errors[mask], self.repetitions[mask])

    @property
    def believed_errors(self) -> np.ndarray | None:
        """Relative standard errors, or None where no size was repeated."""
        return None if np.isnan(self.errors).all() else np.nan_to_num(self.errors)


def by_size(sizes: np.ndarray, seconds: np.ndarray) -> Series:
    """Median of each size, which the first call and other outliers do not move, and its standard error.

    The error is that of a normal variable's median, 1.2533 σ / √n, with σ from the quartiles, which lie
    1.349 σ apart.
    """
    order = np.lexsort((seconds, sizes))
    sizes, seconds = sizes[order], seconds[order]
    distinct, starts, counts = np.unique(sizes, return_index=True, return_counts=True)

    def quantile(share: float) -> np.ndarray:
        place = starts + share * (counts - 1)
        low = np.floor(place).astype(int)
        high = np.minimum(low + 1, starts + counts - 1)
        return seconds[low] + (place - low) * (seconds[high] - seconds[low])

    middle = quantile(0.5)
    sigma = (quantile(0.75) - quantile(0.25)) / 1.349
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = np.where(counts > 1, 1.2533 * sigma / np.sqrt(counts) / middle, np.nan)
    return Series(distinct, middle, errors, counts)
