"""The parts of a picture, and what several pictures share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy
    import pyarrow


@dataclass(frozen=True)
class Picture:
    """One figure of the report."""

    title: str
    """Title: what the picture shows."""
    finding: str
    """One sentence about what this run's data say."""
    svg: str
    """The drawing."""
    legend: tuple[tuple[str, str], ...] = ()
    """Colours (CSS variables) and what they stand for."""
    wide: bool = True
    """True if the picture takes the page's width, false for half of it."""


SPLIT = (("compute", "computing"), ("transfer", "transferring"), ("waiting", "waiting for a partner"))
"""The parts of a rank's time, and their legend."""


def column(table: pyarrow.Table, name: str) -> numpy.ndarray:
    """A column of numbers as an array."""
    return table[name].to_numpy(zero_copy_only=False)


def bin_edges(length: int, at_most: int) -> numpy.ndarray:
    """Cuts `0..length` into equal bins, one for each where they are few."""
    import numpy

    bins = min(length, at_most)
    return numpy.linspace(0, length, bins + 1).round().astype(int)
