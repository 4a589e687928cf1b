"""Page about a fitted model: measured processors beside drawn ones, with ellipses, and the numbers of the
model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy import stats

from hopcast.cluster.draw import draw
from hopcast.cluster.fit import Observations
from hopcast.cluster.model import START_UP, ClusterModel, Kind
from hopcast.report import sheet, units
from hopcast.report.pictures.picture import Picture
from hopcast.report.svg import Axis, Canvas, horizontal_axis, vertical_axis

WIDTH, HEIGHT = 1080, 400
TOP, BOTTOM = 14, 360
PANELS = ((80, 520), (620, 1060))
"""Left and right edges of the panel of what was measured and of that of what is drawn."""
INSIDE = 0.95
POINTS = 90


def write(
    place: Path, model: ClusterModel, data: Observations, left_out: Sequence[str], seed: int = 1
) -> None:
    """Writes the page; `left_out` says what of the data was not fitted."""
    _, measured, _ = data.means()
    hosts = max(1, round(len(measured) / model.sockets))
    drawn = draw(model, hosts, seed=seed).values()
    first = model.terms[0]
    pictures = [_pair(model, measured, drawn, 0, other) for other in range(1, len(model.terms))]
    spread = math.sqrt(model.kinds[0].spatial[0, 0]) / model.kinds[0].mean[0]
    daily = math.sqrt(model.kinds[0].temporal[0, 0]) / model.kinds[0].mean[0]
    page = sheet.Sheet(
        f"Processors of {place.stem}",
        "hopcast cluster fit",
        [*pictures, *(_numbers(model, kind) for kind in model.kinds)],
        f"Processors differ in {first} by",
        units.percent(spread),
        f"One standard deviation, of {model.kinds[0].name}; from day to day a processor differs by "
        f"{units.percent(daily)}. Fitted to {model.source}.",
        list(left_out),
    )
    sheet.write(page, place)


def _named(term: str) -> str:
    return "start-up" if term == START_UP else term


def _pair(model: ClusterModel, measured: np.ndarray, drawn: np.ndarray, one: int, other: int) -> Picture:
    """Two coefficients of each processor, measured and drawn, on the same axes, with the ellipses of the
    kinds."""
    canvas = Canvas(WIDTH, HEIGHT, f"{_named(model.terms[one])} and {_named(model.terms[other])}")
    ellipses = [_ellipse(kind, one, other) for kind in model.kinds]
    points = np.vstack([measured[:, [one, other]], drawn[:, [one, other]], *ellipses])
    low, high = points.min(axis=0), points.max(axis=0)
    margin = 0.04 * np.where(high > low, high - low, np.abs(high) + 1e-300)
    low, high = low - margin, high + margin
    scales = [units.time_unit(float(end)) for end in high]
    for (left, right), values, colour in zip(PANELS, (measured, drawn), ("accent", "waiting"), strict=True):
        across = Axis(float(low[0]), float(high[0]), left, right)
        up = Axis(float(low[1]), float(high[1]), BOTTOM, TOP)
        horizontal_axis(canvas, across, BOTTOM, TOP, lambda ticks: _labels(ticks, scales[0]), about=5)
        vertical_axis(canvas, up, left, right, lambda ticks: _labels(ticks, scales[1]))
        canvas.text(
            (left + right) / 2, BOTTOM + 34, f"{_named(model.terms[one])} [{scales[0][1]}]", anchor="middle"
        )
        for x, y in values[:, [one, other]].tolist():
            canvas.add("circle", cx=across(x), cy=up(y), r=3.0, fill=f"var(--{colour})", fill_opacity=0.7)
        for ellipse in ellipses:
            path = "L".join(f"{across(x):.1f} {up(y):.1f}" for x, y in ellipse.tolist())
            canvas.add("path", d=f"M{path}Z", class_="frame", stroke="var(--soft)")
    correlation = [float(np.corrcoef(values[:, one], values[:, other])[0, 1]) for values in (measured, drawn)]
    finding = (
        f"{_named(model.terms[other])} [{scales[1][1]}] over {_named(model.terms[one])}: {len(measured)} "
        "measured "
        "processors, left, and "
        f"{len(drawn)} drawn ones. Correlation {correlation[0]:+.2f} and {correlation[1]:+.2f}; ellipses "
        "hold "
        f"{100 * INSIDE:.0f} % of a kind."
    )
    legend = (("accent", "measured, mean of the days"), ("waiting", "drawn"))
    return Picture(
        f"{_named(model.terms[one])} and {_named(model.terms[other])}", finding, canvas.svg(), legend
    )


def _ellipse(kind: Kind, one: int, other: int) -> np.ndarray:
    places = np.ix_([one, other], [one, other])
    values, vectors = np.linalg.eigh(kind.spatial[places])
    radius = math.sqrt(stats.chi2.ppf(INSIDE, 2))
    angles = np.linspace(0, 2 * np.pi, POINTS, endpoint=False)
    circle = radius * np.column_stack([np.cos(angles), np.sin(angles)])
    return kind.mean[[one, other]] + circle * np.sqrt(np.maximum(values, 0)) @ vectors.T


def _labels(ticks: Sequence[float], scale: tuple[float, str]) -> list[str]:
    return [f"{tick / scale[0]:.6g}" for tick in ticks]


def _numbers(model: ClusterModel, kind: Kind) -> sheet.Table:
    rows = []
    for number, term in enumerate(model.terms):
        mean = float(kind.mean[number])
        rows.append(
            (
                _named(term),
                units.seconds(mean),
                *(
                    units.percent(math.sqrt(matrix[number, number]) / abs(mean)) if mean else "–"
                    for matrix in (kind.spatial, kind.temporal)
                ),
            )
        )
    head = ("Term", "mean", "between processors", "between days")
    return sheet.Table(f"Kind '{kind.name}'", "Relative standard deviations.", head, rows)
