"""Parameters of SimGrid's SMPI from a raw campaign, computed as its own calibration script computes them.

For given breakpoints: of every ten consecutive calls those outside of the 10 % and 90 % quantiles are dropped
(ping-pongs are kept whole); a line by ordinary least squares of seconds in each range [lower, upper); then

    transfer = (round trip − or) / 2      lat-factor = intercept / latency      bw-factor = 1 / (slope ·
    bandwidth)

os and or are 0 above the limit of detached sends. It reproduces published platform files, and that is its
purpose. `network_fit` is what hopcast fits with: here the longest messages of a range decide alone, and half
an `or` too little is subtracted.

Source: Analysis.Rmd of github.com/Ezibenroc/platform-calibration, read for what it computes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hopcast.calibrate.campaigns import Campaign
from hopcast.calibrate.lines import least_squares
from hopcast.calibrate.series import Calls
from hopcast.errors import InputError

BLOCK = 10
OUTLIERS = 0.1
"""Share of the calls that is dropped at each end."""


@dataclass(frozen=True)
class Factors:
    """One range of sizes, with the names of SimGrid's options."""

    above: float
    send: tuple[float, float]
    """`smpi/os`: seconds, seconds per byte."""
    isend: tuple[float, float]
    receive: tuple[float, float]
    latency_factor: float
    """Before it is clamped to at least 1, as published files have it."""
    bandwidth_factor: float
    """Before it is clamped to at most 1."""


def fit(
    campaign: Campaign, breakpoints: Sequence[float], latency_s: float, bandwidth_Bps: float
) -> list[Factors]:
    """Factors of every range between the breakpoints."""
    if lacking := [kind for kind in ("send", "isend", "recv", "round_trip") if kind not in campaign.calls]:
        raise InputError(f"campaign '{campaign.name}': no measurements of {', '.join(lacking)}")
    detached = campaign.settings.get("detached_limit", np.inf)
    trimmed = {kind: _without_outliers(campaign.calls[kind]) for kind in ("send", "isend", "recv")}
    factors = []
    for lower, upper in zip([0, *breakpoints], [*breakpoints, np.inf], strict=True):
        kept = upper <= detached
        send = _line(trimmed["send"], lower, upper) if kept else (0.0, 0.0)
        receive = _line(trimmed["recv"], lower, upper) if kept else (0.0, 0.0)
        round_trip = _line(campaign.calls["round_trip"], lower, upper)
        start, slope = ((whole - part) / 2 for whole, part in zip(round_trip, receive, strict=True))
        factors.append(
            Factors(
                lower,
                send,
                _line(trimmed["isend"], lower, upper),
                receive,
                start / latency_s,
                1 / (slope * bandwidth_Bps),
            )
        )
    return factors


def poll_s(calls: Calls) -> float:
    """Mean time of a poll without a tenth of the polls at each end."""
    seconds = np.sort(calls.seconds)
    dropped = int(len(seconds) * OUTLIERS)
    return float(seconds[dropped : len(seconds) - dropped].mean())


def _line(calls: Calls, lower: float, upper: float) -> tuple[float, float]:
    inside = (calls.sizes >= lower) & (calls.sizes < upper)
    if len(np.unique(calls.sizes[inside])) < 2:
        raise InputError(f"fewer than two sizes from {lower:g} B to {upper:g} B: no line goes through them")
    line = least_squares(calls.sizes[inside], calls.seconds[inside])
    return line.intercept, line.slope


def _without_outliers(calls: Calls) -> Calls:
    blocks = np.arange(len(calls.seconds)) // BLOCK
    kept = np.zeros(len(calls.seconds), dtype=bool)
    for start in range(0, len(blocks), BLOCK):
        seconds = calls.seconds[start : start + BLOCK]
        low, high = (_quantile(np.sort(seconds), share) for share in (OUTLIERS, 1 - OUTLIERS))
        kept[start : start + BLOCK] = (seconds >= low) & (seconds <= high)
    return calls.where(kept)


def _quantile(ordered: np.ndarray, share: float) -> float:
    """Quantile in the very arithmetic of R 3, whose rounding decides which of several equal times are
    dropped."""
    place = 1 + (len(ordered) - 1) * share
    low = int(np.floor(place))
    part = place - low
    if part == 0 or low >= len(ordered):
        return float(ordered[low - 1])
    return float((1 - part) * ordered[low - 1] + part * ordered[low])
