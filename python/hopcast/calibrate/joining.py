"""Several campaigns of one machine at different times, as one: what differs from run to run is an error, too.

A machine that others use is another one from hour to hour. A campaign of an hour says what it is then, and
the errors of its fit say how well that is known; they do not hold what the next hour brings. Where several
runs have drawn sizes of their own, a size lies off the fitted line by its run as well as by itself, so that
what single sizes are off their line (`90 % within …`) holds what a run of a program is off, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hopcast.calibrate.campaigns import Campaign, clock
from hopcast.calibrate.series import Calls
from hopcast.errors import InputError


def join(campaigns: Sequence[Campaign]) -> Campaign:
    """One campaign of all calls. Raises `InputError` where the runs have other kinds of calls."""
    first = campaigns[0]
    if len(campaigns) == 1:
        return first
    for number, other in enumerate(campaigns[1:], 1):
        if any(_is_same(other, before) for before in campaigns[:number]):
            raise InputError(f"--joined: the measurements of '{other.name}' are there twice")
        if set(other.calls) != set(first.calls):
            apart = ", ".join(sorted(set(other.calls) ^ set(first.calls)))
            raise InputError(
                f"--joined: campaigns '{first.name}' and '{other.name}' are not runs of the same: only one "
                f"has {apart}"
            )
    time_s, error_s, each = clock([one for campaign in campaigns for one in campaign.wtime_each])
    return replace(
        first,
        name=f"{first.name} and {len(campaigns) - 1} more",
        calls={kind: _together([campaign.calls[kind] for campaign in campaigns]) for kind in first.calls},
        wtime_s=time_s,
        wtime_error_s=error_s,
        wtime_each=each,
        findings=tuple(_findings(campaigns)),
        runs=tuple(len(campaign.calls["round_trip"].sizes) for campaign in campaigns if _trips(campaign)),
    )


def factors(calls: Calls, runs: Sequence[int], predicted: np.ndarray) -> tuple[float, ...]:
    """Times of each run over the fit's, at the median of its calls.

    runs: number of calls of each, in their order.
    predicted: time of each call by the fit [s].
    """
    parts = np.split(calls.seconds / predicted, np.cumsum(runs)[:-1])
    return tuple(float(np.median(part)) for part in parts)


def _is_same(one: Campaign, other: Campaign) -> bool:
    """True for two readings of the same measurements."""
    alike = one.calls.keys() == other.calls.keys() and one.conditions == other.conditions
    return alike and all(
        np.array_equal(calls.sizes, other.calls[kind].sizes)
        and np.array_equal(calls.seconds, other.calls[kind].seconds)
        for kind, calls in one.calls.items()
    )


def _trips(campaign: Campaign) -> bool:
    return "round_trip" in campaign.calls


def _together(parts: Sequence[Calls]) -> Calls:
    return Calls(
        *(
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("functions", "sizes", "starts", "seconds")
        )
    )


def _findings(campaigns: Sequence[Campaign]) -> list[str]:
    """Those of all runs, and settings that are not the same in all."""
    found = [f"{campaign.name}: {finding}" for campaign in campaigns for finding in campaign.findings]
    first = campaigns[0]
    for other in campaigns[1:]:
        for what, one, two in (
            *((key, first.settings.get(key), other.settings.get(key)) for key in first.settings),
            ("breakpoints", first.breakpoints, other.breakpoints),
        ):
            if one != two:
                found.append(
                    f"runs '{first.name}' and '{other.name}' were configured with other {what}: the fit "
                    "takes those of the first"
                )
    return found
