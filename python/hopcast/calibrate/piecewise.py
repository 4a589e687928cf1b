"""Breakpoints of a time that is piecewise linear in a size, learned from measurements.

    y ≈ a_i + b_i x   for B_i < x ≤ B_{i+1},   a_i, b_i ≥ 0,   residuals in ln y

Three learners: `top-down` splits a range where that lowers the objective most, and both parts again;
`bottom-up` begins with ranges of a few points and merges the two neighbours whose fusion costs least;
`both` does both, moves each breakpoint to its best place between its neighbours, and takes the better. Two
objectives, S points, N breakpoints, K = 4 N + 3 parameters:

    program   K ln S + S Σ r²      a change must win by more than |log2 ε²|, ε the least y
    noise     K ln S + Σ r² / σ²   σ: scatter of neighbouring sizes, at least the error of a size's mean and
                                   the accuracy that is wanted: a finer bend of the curve is no regime

`program` is what pycewise computes (Cornebize, thesis, 2021, 4.3.2; github.com/Ezibenroc/pycewise); the
formula printed there, K ln S + S ln Σ r², finds 10 breakpoints where its author sees 3. Its scale depends on
the number of points; that of `noise` does not.

Tried instead of own code, and why not: ruptures (PELT with a linear cost on times divided by themselves finds
the exact optimum of relative errors, but takes 9.5 s for 943 sizes, and lets slopes be negative); pwlf and
piecewise-regression (continuous lines only, and protocols jump).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hopcast.calibrate.lines import Line, log_line, log_lines

METHODS = ("both", "top-down", "bottom-up")
OBJECTIVES = ("noise", "program")
LEAST_POINTS = 5
"""Fewest distinct sizes of a range: a line through fewer says little of its own errors."""
ACCURACY = 0.05
"""Accuracy that is wanted of a regime's line: how far it may miss before another regime pays."""
CUTS_TRIED_FIRST = 64
"""Cuts of a range that are tried before those beside the best of them."""
PEAKS_REFINED = 4
WINDOW = 41
"""Neighbouring sizes that an estimate of the scatter takes."""
SCATTER_LEAST = 1e-4
"""Smallest relative scatter that is believed: below it are the digits of files of measurements."""


@dataclass(frozen=True)
class Segment:
    """A range of sizes with its line: above `above`, up to `up_to` (None: without end)."""

    above: float
    up_to: float | None
    points: int
    line: Line

    def scaled(self, factor: float) -> Segment:
        """The same of times that are so many times as long."""
        line = replace(self.line, intercept=factor * self.line.intercept, slope=factor * self.line.slope)
        return replace(self, line=line)


