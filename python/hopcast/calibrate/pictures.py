"""Pictures of a fit: measured and fitted times, relative errors, and calls of both sides, by size."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hopcast.calibrate.accuracy import percent
from hopcast.calibrate.campaigns import Campaign
from hopcast.calibrate.network_fit import NetworkFit
from hopcast.calibrate.series import Calls, Series, by_size
from hopcast.report import units
from hopcast.report.pictures.picture import Picture
from hopcast.report.svg import Axis, Canvas, horizontal_axis, vertical_axis

WIDTH, HEIGHT = 1080, 400
LEFT, RIGHT, TOP, BOTTOM = 90, 1072, 14, 360
POINTS_OF_A_LINE = 60
"""Points of the fitted line in each regime: it is curved on logarithmic axes."""
CALLS = {"send": "line-1", "isend": "line-2", "recv": "line-4"}
NAMES = {"send": "MPI_Send", "isend": "MPI_Isend", "recv": "MPI_Recv of a message that has come"}


def of_fit(campaign: Campaign, fit: NetworkFit) -> list[Picture]:
    """Pictures of one campaign."""
    campaign = campaign.without_clock()
    drawn = [_times(campaign, fit), _errors(campaign, fit), _overheads(campaign, fit)]
    return [picture for picture in drawn if picture is not None]


def one_way(campaign: Campaign) -> Series:
    """Time of a message of each size: half of the median round trip."""
    calls = campaign.calls["round_trip"]
    trip = by_size(calls.sizes, calls.seconds)
    return Series(trip.sizes, trip.seconds / 2, trip.errors, trip.repetitions)


def _times(campaign: Campaign, fit: NetworkFit) -> Picture:
    """Half round trips with the spread of their repetitions, and the fitted lines."""
    series, calls = one_way(campaign), campaign.calls["round_trip"]
    low, high = _spread(calls)
    canvas = Canvas(WIDTH, HEIGHT, f"Time of a message: {campaign.name}")
    across = _sizes_axis(canvas, fit)
    up = _times_axis(canvas, [low / 2, high / 2, series.seconds])
    if fit.repetitions > 1:
        for size, start, end in zip(series.sizes, low / 2, high / 2, strict=True):
            x, y, length = across(size), up(end), up(start) - up(end)
            canvas.bar(x - 1, y, 2.0, length, "accent", fill_opacity=0.22)
    _points(canvas, across, up, series, "accent")
    for above, up_to in _ranges(fit):
        sizes = np.geomspace(max(above, fit.sizes[0]), up_to, POINTS_OF_A_LINE)
        inside = np.clip(sizes, np.nextafter(above, np.inf), up_to)
        _path(canvas, across, up, sizes, fit.one_way_s(inside), "waiting")
    _breakpoints(canvas, across, fit)
    cuts = [f"{regime.up_to:,.0f} B" for regime in fit.regimes[:-1]]
    finding = (
        f"{units.things(len(fit.regimes), 'regime')}{', up to ' + units.listed(cuts) if cuts else ''}; "
        f"{units.things(len(series.sizes), 'size')}, {units.things(fit.repetitions, 'repetition')} of each."
    )
    legend = [("accent", "measured, half a round trip: median"), ("waiting", "fitted")]
    if fit.repetitions > 1:
        legend[0] = ("accent", "measured, half a round trip: median, and 5 to 95 % of the repetitions")
    return Picture(f"Time of a message: {campaign.name}", finding, canvas.svg(), tuple(legend))


def _errors(campaign: Campaign, fit: NetworkFit) -> Picture:
    """Relative errors of the fit at each size."""
    series = one_way(campaign)
    errors = fit.one_way_s(series.sizes) / series.seconds - 1
    reach = max(0.02, float(np.abs(errors).max()))
    canvas = Canvas(WIDTH, HEIGHT, f"Relative error: {campaign.name}")
    across = _sizes_axis(canvas, fit)
    up = Axis(-reach, reach, BOTTOM, TOP)
    vertical_axis(
        canvas, up, LEFT, RIGHT, lambda ticks: [f"{100 * tick:+.3g} %" if tick else "0" for tick in ticks]
    )
    canvas.line(LEFT, up(0), RIGHT, up(0), "frame")
    _points(canvas, across, up, Series(series.sizes, errors, series.errors, series.repetitions), "accent")
    _breakpoints(canvas, across, fit)
    sizes = np.abs(errors)
    half, most, worst = np.median(sizes), np.quantile(sizes, 0.9), sizes.max()
    place = series.sizes[int(sizes.argmax())]
    finding = (
        f"Half of the sizes are within {percent(half)}, nine of ten within {percent(most)}; the worst is "
        f"{percent(worst)}, at {place:,.0f} B. Above zero the fit is too slow."
    )
    return Picture(f"Fitted beside measured: {campaign.name}", finding, canvas.svg())


def _overheads(campaign: Campaign, fit: NetworkFit) -> Picture | None:
    """Calls of sender and receiver, and their lines."""
    series = {
        kind: by_size(calls.sizes, calls.seconds)
        for kind in CALLS
        if (calls := campaign.calls.get(kind)) is not None
    }
    series = {kind: part.where(part.seconds > 0) for kind, part in series.items()}
    series = {kind: part for kind, part in series.items() if len(part.sizes)}
    if not series:
        return None
    canvas = Canvas(WIDTH, HEIGHT, f"Calls of sender and receiver: {campaign.name}")
    across = _sizes_axis(canvas, fit)
    up = _times_axis(canvas, [part.seconds for part in series.values()])
    for kind, part in series.items():
        _points(canvas, across, up, part, CALLS[kind], 0.45)
        for regime, (above, up_to) in zip(fit.regimes, _ranges(fit), strict=True):
            if kind in regime.lines:
                sizes = np.geomspace(max(above, fit.sizes[0]), up_to, POINTS_OF_A_LINE)
                _path(canvas, across, up, sizes, regime.lines[kind].at(sizes), CALLS[kind])
    _breakpoints(canvas, across, fit)
    finding = "Medians of the calls alone, and the lines that are fitted in each regime of the round trips."
    legend = tuple((CALLS[kind], NAMES[kind]) for kind in series)
    return Picture(f"Calls of sender and receiver: {campaign.name}", finding, canvas.svg(), legend)


def _spread(calls: Calls) -> tuple[np.ndarray, np.ndarray]:
    """5 % and 95 % quantile of the repetitions of each size."""
    order = np.lexsort((calls.seconds, calls.sizes))
    seconds = calls.seconds[order]
    _, starts, counts = np.unique(calls.sizes[order], return_index=True, return_counts=True)
    return tuple(seconds[starts + np.rint(share * (counts - 1)).astype(int)] for share in (0.05, 0.95))


def _ranges(fit: NetworkFit) -> list[tuple[float, float]]:
    return [(regime.above, fit.sizes[1] if regime.up_to is None else regime.up_to) for regime in fit.regimes]


def _sizes_axis(canvas: Canvas, fit: NetworkFit) -> Axis:
    first, last = fit.sizes
    across = Axis(max(first, 1) * 0.8, last * 1.25, LEFT, RIGHT, logarithmic=True)
    horizontal_axis(canvas, across, BOTTOM, TOP, lambda ticks: [_bytes(tick) for tick in ticks], about=8)
    return across


def _times_axis(canvas: Canvas, times: Sequence[np.ndarray]) -> Axis:
    values = np.concatenate([part[part > 0] for part in times])
    up = Axis(float(values.min()) * 0.8, float(values.max()) * 1.25, BOTTOM, TOP, logarithmic=True)
    vertical_axis(canvas, up, LEFT, RIGHT, lambda ticks: [units.exact_seconds(tick) for tick in ticks])
    return up


def _bytes(value: float) -> str:
    return f"{units.tick(value)}B" if value >= 1000 else f"{value:g} B"


def _points(
    canvas: Canvas, across: Axis, up: Axis, series: Series, colour: str, opacity: float = 0.8
) -> None:
    for size, value in zip(series.sizes.tolist(), series.seconds.tolist(), strict=True):
        fill = f"var(--{colour})"
        canvas.add("circle", cx=across(size), cy=up(value), r=2.2, fill=fill, fill_opacity=opacity)


def _path(canvas: Canvas, across: Axis, up: Axis, sizes: np.ndarray, times: np.ndarray, colour: str) -> None:
    drawn = [
        f"{across(x):.1f} {up(y):.1f}" for x, y in zip(sizes.tolist(), times.tolist(), strict=True) if y > 0
    ]
    if drawn:
        path = f"M{'L'.join(drawn)}"
        canvas.add("path", d=path, fill="none", stroke=f"var(--{colour})", stroke_width=2)


def _breakpoints(canvas: Canvas, across: Axis, fit: NetworkFit) -> None:
    for up_to in (regime.up_to for regime in fit.regimes if regime.up_to is not None):
        canvas.line(across(up_to), TOP, across(up_to), BOTTOM, "mark")
    if fit.eager_limit is not None and fit.sizes[0] < fit.eager_limit < fit.sizes[1]:
        canvas.text(across(fit.eager_limit) - 6, TOP + 12, "eager limit", anchor="end", class_="tick")
