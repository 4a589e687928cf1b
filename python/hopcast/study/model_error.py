"""Error of the model itself: what predictions of whole programs have missed, drawn as a factor of the time.

`hopcast experiment compare --record` puts into a platform file the root mean square s of ln(predicted /
measured) of n programs and sizes: a prediction of twice the time misses as much as one of half of it, and a
rate, such as Gflop/s, as much as its time. The logarithms of a further program follow a normal distribution
of mean 0 whose deviation is known from n numbers, so that the factor is exp(s t), t of Student's distribution
with n degrees of freedom (the predictive distribution under the usual prior; Gelman et al., Bayesian Data
Analysis, 3.2). A draw ends at a tenth and at ten times the time.

Errors of several experiments are taken together, each program and size as one that tells nothing of the
others: a program that the errors were not taken of is assumed to be like those that they were.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy

MOST = 10.0
"""Largest factor of a draw, and the inverse of the least."""


@dataclass(frozen=True)
class ModelError:
    """Errors of predicted programs."""

    rms: float
    """Root mean square of ln(predicted / measured)."""
    count: int
    """Programs and sizes."""
    experiments: int = 1

    def factor(self, stream: numpy.random.Generator) -> float:
        """Factor of a predicted time, in one draw."""
        most = math.log(MOST)
        return math.exp(min(most, max(-most, self.rms * float(stream.standard_t(self.count)))))

    def words(self, changed: Sequence[str] = ()) -> str:
        """The errors as the screen says them.

        changed: keys of the platform that the run sets otherwise.
        """
        several = f"{self.count} programs and sizes beside their measurements"
        is_factor = self.rms > math.log(2)
        size = f"a factor of {math.exp(self.rms):.2g}" if is_factor else f"± {100 * self.rms:.2g} %"
        text = f"{size}, by "
        text += "1 program beside its measurement" if self.count == 1 else several
        if self.count > 1 and self.experiments == 1:
            text += ", all of one experiment"
        if changed:
            text += f"; measured without --set {', '.join(changed)}"
        return text


def of(errors: Iterable[float]) -> ModelError:
    """Model error of the relative errors of programs, at least one."""
    squares = [math.log1p(error) ** 2 for error in errors]
    return ModelError((sum(squares) / len(squares)) ** 0.5, len(squares))


def read(platform: Mapping[str, Any]) -> ModelError | None:
    """Model error of a platform's checks together; None where it says nothing about programs."""
    checks = platform.get("calibration", {}).get("checks", [])
    found = [(check["rms"], check["count"]) for check in checks if "rms" in check]
    if not found:
        return None
    count = sum(programs for _, programs in found)
    squares = sum(rms * rms * programs for rms, programs in found)
    return ModelError((squares / count) ** 0.5, count, len(found))
