"""Relative errors of a fit, and their summary."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

SPREAD_MOST = 0.5
"""Relative standard error above which a value is not identified."""


@dataclass(frozen=True)
class Accuracy:
    """Sizes of relative errors, without their sign."""

    count: int
    median: float
    most_of: float
    """90th percentile."""
    worst: float

    def __str__(self) -> str:
        return (
            f"median {percent(self.median)}, 90 % within {percent(self.most_of)}, worst {percent(self.worst)}"
        )


def accuracy(predicted: ArrayLike, measured: ArrayLike) -> Accuracy:
    """Summary of |predicted / measured − 1|."""
    errors = np.abs(np.asarray(predicted, float) / np.asarray(measured, float) - 1)
    if not len(errors):
        return Accuracy(0, float("nan"), float("nan"), float("nan"))
    return Accuracy(
        len(errors), float(np.median(errors)), float(np.quantile(errors, 0.9)), float(errors.max())
    )


def percent(share: float) -> str:
    """A share as people read it."""
    return f"{100 * share:.3g} %"
