"""Table of the modes of each kind of time in each regime: what single calls take beside their slope."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hopcast.calibrate import mixtures
from hopcast.calibrate.campaigns import Campaign
from hopcast.calibrate.network_fit import KINDS, NetworkFit
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


def _rows(campaign: Campaign, fit: NetworkFit) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for kind in KINDS:
        for regime in fit.regimes:
            calls, line = campaign.calls.get(kind), regime.lines.get(kind)
            if calls is None or line is None:
                continue
            top = np.inf if regime.up_to is None else regime.up_to
            inside = (calls.sizes > regime.above) & (calls.sizes <= top)
            seconds = calls.seconds[inside]
            if len(seconds) < LEAST_CALLS or not np.ptp(seconds) > 0:
                continue
            mixture = mixtures.of_line(calls.sizes[inside], seconds, line.slope)
            end = "" if regime.up_to is None else f"{regime.up_to:.0f}"
            head = (campaign.name, kind, f"{regime.above:.0f}", end, f"{line.slope:.6g}")
            rows += [
                (*head, f"{mode.mean:.6g}", f"{mode.deviation:.6g}", f"{mode.weight:.6g}")
                for mode in mixture.modes
            ]
    return rows
