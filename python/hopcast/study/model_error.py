"""Error of the model itself: what predictions of whole programs have missed, drawn as a factor of the time.

`hopcast experiment compare --record` puts into a platform file the root mean square s of the relative errors
of n programs and sizes. The errors of a further program follow a normal distribution of mean 0 whose
deviation is known from n numbers, so that the factor is exp(s t), t of Student's distribution with n degrees
of freedom (the predictive distribution under the usual prior; Gelman et al., Bayesian Data Analysis, 3.2).
Errors of several experiments are taken together. A program that the errors were not taken of is assumed to be
like those that they were.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy


@dataclass(frozen=True)
class ModelError:
    """Relative errors of predicted programs."""

    rms: float
    count: int

    def factor(self, stream: numpy.random.Generator) -> float:
        """What a predicted time is multiplied by, in one draw."""
        import numpy

        return float(numpy.exp(self.rms * stream.standard_t(self.count)))

    def words(self) -> str:
        """The errors as the screen says them."""
        times = "1 program" if self.count == 1 else f"{self.count} programs and sizes"
        return f"± {100 * self.rms:.2g} %, by {times} beside their measurements"


def of(errors: Iterable[float]) -> ModelError:
    """Of the relative errors of programs, at least one."""
    squares = [error * error for error in errors]
    return ModelError((sum(squares) / len(squares)) ** 0.5, len(squares))


def read(platform: Mapping[str, Any]) -> ModelError | None:
    """Of a platform's checks together; None where it says nothing about programs."""
    checks = platform.get("calibration", {}).get("checks", [])
    found = [(check["rms"], check["count"]) for check in checks if "rms" in check]
    if not found:
        return None
    count = sum(programs for _, programs in found)
    squares = sum(rms * rms * programs for rms, programs in found)
    return ModelError((squares / count) ** 0.5, count)
