"""Real and simulated archives of one experiment side by side, point by point.

A point is a set of parameters; its repetitions, and the rows that a piece has for each, are measurements of
it. The real side has a median with its bootstrap interval; the simulated one is its prediction. In the real
side a trend over the order of the measurements, and too few or too many runs about the median, are looked
for.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from hopcast.errors import InputError
from hopcast.experiment import archive
from hopcast.experiment.files import MEASUREMENT, REPETITION
from hopcast.experiment.pieces import DONE
from hopcast.report import units
from hopcast.report.pictures.picture import Picture
from hopcast.report.svg import Axis, Canvas, horizontal_axis, vertical_axis

CONFIDENCE = 0.9
NUMBERING = (REPETITION, MEASUREMENT)
"""Columns that number measurements of one point."""


@dataclass(frozen=True)
class Point:
    """One set of parameters."""

    parameters: Mapping[str, Any]
    real: tuple[float, ...]
    simulated: tuple[float, ...]
    interval: tuple[float, float]
    """Bootstrap interval of the real median; nan for one measurement."""

    @property
    def error(self) -> float:
        """Relative error of the prediction."""
        return median(self.simulated) / median(self.real) - 1

    @property
    def is_within(self) -> bool:
        """True if the prediction lies within the real interval."""
        return self.interval[0] <= median(self.simulated) <= self.interval[1]


@dataclass(frozen=True)
class Comparison:
    """All points that both archives have."""

    response: str
    points: tuple[Point, ...]
    findings: tuple[str, ...]
    """Points that only one has, other experiment files, and order effects of the real one."""

    def median_error(self) -> float:
        """Median of the absolute relative errors."""
        return median(abs(point.error) for point in self.points)


def compare(real: Path, simulated: Path, response: str | None = None) -> Comparison:
    """Compares two archives by a column of results: the first number that both have, if none is named."""
    sides = [archive.read(file) for file in (real, simulated)]
    rows = [[row for row in table if row["state"] == DONE] for _, table in sides]
    if not rows[0] or not rows[1]:
        raise InputError(f"{real if not rows[0] else simulated}: has no piece that is done")
    names = [_columns(table) for table in rows]
    parameters = _parameters(real) or names[0][: names[0].index("state")]
    chosen = response or _response(rows, parameters)
    for file, found in zip((real, simulated), names, strict=True):
        if chosen not in found:
            raise InputError(f"{file}: has no column '{chosen}'; columns: {', '.join(found)}")
    keys = [name for name in parameters if name not in ("piece", *NUMBERING)]
    values = [_by_point(table, keys, chosen) for table in rows]
    points = [
        Point(dict(zip(keys, key, strict=True)), tuple(found), tuple(values[1][key]), _interval(found))
        for key, found in values[0].items()
        if key in values[1]
    ]
    if not points:
        raise InputError(f"{real} and {simulated} have no point in common of {', '.join(keys)}")
    findings = _differences(sides[0][0], sides[1][0], values, len(points))
    return Comparison(
        chosen, tuple(points), (*findings, *_order(rows[0], keys, chosen), *_modes(points, chosen))
    )


def _columns(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return [name for name in rows[0] if name != "piece"]


def _parameters(file: Path) -> list[str]:
    """Columns of the experiment file within an archive."""
    import zipfile

    with zipfile.ZipFile(file) as opened:
        if archive.PIECES not in opened.namelist():
            return []
        return next(csv.reader(io.StringIO(opened.read(archive.PIECES).decode())))


def _response(rows: Sequence[Sequence[Mapping[str, Any]]], parameters: Sequence[str]) -> str:
    for name in _columns(rows[0]):
        is_result = name not in (*parameters, "state", "why", *NUMBERING)
        if is_result and all(isinstance(row.get(name), (int, float)) for table in rows for row in table):
            return name
    raise InputError("the archives have no numbers in common: name a column of results")


def _by_point(
    rows: Sequence[Mapping[str, Any]], keys: Sequence[str], response: str
) -> dict[tuple[Any, ...], list[float]]:
    found: dict[tuple[Any, ...], list[float]] = {}
    for row in rows:
        if not isinstance(row[response], (int, float)) or not 0 < row[response] < math.inf:
            raise InputError(f"piece {row['piece']}: {response} = {row[response]!r} is no number above 0")
        found.setdefault(tuple(row[key] for key in keys), []).append(float(row[response]))
    return found


def _interval(values: Sequence[float]) -> tuple[float, float]:
    import numpy

    from hopcast.statistics.intervals import bootstrap

    found = bootstrap(values, numpy.median, confidence=CONFIDENCE)
    return found.low, found.high


def _differences(
    real: Mapping[str, Any], simulated: Mapping[str, Any], values: Sequence[Mapping], common: int
) -> list[str]:
    findings = []
    for name in ("experiment_sha256", "pieces_sha256"):
        if real.get(name) != simulated.get(name):
            findings.append(
                f"the two have other {'scripts' if name.startswith('exp') else 'experiment files'}"
            )
    for word, table in zip(("real", "simulated"), values, strict=True):
        if len(table) > common:
            findings.append(f"{len(table) - common} points are only in the {word} archive")
    return findings


def _order(rows: Sequence[Mapping[str, Any]], keys: Sequence[str], response: str) -> list[str]:
    """Findings about the order of the real measurements, each over the median of its point."""
    medians = {key: median(found) for key, found in _by_point(rows, keys, response).items()}
    series = [float(row[response]) / medians[tuple(row[key] for key in keys)] for row in rows]
    varied = [value for value in series if value != 1]
    if len(varied) < 10:
        return []
    from hopcast.statistics.order import drift, runs

    findings = []
    for name, test in (("drift over time", drift), ("an effect of the order (runs test)", runs)):
        if (p := test(varied).p_value) < 0.01:
            findings.append(f"the real measurements show {name}: p = {p:.2g}")
    return findings


MODES_FROM = 20
"""Fewest measurements of a point whose modes are looked for."""


def _modes(points: Sequence[Point], response: str) -> list[str]:
    """Finding about points whose real measurements gather at several values."""
    from hopcast.statistics import modes

    several = []
    for point in points:
        if len(point.real) >= MODES_FROM:
            found = modes.find(point.real, significance=0.01).modes
            if len(found) > 1:
                several.append((point, found))
    if not several:
        return []
    point, found = several[0]
    places = " and ".join(f"{_text(mode.at, response)} ({mode.share:.0%})" for mode in found)
    name = ", ".join(f"{key}={value}" for key, value in point.parameters.items())
    count = "1 point has" if len(several) == 1 else f"{len(several)} points have"
    return [
        f"{count} real measurements at several values, between which a median may lie: "
        f"{name or 'the only one'}: {places.replace('%', ' %')}"
    ]


def lines(comparison: Comparison) -> list[str]:
    """The comparison in words, a line for each point."""
    shown = [("", "real", f"{CONFIDENCE:.0%} between".replace("%", " %"), "simulated", "error")]
    for point in comparison.points:
        low, high = (_text(end, comparison.response) for end in point.interval)
        name = ", ".join(f"{key}={value}" for key, value in point.parameters.items())
        between = "—" if math.isnan(point.interval[0]) else f"{low} and {high}"
        texts = [_text(median(side), comparison.response) for side in (point.real, point.simulated)]
        shown.append((name, texts[0], between, texts[1], f"{100 * point.error:+.1f} %"))
    widths = [max(len(line[column]) for line in shown) for column in range(5)]
    table = [
        "  ".join(
            [
                line[0].ljust(widths[0]),
                *(text.rjust(width) for text, width in zip(line[1:], widths[1:], strict=True)),
            ]
        )
        for line in shown
    ]
    known = [point for point in comparison.points if not math.isnan(point.interval[0])]
    within = (
        f", {sum(point.is_within for point in known)} of {len(known)} within the interval" if known else ""
    )
    return [*table, f"{comparison.response}: median error {units.percent(comparison.median_error())}{within}"]


def _text(value: float, response: str) -> str:
    return units.seconds(value) if response.endswith("_s") else units.digits(value)


def picture(comparison: Comparison) -> Picture:
    """Predictions over measurements, with the real intervals."""
    canvas = Canvas(1080, 420, "Simulated by real")
    values = [value for point in comparison.points for value in (*point.real, *point.simulated)]
    low, high = min(values) / 1.1, max(values) * 1.1
    across, up = Axis(low, high, 90, 1060, True), Axis(low, high, 370, 14, True)
    label = (
        (lambda ticks: [units.exact_seconds(tick) for tick in ticks])
        if comparison.response.endswith("_s")
        else None
    )
    write = label or (lambda ticks: [units.tick(tick) for tick in ticks])
    horizontal_axis(canvas, across, 370, 14, write)
    vertical_axis(canvas, up, 90, 1060, write)
    canvas.line(across(low), up(low), across(high), up(high), "frame")
    for point in comparison.points:
        x, y = across(median(point.real)), up(median(point.simulated))
        if not math.isnan(point.interval[0]):
            start, end = (across(value) for value in point.interval)
            canvas.bar(start, y - 1.5, max(1.0, end - start), 3.0, "accent", fill_opacity=0.3)
        name = ", ".join(f"{key}={value}" for key, value in point.parameters.items())
        canvas.add(
            "circle", title=f"{name}: {100 * point.error:+.1f} %", cx=x, cy=y, r=4, fill="var(--accent)"
        )
    finding = (
        f"Points are medians; on the line they agree. Bars: {CONFIDENCE:.0%} intervals of the real median. "
        f"Median error {units.percent(comparison.median_error())}."
    )
    return Picture(f"{comparison.response}: simulated (up) by real (across)", finding, canvas.svg())
