"""The test along a series: each observation, and each window of the last r, beside what came before.

- The reference is all observations since the last change that concerns the series, without outliers, before
  the first one that is judged.
- The first `keep` after a change are still judged by the reference before it, so that a change shows its
  effect.
- There is no judgement with fewer than `least` observations, or hardly more than values, nor of outliers, nor
  of windows that reach over a change.

Source: Cornebize, thesis, 2021, chapter 9; github.com/Ezibenroc/cashew, non_regression_tests.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hopcast.regress import chew
from hopcast.regress.logs import Change, Outlier

WINDOW = 5


@dataclass(frozen=True)
class Series:
    """Observations of one unit, in order of time."""

    cluster: str
    node: str
    unit: str
    """Name in tables: node and processor, or a benchmark."""
    factors: tuple[str, ...]
    times: np.ndarray
    jobs: tuple[str, ...]
    values: np.ndarray
    """Rows of the factors' values."""


@dataclass(frozen=True)
class Settings:
    """Parameters of the test."""

    confidence: float = chew.CONFIDENCE
    windows: tuple[int, ...] = (1, WINDOW)
    """Numbers r of observations that are judged together."""
    least: int = 8
    """Fewest observations of a reference."""
    keep: int = 3
    """Observations after a change that are judged by the reference before it."""


@dataclass(frozen=True)
class Judgement:
    """An observation, or the window that ends with it."""

    index: int
    """Number of the observation in its series."""
    r: int
    count: int
    """Observations of the reference."""
    reference: np.ndarray
    mean: np.ndarray
    likelihood: float
    alarm: bool
    low: float
    """Ends of the interval, for one factor; nan for several."""
    high: float

    @property
    def sign(self) -> float:
        """+1 where the first factor is above its reference, -1 below."""
        return float(np.sign(self.mean[0] - self.reference[0]))

    @property
    def relative(self) -> float:
        """Relative change of the first factor: above 0 where it grew, also from a value below 0."""
        before = float(self.reference[0])
        return float(self.mean[0] - before) / abs(before) if before else float("nan")


@dataclass(frozen=True)
class Walk:
    """A series that was judged."""

    series: Series
    outlier: np.ndarray
    """True for observations that are set aside."""
    changes: tuple[Change, ...]
    """Changes that concern the series."""
    judgements: dict[int, tuple[Judgement, ...]]
    """By r, in order of time."""

    def last(self, r: int) -> Judgement | None:
        """Judgement of the newest observation; none where it has no reference."""
        newest = np.flatnonzero(~self.outlier)
        found = self.judgements[r]
        return found[-1] if found and len(newest) and found[-1].index == newest[-1] else None


def walk(
    series: Series,
    settings: Settings,
    changes: Sequence[Change] = (),
    outliers: Sequence[Outlier] = (),
    since: float | None = float("-inf"),
) -> Walk:
    """Judges the observations of a series since a time; None: the newest one, and others of its time."""
    concerned = tuple(change for change in changes if change.is_about(series.cluster, series.node))
    marks = [outlier for outlier in outliers if outlier.is_about(series.cluster, series.node)]
    aside = np.array(
        [
            any(mark.holds(time, job) for mark in marks)
            for time, job in zip(series.times.tolist(), series.jobs, strict=True)
        ],
        bool,
    )
    starts = np.unique([change.time for change in concerned])
    phases = np.searchsorted(starts, series.times, side="right")
    if since is None:
        since = float(series.times[~aside].max()) if not aside.all() else float("inf")
    judged = {r: tuple(_judgements(series, settings, r, phases, aside, since)) for r in settings.windows}
    return Walk(series, aside, concerned, judged)


def _judgements(
    series: Series, settings: Settings, r: int, phases: np.ndarray, aside: np.ndarray, since: float
) -> Iterator[Judgement]:
    by_phase: dict[int, list[int]] = {}
    earlier: list[int] = []
    for index in np.flatnonzero(~aside).tolist():
        phase = int(phases[index])
        if phase not in by_phase:
            # Of phases without observations, the last one that has some is the one before.
            earlier = by_phase[max(by_phase)] if by_phase else []
            by_phase[phase] = []
        mine = by_phase[phase]
        mine.append(index)
        start = len(mine) - r
        if start < 0 or series.times[index] < since:
            continue
        past = earlier if start < settings.keep and earlier else mine[:start]
        if len(past) < max(settings.least, series.values.shape[1] + 2):
            continue
        yield _judge(series, settings, r, past, mine[start:])


def _judge(series: Series, settings: Settings, r: int, past: list[int], window: list[int]) -> Judgement:
    known = chew.reference(series.values[past])
    mean = series.values[window].mean(axis=0)
    t = chew.statistic(known, mean, r)
    ends = chew.interval(known, r, settings.confidence) if known.size == 1 else (np.nan, np.nan)
    return Judgement(
        window[-1],
        r,
        known.count,
        known.mean,
        mean,
        chew.likelihood(known, t),
        t >= chew.threshold(known, settings.confidence),
        *ends,
    )
