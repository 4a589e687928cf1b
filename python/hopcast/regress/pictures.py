"""Pictures of examined series: histogram of the last values, overviews by unit and time, evolution of each
unit."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hopcast.regress import colours, logs
from hopcast.regress.examine import Examined
from hopcast.regress.walk import Walk
from hopcast.report import units
from hopcast.report.pictures.picture import Picture
from hopcast.report.svg import Axis, Canvas, horizontal_axis, vertical_axis

WIDTH = 1080
LEFT, RIGHT, TOP = 110, 1066, 14
ROW = 9
HISTOGRAM_HEIGHT, EVOLUTION_HEIGHT = 260, 150
BINS_MOST = 40
LABELS_MOST = 40
"""Most rows of an overview that are all named."""


def histogram(one: Examined) -> Picture:
    """Newest value of each unit, with the mean, and the variability in space and in time."""
    walks = [walked for walked in one.walks if (~walked.outlier).any()]
    last = np.array([walked.series.values[~walked.outlier][-1, 0] for walked in walks])
    counts, edges = np.histogram(last, bins=min(BINS_MOST, max(5, math.ceil(2 * len(last) ** 0.5))))
    canvas = Canvas(WIDTH, HISTOGRAM_HEIGHT, f"Newest values of {one.factors[0]}")
    bottom = HISTOGRAM_HEIGHT - 40
    across = Axis(float(edges[0]), float(edges[-1]), LEFT, RIGHT)
    up = Axis(0, float(max(counts.max(), 1)), bottom, TOP)
    horizontal_axis(canvas, across, bottom, TOP, _numbers)
    vertical_axis(canvas, up, LEFT, RIGHT, _numbers, about=4)
    for count, low, high in zip(counts.tolist(), edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        x = across(low) + 1
        canvas.bar(
            x, up(count), across(high) - x - 1, bottom - up(count), "accent", title=f"{low:.6g}: {count}"
        )
    mean = float(last.mean())
    canvas.line(across(mean), TOP, across(mean), bottom, "mark")
    finding = f"{units.things(len(last), 'unit')}: mean {mean:.6g}"
    if len(last) > 1 and mean:
        finding += (
            f"; they differ by {units.percent(float(last.std(ddof=1)) / abs(mean))} (deviation in space)"
        )
    daily = [
        float(values.std(ddof=1) / abs(values.mean()))
        for walked in walks
        if len(values := walked.series.values[~walked.outlier][:, 0]) > 1 and values.mean()
    ]
    if daily:
        finding += f", and in time by {units.percent(float(np.median(daily)))} (median of the units)"
    return Picture(f"Newest values of {one.factors[0]}", f"{finding}.", canvas.svg())


def overview(one: Examined) -> Picture:
    """Values by unit and time."""
    values = np.concatenate([walked.series.values[:, 0] for walked in one.walks])
    low, high = (float(end) for end in np.quantile(values, [0.01, 0.99]))
    cells = [
        [
            (index, colours.of_value(float(value), low, high), f"{value:.6g}")
            for index, value in enumerate(walked.series.values[:, 0])
        ]
        for walked in one.walks
    ]
    finding = f"Dark: {low:.6g} or less; bright: {high:.6g} or more."
    return _grid(one, f"{one.factors[0]} by unit and time", finding, cells)


def likelihoods(one: Examined, r: int) -> Picture:
    """Signed likelihood by unit and time: sign(x - x̄)·|ln L|."""
    cells = []
    for walked in one.walks:
        row = {index: (index, "var(--idle)", "no reference yet") for index in range(len(walked.series.times))}
        for judgement in walked.judgements[r]:
            said = f"{judgement.relative:+.2%}, likelihood {judgement.likelihood:.3g}"
            shade = colours.of_likelihood(judgement.sign, judgement.likelihood)
            row[judgement.index] = (judgement.index, shade, said)
        cells.append(list(row.values()))
    flagged = sum(judgement.alarm for walked in one.walks for judgement in walked.judgements[r])
    tests = sum(len(walked.judgements[r]) for walked in one.walks)
    title = "Likelihood of each observation" if r == 1 else f"Likelihood of each window of {r} observations"
    finding = (
        f"Red: below the reference, blue: above, the stronger the less likely; pale: no reference yet. "
        f"{units.things(flagged, 'alarm')} in {units.things(tests, 'test')}."
    )
    return _grid(one, title, finding, cells)


def evolution(walked: Walk, r: int) -> Picture:
    """Values of one unit, with the interval in which the mean of the next r must lie."""
    series = walked.series
    canvas = Canvas(WIDTH, EVOLUTION_HEIGHT, f"{series.unit}: {series.factors[0]}")
    bottom = EVOLUTION_HEIGHT - 30
    found = walked.judgements[r]
    ends = [end for one in found for end in (one.low, one.high) if math.isfinite(end)]
    points = [*series.values[:, 0].tolist(), *ends]
    low, high = min(points), max(points)
    margin = 0.05 * ((high - low) or abs(high) or 1.0)
    across, up = _times([walked]), Axis(low - margin, high + margin, bottom, TOP)
    horizontal_axis(canvas, across, bottom, TOP, lambda ticks: [logs.date_of(tick) for tick in ticks])
    vertical_axis(canvas, up, LEFT, RIGHT, _numbers, about=4)
    ribbon = [(across(float(series.times[one.index])), up(one.low), up(one.high)) for one in found if ends]
    if ribbon:
        upper = "L".join(f"{x:.1f} {y:.1f}" for x, _, y in ribbon)
        lower = "L".join(f"{x:.1f} {y:.1f}" for x, y, _ in reversed(ribbon))
        canvas.add("path", d=f"M{upper}L{lower}Z", fill="var(--accent)", fill_opacity=0.18)
    _changes(canvas, across, [walked], TOP, bottom)
    alarms = {one.index for one in found if one.alarm}
    for index, (time, value) in enumerate(
        zip(series.times.tolist(), series.values[:, 0].tolist(), strict=True)
    ):
        x, y, said = across(time), up(value), f"{logs.date_of(time)}: {value:.6g}"
        if walked.outlier[index]:
            canvas.add(
                "path",
                d=f"M{x - 3:.1f} {y - 3:.1f}l6 6m0 -6l-6 6",
                stroke="var(--soft)",
                title=f"{said}, outlier",
            )
        else:
            colour = "fail" if index in alarms else "accent"
            canvas.add("circle", cx=x, cy=y, r=2.6, fill=f"var(--{colour})", title=said)
    finding = f"{units.things(len(series.times), 'observation')}, {units.things(len(alarms), 'alarm')}."
    return Picture(series.unit, finding, canvas.svg())


def _grid(
    one: Examined, title: str, finding: str, cells: Sequence[Sequence[tuple[int, str, str]]]
) -> Picture:
    """Rows of units, columns of time; a cell is (number of the observation, colour, words)."""
    bottom = TOP + ROW * len(one.walks)
    canvas = Canvas(WIDTH, bottom + 36, title)
    across = _times(one.walks)
    horizontal_axis(canvas, across, bottom, TOP, lambda ticks: [logs.date_of(tick) for tick in ticks])
    every = max(1, math.ceil(len(one.walks) / LABELS_MOST))
    steps = [np.diff(walked.series.times) for walked in one.walks if len(walked.series.times) > 1]
    step = float(np.median(np.concatenate(steps))) if steps else 0.0
    span = across.high - across.low
    width = min(12.0, max(2.0, 0.85 * step / span * (RIGHT - LEFT))) if span else 12.0
    for row, (walked, marks) in enumerate(zip(one.walks, cells, strict=True)):
        y = TOP + ROW * row
        if row % every == 0:
            canvas.text(LEFT - 6, y + ROW - 1, walked.series.unit[-16:], anchor="end", class_="small")
        for index, fill, said in marks:
            time = float(walked.series.times[index])
            x = min(across(time), RIGHT - width)
            words = f"{walked.series.unit}, {logs.date_of(time)}: {said}"
            if walked.outlier[index]:
                cross = f"M{x:.1f} {y + 1}l{width:.1f} {ROW - 3}m0 -{ROW - 3}l-{width:.1f} {ROW - 3}"
                canvas.add("path", d=cross, stroke="var(--soft)", title=f"{words}, outlier")
            else:
                canvas.add("rect", x=x, y=y, width=width, height=ROW - 1, fill=fill, title=words)
    _changes(canvas, across, one.walks, TOP, bottom)
    legend = (("soft", "change of the protocol"), ("second", "change of the platform"))
    return Picture(title, finding, canvas.svg(), legend)


def _changes(canvas: Canvas, across: Axis, walks: Sequence[Walk], top: float, bottom: float) -> None:
    """Vertical lines, each through the rows that it concerns."""
    height = (bottom - top) / len(walks)
    for row, walked in enumerate(walks):
        for change in walked.changes:
            if across.low <= change.time <= across.high:
                colour = "soft" if change.is_of_protocol else "second"
                x, y = across(change.time), top + height * row
                said = f"{logs.date_of(change.time)}: {change.description}"
                style = f"stroke:var(--{colour});stroke-width:2"
                canvas.add("line", x1=x, y1=y, x2=x, y2=y + height, style=style, title=said)


def _times(walks: Sequence[Walk]) -> Axis:
    times = np.concatenate([walked.series.times for walked in walks])
    low, high = float(times.min()), float(times.max())
    return Axis(low, high if high > low else low + logs.DAY_S, LEFT, RIGHT)


def _numbers(ticks: Sequence[float]) -> list[str]:
    return [f"{tick:.6g}" for tick in ticks]
