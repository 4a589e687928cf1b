"""Many tests at once: expected false alarms, and control of the share of false ones.

Of n tests with confidence γ, n (1 - γ) are false alarms where nothing has changed. Benjamini and Hochberg's
procedure holds the expected share of false ones among those that it accepts below a rate q: of the p-values
in ascending order p₍₁₎ ≤ p₍₂₎ ≤ …, it accepts all up to the last with p₍ᵢ₎ ≤ i q/n. It holds for independent
tests and for those that depend positively on each other.

Source: Benjamini, Hochberg, "Controlling the false discovery rate", J. R. Stat. Soc. B 57, 1995.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import stats

from hopcast.errors import InputError


def expected_false(tests: int, confidence: float) -> float:
    """Number of false alarms to expect where nothing has changed."""
    return tests * (1 - confidence)


def accepted(p_values: Sequence[float] | np.ndarray, rate: float) -> np.ndarray:
    """True for each test that stands with a rate of false discoveries of at most `rate`, 0 to 1."""
    if not 0 < rate < 1:
        raise InputError(f"rate of false discoveries {rate}: between 0 and 1")
    values = np.asarray(p_values, float)
    if not len(values):
        return np.zeros(0, bool)
    return np.asarray(stats.false_discovery_control(values, method="bh") <= rate)
