"""Table of the modes of each kind of time in each regime: what single calls take beside their slope."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Found:
    """Modes of the calls of a kind in a regime."""

    campaign: str
    kind: str
    regime: Regime
    slope_s: float
    """Time of a byte, in all modes [s/B]."""
    mixture: Mixture


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
    return {(one.campaign, one.regime.above, one.kind): (one.slope_s, one.mixture.modes) for one in found}


def _of_fit(campaign: Campaign, fit: NetworkFit) -> Iterator[Found]:
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
                yield Found(campaign.name, kind, regime, *mixtures.of_line(sizes, seconds, line.slope))


def _rows(found: Found) -> Iterator[tuple[str, ...]]:
    regime = found.regime
    end = "" if regime.up_to is None else f"{regime.up_to:.0f}"
    head = (found.campaign, found.kind, f"{regime.above:.0f}", end, f"{found.slope_s:.6g}")
    for mode in found.mixture.modes:
        yield (*head, f"{mode.mean:.6g}", f"{mode.deviation:.6g}", f"{mode.weight:.6g}")
