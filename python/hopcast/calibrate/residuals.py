"""Table of the measured and the fitted times of every size, for pictures of one's own."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hopcast.calibrate.campaigns import Campaign
from hopcast.calibrate.network_fit import NetworkFit
from hopcast.calibrate.series import by_size
from hopcast.errors import InputError

HEAD = ("campaign", "bytes", "repetitions", "measured_one_way_s", "fitted_one_way_s", "relative_error")


def write(place: Path, fits: Sequence[tuple[Campaign, NetworkFit]]) -> None:
    """One line for each size of each campaign."""
    try:
        with place.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(HEAD)
            for campaign, fit in fits:
                calls = campaign.without_clock().calls["round_trip"]
                series = by_size(calls.sizes, calls.seconds)
                measured, fitted = series.seconds / 2, fit.one_way_s(series.sizes)
                columns = (series.sizes, series.repetitions, measured, fitted, fitted / measured - 1)
                for size, repetitions, ours, theirs, error in zip(
                    *(np.asarray(c).tolist() for c in columns), strict=True
                ):
                    writer.writerow(
                        (
                            campaign.name,
                            f"{size:.0f}",
                            repetitions,
                            f"{ours:.9g}",
                            f"{theirs:.9g}",
                            f"{error:.4g}",
                        )
                    )
    except OSError as error:
        raise InputError(f"{place}: cannot be written: {error.strerror}") from None
