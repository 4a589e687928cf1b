"""Times of calls that move no message: MPI_Test, MPI_Iprobe and MPI_Wtime, with their standard errors.

Most polls of a measurement find nothing, so that the median of all is the time of one that finds nothing. Its
standard error is that of a normal variable's median (`series.by_size`), together with that of the clock,
whose time is subtracted, and with what a clock of step d leaves unknown, d / √12. Polls of one wait follow
each other: if what disturbs one disturbs the next, the error is larger than that of independent ones.

MPI_Wtime is measured by the total of ten million calls. Of one such total there is no standard error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hopcast.calibrate import defects
from hopcast.calibrate.accuracy import SPREAD_MOST, percent
from hopcast.calibrate.campaigns import WTIME_CALLS, Campaign
from hopcast.calibrate.series import by_size

FUNCTIONS = {"iprobe": "MPI_Iprobe", "test": "MPI_Test"}


@dataclass(frozen=True)
class CallTime:
    """Time of one call of a function, or the reason why there is none."""

    seconds: float | None
    basis: str
    """Its source and range, or the reason, for the platform file."""
    error_s: float = math.nan
    """Standard error; nan where it is not known."""
    finding: str | None = None
    """A defect of the data, for the screen."""

    @property
    def comment(self) -> str:
        """Text about a time that is given, for the platform file."""
        if self.seconds and math.isfinite(self.error_s):
            return f"± {percent(self.error_s / self.seconds)}; {self.basis}"
        return self.basis


def of_polls(measured: Campaign, kind: str) -> CallTime:
    """Time of a poll that finds nothing.

    measured: the campaign as it was measured, with the time of the clock in all calls.
    """
    function = FUNCTIONS[kind]
    if kind not in measured.calls:
        return CallTime(None, f"not identified: {function} was not measured")
    found, polls = measured.without_clock().calls[kind], measured.calls[kind]
    series = by_size(np.zeros(len(found.seconds)), found.seconds)
    seconds, count = float(series.seconds[0]), len(found.seconds)
    if seconds <= 0:
        return CallTime(
            None,
            f"not identified: half of {count} polls take no longer than reading the clock",
            finding=f"{kind}: half of the polls take no longer than reading the clock: their time is not "
            "known, and the platform keeps the default of mpi.poll",
        )
    step = defects.clock_step_s(polls.seconds)
    clock = measured.wtime_error_s if measured.wtime_s and math.isfinite(measured.wtime_error_s) else 0.0
    error = math.nan
    if count > 1:
        error = math.hypot(seconds * float(series.errors[0]), step / math.sqrt(12), clock)
    if error > SPREAD_MOST * seconds:
        said = f"not identified: {count} polls have a median of {1e6 * seconds:.3g} us ± {1e6 * error:.2g}"
        finding = f"{kind}: {count} polls vary too much: their time is not identified"
        return CallTime(None, said, finding=finding)
    sizes = f"{polls.sizes.min():.0f} to {polls.sizes.max():.0f} B"
    waited = f"of {function} that wait for {sizes}"
    said = f"median of {count} polls {waited}" if count > 1 else f"one poll {waited}: no standard error"
    return CallTime(seconds, said, error)


def of_clock(campaign: Campaign) -> CallTime:
    """Time of MPI_Wtime."""
    if not campaign.wtime_s:
        return CallTime(None, "not identified: MPI_Wtime was not measured, or takes no time")
    totals = len(campaign.wtime_each)
    said = f"mean of {WTIME_CALLS:,} calls in a loop"
    if totals > 1:
        return CallTime(
            campaign.wtime_s, f"median of {totals} loops, each the {said}", campaign.wtime_error_s
        )
    return CallTime(campaign.wtime_s, f"{said}, measured once: no standard error")
