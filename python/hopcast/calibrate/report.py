"""Page about a fit: how good it is, what the data do not tell, pictures, and all parameters with errors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hopcast import __version__
from hopcast.calibrate import conditions, pictures, quantities
from hopcast.calibrate.accuracy import Accuracy, accuracy, percent
from hopcast.calibrate.campaigns import Campaign
from hopcast.calibrate.lines import Line
from hopcast.calibrate.network_fit import NetworkFit, Regime, held_back
from hopcast.errors import InputError
from hopcast.report import html, units
from hopcast.report.pictures.picture import Picture

HELD_BACK_LEAST = 12
"""Fewest sizes of which half are held back."""


@dataclass(frozen=True)
class Part:
    """Section about one campaign."""

    name: str
    pictures: list[Picture]
    regimes: list[tuple[str, ...]]
    calls: list[tuple[str, str, str]]
    held_back: str


@dataclass(frozen=True)
class Page:
    """Contents of the page."""

    title: str
    median: str
    sentence: str
    findings: list[str]
    campaigns: list[Part]
    machine: list[tuple[str, str]]
    """Names and values of the machine that was measured, as far as the data say them."""
    place: str
    text: str
    """The platform file."""
    made: str


HeldBack = Mapping[str, tuple[Accuracy, Accuracy]]
"""By campaign: errors of a fit to every other size, at those sizes and at the sizes between them."""


def write(
    place: Path,
    name: str,
    fits: Sequence[tuple[Campaign, NetworkFit]],
    held: HeldBack,
    data: Sequence[Path],
    platform: Path,
) -> None:
    """Writes the page."""
    campaign, fit = fits[0]
    series = pictures.one_way(campaign.without_clock())
    errors = accuracy(fit.one_way_s(series.sizes), series.seconds)
    first, last = (f"{size:,.0f} B" for size in fit.sizes)
    sentence = (
        f"Fitted to {units.things(len(series.sizes), 'size')} from {first} to {last}: nine of ten are within "
        f"{percent(errors.most_of)}, the worst is {percent(errors.worst)}. Longer messages are an "
        "extrapolation."
    )
    page = Page(
        f"Calibration of {name}",
        percent(errors.median),
        sentence,
        [finding for _, part in fits for finding in part.findings],
        [_part(*both, held.get(both[0].name)) for both in fits],
        _machine([campaign for campaign, _ in fits]),
        str(platform),
        platform.read_text(),
        f"{', '.join(str(part) for part in data)} · hopcast {__version__}",
    )
    try:
        place.write_text(html.calibration_page(page), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{place}: cannot be written: {error.strerror}") from None


def held_back_of(fits: Sequence[tuple[Campaign, NetworkFit]]) -> HeldBack:
    """Errors at sizes held back, of campaigns with enough sizes."""
    series = {campaign.name: pictures.one_way(campaign.without_clock()) for campaign, _ in fits}
    return {name: held_back(one) for name, one in series.items() if len(one.sizes) >= HELD_BACK_LEAST}


def recorded(
    fits: Sequence[tuple[Campaign, NetworkFit]], held: HeldBack, inside: Mapping[str, str]
) -> dict[str, Accuracy]:
    """Errors at the sizes held back as a platform file names them, between hosts and within one.

    inside: what campaigns within a host are of: `hosts`, or the name of a level.
    """
    errors = {}
    for campaign, _ in fits:
        if campaign.name in held:
            place = f" inside {inside[campaign.name]}" if campaign.name in inside else ""
            errors[f"ping-pong{place}"] = held[campaign.name][1]
    return errors


def _part(campaign: Campaign, fit: NetworkFit, held: tuple[Accuracy, Accuracy] | None) -> Part:
    said = ""
    if held is not None:
        said = f"Fitted to every other size: {held[0]}. At the sizes held back: {held[1]}."
    return Part(
        campaign.name,
        pictures.of_fit(campaign, fit),
        [_regime(regime) for regime in fit.regimes],
        _calls(fit),
        said,
    )


def _regime(regime: Regime) -> tuple[str, ...]:
    line = regime.lines["one_way"]
    errors = regime.accuracy
    return (
        quantities.between(regime.above, regime.up_to),
        str(regime.points),
        _time(line.intercept, line.intercept_error),
        "not identified"
        if regime.rate_is_doubtful
        else f"{units.rate(1 / line.slope, 'B/s')}{_relative(line.slope, line.slope_error)}",
        *map(percent, (errors.median, errors.most_of, errors.worst, regime.scatter)),
    )


def _calls(fit: NetworkFit) -> list[tuple[str, str, str]]:
    rows = [
        (pictures.NAMES[kind], quantities.between(regime.above, regime.up_to), _line(regime.lines[kind]))
        for kind in pictures.NAMES
        for regime in fit.regimes
        if kind in regime.lines
    ]
    calls = {"MPI_Iprobe": fit.iprobe, "MPI_Test": fit.test, "MPI_Wtime": fit.wtime}
    for name, call in calls.items():
        value = "" if call.seconds is None else f"{units.seconds(call.seconds)} "
        rows.append((name, "", f"{value}{call.comment}"))
    limit = fit.eager_limit
    rows.append(
        ("Eager limit", "", fit.eager_basis if limit is None else f"{limit:,.0f} B, {fit.eager_basis}")
    )
    for regime in fit.regimes:
        if regime.up_to is not None:
            shown = fit.ends[regime.up_to].said(regime.up_to)
            rows.append(("End of a regime", f"{regime.up_to:,.0f} B", shown))
    return rows


def _line(line: Line) -> str:
    slope = f"{1e9 * line.slope:.4g} ns/B" if line.slope else "nothing"
    error = _relative(line.slope, line.slope_error) if line.slope else ""
    return f"{_time(line.intercept, line.intercept_error)} + {slope}{error} n"


def _time(value: float, error: float) -> str:
    return f"{units.seconds(value)}{_relative(value, error)}" if value else "nothing"


def _relative(value: float, error: float) -> str:
    return f" ± {percent(error / value)}" if value > 0 and math.isfinite(error) else ""


def _machine(campaigns: Sequence[Campaign]) -> list[tuple[str, str]]:
    """Facts that `calibrate measure` has left beside the results of the first campaign that has any."""
    known = [campaign.conditions for campaign in campaigns if campaign.conditions is not None]
    if not known:
        return []
    facts = known[0].facts
    hosts = list(dict.fromkeys(rank["host"] for rank in facts["ranks"]))
    clock = np.float64(facts["ranks"][0]["clock_step_s"])
    found = [
        ("MPI library", facts["mpi_library"].splitlines()[0]),
        ("Ranks", f"{len(facts['ranks'])} on {', '.join(hosts)}"),
        ("Launcher", facts["launcher"]),
        ("Load", str(conditions.load(campaigns))),
        ("Step of the clock", units.seconds(float(clock), 3)),
        ("Began", facts["began"]),
    ]
    model = facts.get("launched_on", {}).get("Model name")
    return [*found, ("Processor", model)] if model else found
