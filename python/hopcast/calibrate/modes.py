"""Table of the modes of each kind of time in each regime: what single calls take beside their slope."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from hopcast.calibrate import mixtures
from hopcast.calibrate.campaigns import Campaign
from hopcast.calibrate.mixtures import Mixture
from hopcast.calibrate.network_fit import KINDS, NetworkFit, Regime
from hopcast.calibrate.platform_file import Noise
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
)
SPREAD_LEAST = 1e-4
"""Relative spread below which times do not vary."""
LEAST_CALLS = 50
"""Fewest calls of a regime whose modes are looked for."""


def write(place: Path, fits: Sequence[tuple[Campaign, NetworkFit]]) -> None:
    """One line for each mode, heaviest first."""
    try:
        with place.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(HEAD)
            for campaign, fit in fits:
                writer.writerows(_rows(campaign, fit))
    except OSError as error:
        raise InputError(f"{place}: cannot be written: {error.strerror}") from None


def of_fit(campaign: Campaign, fit: NetworkFit) -> Iterator[tuple[str, Regime, float, Mixture]]:
    """Kind, regime, slope and modes of the calls of each kind, where there are enough and they vary."""
    campaign = campaign.without_clock()
    for kind in KINDS:
        for regime in fit.regimes:
            calls, line = campaign.calls.get(kind), regime.lines.get(kind)
            if calls is None or line is None:
                continue
            top = np.inf if regime.up_to is None else regime.up_to
            inside = (calls.sizes > regime.above) & (calls.sizes <= top)
            seconds = calls.seconds[inside]
            sizes = calls.sizes[inside]
            spread = np.std(seconds - line.slope * sizes) if len(seconds) >= LEAST_CALLS else 0.0
            if spread > SPREAD_LEAST * np.median(seconds):
                yield kind, regime, *mixtures.of_line(sizes, seconds, line.slope)


def noise(fits: Sequence[tuple[Campaign, NetworkFit]]) -> Noise:
    """Modes for a platform file."""
    return {
        (campaign.name, regime.above, kind): (slope, mixture.modes)
        for campaign, fit in fits
        for kind, regime, slope, mixture in of_fit(campaign, fit)
    }


def _rows(campaign: Campaign, fit: NetworkFit) -> Iterator[tuple[str, ...]]:
    for kind, regime, slope, mixture in of_fit(campaign, fit):
        end = "" if regime.up_to is None else f"{regime.up_to:.0f}"
        head = (campaign.name, kind, f"{regime.above:.0f}", end, f"{slope:.6g}")
        for mode in mixture.modes:
            yield (*head, f"{mode.mean:.6g}", f"{mode.deviation:.6g}", f"{mode.weight:.6g}")