@dataclass(frozen=True)
class Piecewise:
    """A piecewise linear time; breakpoints are sizes that were measured, each the last of its range."""

    segments: tuple[Segment, ...]
    scatter: float
    """Standard deviation of ln y between neighbouring sizes, the median over all sizes."""

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Upper ends of all ranges but the last."""
        return tuple(segment.up_to for segment in self.segments if segment.up_to is not None)

    def scaled(self, factor: float) -> Piecewise:
        """Lines of times that are so many times as long."""
        return replace(self, segments=tuple(segment.scaled(factor) for segment in self.segments))

    def at(self, x: Sequence[float] | np.ndarray) -> np.ndarray:
        """Times of sizes."""
        places = np.searchsorted(self.breakpoints, x, side="left")
        intercepts = np.array([segment.line.intercept for segment in self.segments])
        slopes = np.array([segment.line.slope for segment in self.segments])
        return intercepts[places] + slopes[places] * np.asarray(x, float)


@dataclass(frozen=True)
class _Points:
    """Sorted measurements and the objective on them."""

    x: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    scatter: np.ndarray
    objective: str
    least: int

    @property
    def tolerance(self) -> float:
        return abs(np.log2(float(self.y.min()) ** 2)) if self.objective == "program" else 0.0

    def cost(self, residual: float | np.ndarray, segments: int, points: int) -> float | np.ndarray:
        """Objective of `segments` ranges that hold `points` measurements."""
        scale = points if self.objective == "program" else 1.0
        return (4 * segments - 1) * np.log(points) + scale * residual

    def residuals(self, starts: Sequence[int] | np.ndarray, ends: Sequence[int] | np.ndarray) -> np.ndarray:
        return log_lines(self.x, self.y, self.weights, np.asarray(starts), np.asarray(ends))[2]

    def cost_of(self, cuts: list[int]) -> float:
        """Objective of the ranges between cuts."""
        edges = [0, *cuts, len(self.x)]
        return float(self.cost(self.residuals(edges[:-1], edges[1:]).sum(), len(edges) - 1, len(self.x)))

    def ranges(self) -> list[int]:
        """Cuts into ranges of the fewest points."""
        count = max(1, len(self.x) // self.least)
        inner = [place * len(self.x) // count for place in range(1, count)]
        return [place for place in inner if self.x[place] > self.x[place - 1]]

    def cuts(self, start: int, end: int) -> np.ndarray:
        """Places where a range may be cut: between distinct sizes, with enough of them on each side."""
        places = np.arange(start + self.least, end - self.least + 1)
        return places[self.x[places] > self.x[places - 1]] if len(places) else places


def learn(
    x: Sequence[float] | np.ndarray,
    y: Sequence[float] | np.ndarray,
    *,
    errors: Sequence[float] | np.ndarray | None = None,
    method: str = "both",
    objective: str = "noise",
    accuracy: float = ACCURACY,
    least: int = LEAST_POINTS,
) -> Piecewise:
    """The piecewise line of the points; `errors` are relative standard errors of y, where they are known."""
    if method not in METHODS:
        raise ValueError(f"unknown method {method!r}; known: {', '.join(METHODS)}")
    points = _points(x, y, errors, objective, least, accuracy)
    found = []
    if method != "bottom-up":
        found.append(_split(points, 0, len(points.x)))
    if method != "top-down":
        found.append(_merge(points, points.ranges()))
    if method == "both":
        found = [_move(points, _merge(points, cuts)) for cuts in found]
    return _fitted(points, min(found, key=points.cost_of))


def fit(
    x: Sequence[float] | np.ndarray, y: Sequence[float] | np.ndarray, breakpoints: Sequence[float]
) -> Piecewise:
    """The lines between given breakpoints; ranges without any measurement are left out."""
    points = _points(x, y, None, "noise", 1, ACCURACY)
    cuts = sorted({int(place) for place in np.searchsorted(points.x, sorted(breakpoints), side="right")})
    return _fitted(points, [cut for cut in cuts if 0 < cut < len(points.x)])


def scatter_of(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Standard deviation of ln y around the line through both neighbours, at each size.

    A point between neighbours at the shares u and 1 − u of their distance has a residual of variance
    σ² (1 + u² + (1 − u)²). Of the squares of the nearest `WINDOW` sizes the median is 0.4549 σ² and the 90 %
    quantile 2.706 σ² for a normal variable; neither is moved by the few points beside breakpoints, and the
    larger of both estimates is taken, since the noise of times has heavy tails.
    """
    sizes, places, counts = np.unique(x, return_index=True, return_counts=True)
    if len(sizes) < 3:
        return np.full(len(x), SCATTER_LEAST)
    times = y[places]
    share = (sizes[1:-1] - sizes[:-2]) / (sizes[2:] - sizes[:-2])
    between = times[:-2] + share * (times[2:] - times[:-2])
    squares = np.log(times[1:-1] / between) ** 2 / (1 + share**2 + (1 - share) ** 2)
    width = min(WINDOW, len(squares))
    windows = np.lib.stride_tricks.sliding_window_view(squares, width)
    middle, high = np.median(windows, axis=1) / 0.4549, np.quantile(windows, 0.9, axis=1) / 2.706
    local = np.sqrt(np.maximum(middle, high))
    nearest = np.clip(np.arange(len(sizes)) - 1 - width // 2, 0, len(local) - 1)
    return np.maximum(np.repeat(local[nearest], counts), SCATTER_LEAST)


def _points(x, y, errors, objective: str, least: int, accuracy: float) -> _Points:
    if objective not in OBJECTIVES:
        raise ValueError(f"unknown objective {objective!r}; known: {', '.join(OBJECTIVES)}")
    order = np.argsort(np.asarray(x, float), kind="stable")
    x, y = np.asarray(x, float)[order], np.asarray(y, float)[order]
    if not len(x) or not (y > 0).all():
        raise ValueError("times must be there, and greater than zero")
    scatter = scatter_of(x, y)
    if errors is not None:
        scatter = np.maximum(scatter, np.asarray(errors, float)[order])
    program = objective == "program"
    weights = np.ones_like(x) if program else np.maximum(scatter, accuracy) ** -2
    return _Points(x, y, weights, scatter, objective, least)


def _best_cut(points: _Points, start: int, end: int) -> tuple[int, float] | None:
    """The cut of a range with the least residual of both parts; among many, a few are tried first."""
    cuts = points.cuts(start, end)
    if not len(cuts):
        return None

    def apart(some: np.ndarray) -> np.ndarray:
        return points.residuals(np.full(len(some), start), some) + points.residuals(
            some, np.full(len(some), end)
        )

    step = max(1, len(cuts) // CUTS_TRIED_FIRST)
    if step > 1:
        coarse = np.arange(0, len(cuts), step)
        peaks = coarse[np.argsort(apart(cuts[coarse]), kind="stable")[:PEAKS_REFINED]]
        near = np.unique(np.clip(peaks[:, None] + np.arange(-step, step + 1), 0, len(cuts) - 1))
        cuts = cuts[near]
    residuals = apart(cuts)
    best = int(np.argmin(residuals))
    return int(cuts[best]), float(residuals[best])


def _split(points: _Points, start: int, end: int) -> list[int]:
    """Top-down: the best cut of a range if it pays, and those of both parts."""
    found = _best_cut(points, start, end)
    if found is None:
        return []
    cut, apart = found
    whole = points.residuals([start], [end])[0]
    size = end - start if points.objective == "program" else len(points.x)
    if points.cost(apart, 2, size) + points.tolerance >= points.cost(whole, 1, size):
        return []
    return [*_split(points, start, cut), cut, *_split(points, cut, end)]


def _merge(points: _Points, cuts: list[int]) -> list[int]:
    """Bottom-up: fuses the neighbours that cost least, down to one range; keeps the best stage."""
    edges = [0, *cuts, len(points.x)]
    residuals = list(points.residuals(edges[:-1], edges[1:]))
    fused = list(points.residuals(edges[:-2], edges[2:])) if cuts else []
    best, best_cost = list(cuts), points.cost(sum(residuals), len(residuals), len(points.x))
    while fused:
        rises = [fused[i] - residuals[i] - residuals[i + 1] for i in range(len(fused))]
        place = int(np.argmin(rises))
        residuals[place : place + 2] = [fused.pop(place)]
        del edges[place + 1]
        near = [other for other in (place - 1, place) if 0 <= other < len(fused)]
        if near:
            renewed = points.residuals([edges[i] for i in near], [edges[i + 2] for i in near])
            for other, residual in zip(near, renewed, strict=True):
                fused[other] = residual
        cost = points.cost(sum(residuals), len(residuals), len(points.x))
        if cost <= best_cost + points.tolerance:
            best, best_cost = edges[1:-1], min(cost, best_cost)
    return best


def _move(points: _Points, cuts: list[int]) -> list[int]:
    """Moves each cut to its best place between its neighbours until none moves."""
    for _ in range(20):
        before = list(cuts)
        for number in range(len(cuts)):
            edges = [0, *cuts, len(points.x)]
            found = _best_cut(points, edges[number], edges[number + 2])
            if found is not None:
                cuts[number] = found[0]
        if cuts == before:
            break
    return cuts


def _fitted(points: _Points, cuts: list[int]) -> Piecewise:
    edges = [0, *cuts, len(points.x)]
    segments = []
    for start, end in itertools.pairwise(edges):
        line = log_line(points.x[start:end], points.y[start:end], points.weights[start:end])
        above = float(points.x[start - 1]) if start else 0.0
        up_to = float(points.x[end - 1]) if end < len(points.x) else None
        segments.append(Segment(above, up_to, end - start, line))
    return Piecewise(tuple(segments), float(np.median(points.scatter)))
