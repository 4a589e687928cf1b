"""Table of the modes of each kind of time in each regime: what single calls take beside their slope."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from hopcast.calibrate import mixtures
from hopcast.calibrate.campaigns import Campaign
from hopcast.calibrate.mixtures import Mixture
from hopcast.calibrate.network_fit import KINDS, NetworkFit, Regime
from hopcast.calibrate.platform_file import Noise
from hopcast.calibrate.series import Calls
from hopcast.errors import InputError

HEAD = (
    "campaign",
    "kind",
    "above_bytes",
    "up_to_bytes",
    "slope_s_per_byte",
    "mean_s",
    "deviation_s",
    "weight",
    "shape",
)
SPREAD_LEAST = 1e-4
"""Relative spread below which times do not vary."""
LEAST_CALLS = 50
"""Fewest calls of a regime whose modes are looked for."""


@dataclass(frozen=True)
class Found:
    """Modes of the calls of a kind in a regime."""

    campaign: str
    kind: str
    regime: Regime
    slope_s: float
    """Time of a byte, in all modes [s/B]."""
    mixture: Mixture
    calls: int
    """Number of calls."""


def find(fits: Sequence[tuple[Campaign, NetworkFit]]) -> list[Found]:
    """Modes of each kind in each regime, where there are enough calls and they vary."""
    return [found for campaign, fit in fits for found in _of_fit(campaign, fit)]


def write(place: Path, found: Sequence[Found]) -> None:
    """One line for each mode, heaviest first."""
    try:
        with place.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(HEAD)
            for one in found:
                writer.writerows(_rows(one))
    except OSError as error:
        raise InputError(f"{place}: cannot be written: {error.strerror}") from None


def noise(found: Sequence[Found]) -> Noise:
    """Modes for a platform file."""
    return {
        (one.campaign, one.regime.above, one.kind): (one.slope_s, one.mixture.modes, one.calls)
        for one in found
    }


def with_means(campaign: Campaign, fit: NetworkFit, found: Sequence[Found]) -> NetworkFit:
    """The fit with lines through the means of calls: those of medians leave out what rare modes add.

    Slopes are those that modes share, where they were looked for.
    """
    slopes = {(one.kind, one.regime.above): one.slope_s for one in found if one.campaign == campaign.name}
    campaign = campaign.without_clock()
    regimes = []
    for regime in fit.regimes:
        lines = dict(regime.lines)
        for kind, line in regime.lines.items():
            calls = campaign.calls.get("round_trip" if kind == "one_way" else kind)
            if calls is None:
                continue
            sizes, seconds = _inside(calls, regime, kind)
            slope = slopes.get((kind, regime.above), line.slope)
            if kind == "one_way":
                seconds = seconds / 2
                if _vary(seconds - line.slope * sizes, seconds):
                    slope, _ = mixtures.of_line(sizes, seconds, line.slope)
            start = float(np.mean(seconds - slope * sizes))
            lines[kind] = replace(line, intercept=max(start, 0.0), slope=slope)
        regimes.append(replace(regime, lines=lines))
    return replace(fit, regimes=tuple(regimes))


def _vary(starts: np.ndarray, seconds: np.ndarray) -> bool:
    """True for enough calls whose start-ups are not all the same."""
    return len(starts) >= LEAST_CALLS and float(np.std(starts)) > SPREAD_LEAST * float(np.median(seconds))


def _inside(calls: Calls, regime: Regime, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Sizes and times of the calls of a regime."""
    above, up_to = (regime.above, regime.up_to) if kind == "one_way" else regime.calls
    inside = (calls.sizes > above) & (calls.sizes <= (np.inf if up_to is None else up_to))
    return calls.sizes[inside], calls.seconds[inside]


def _of_fit(campaign: Campaign, fit: NetworkFit) -> Iterator[Found]:
    campaign = campaign.without_clock()
    for kind in KINDS:
        for regime in fit.regimes:
            calls, line = campaign.calls.get(kind), regime.lines.get(kind)
            if calls is None or line is None:
                continue
            sizes, seconds = _inside(calls, regime, kind)
            if _vary(seconds - line.slope * sizes, seconds):
                slope, mixture = mixtures.of_line(sizes, seconds, line.slope)
                yield Found(campaign.name, kind, regime, slope, mixture, len(sizes))


def _rows(found: Found) -> Iterator[tuple[str, ...]]:
    regime = found.regime
    end = "" if regime.up_to is None else f"{regime.up_to:.0f}"
    head = (found.campaign, found.kind, f"{regime.above:.0f}", end, f"{found.slope_s:.6g}")
    for mode in found.mixture.modes:
        yield (*head, f"{mode.mean:.6g}", f"{mode.deviation:.6g}", f"{mode.weight:.6g}", mode.shape)
