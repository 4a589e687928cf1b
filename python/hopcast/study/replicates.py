"""Prediction intervals: one run repeated while what is uncertain about it varies.

All sources of uncertainty vary together in n replicates. The interval is that of [0.05, 0.95] (n+1) among
their times in order, in proportion between neighbours: a further draw of the same distribution lies as
likely in any of the n+1 gaps that n make, so that 90 % of what comes is held (Weibull 1939). Below 19
replicates, the interval from the least to the largest holds (n−1)/(n+1), and is said to.

Then each of k sources varies alone in n more, with the draws that it had before, and everything else as
it is: n (k+1) runs, of which equal ones are run once. The share of a source is the variance that it makes
alone over that of all together. What is left, or, if the parts make more than the whole, their sum over
it, is interaction and chance: a variance of n numbers is known to a factor of 1 ± √(2/(n−1)).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hopcast import scratch
from hopcast.errors import InputError, ProgramFailure
from hopcast.experiment import engine
from hopcast.experiment.pieces import DONE, Piece, Result, Work
from hopcast.experiment.progress import PiecesProgress
from hopcast.experiment.runners import Runner
from hopcast.experiment.stopping import Stop
from hopcast.experiment.store import opened
from hopcast.report import units
from hopcast.request import RunRequest
from hopcast.study.uncertainty import Clusters, Setting, Source, sources

CONFIDENCE = 0.9
REST = "interactions and chance"


@dataclass(frozen=True)
class Part:
    """Spread of the prediction that one source of uncertainty makes, varied alone."""

    name: str
    words: str
    share: float
    """Share of the variance."""
    deviation_s: float
    low_s: float
    high_s: float
    makespans_s: tuple[float, ...]


@dataclass(frozen=True)
class Replicates:
    """Predicted times of a run and its replicates."""

    makespans_s: tuple[float, ...]
    median_s: float
    low_s: float
    high_s: float
    deviation_s: float
    sources: tuple[Part, ...]
    """The largest first."""
    rest: float
    """Share of the variance that no source makes alone."""

    @property
    def confidence(self) -> float:
        """Share of what comes that the interval holds."""
        return confidence(len(self.makespans_s))

    def lines(self) -> list[str]:
        """The prediction in words."""
        count = len(self.makespans_s)
        if min(self.makespans_s) == max(self.makespans_s):
            return [
                f"{units.seconds(self.median_s)} in all {count} replicates: nothing in this run is random"
            ]
        said = ", ".join(f"{part.name} {units.percent(part.share)}" for part in self.sources)
        if self.rest > 0:
            said += f", {REST} {units.percent(self.rest)}"
        lines = [f"{self.interval()} ({count} replicates)", f"Sources of the variance: {said}"]
        return lines + [f"{part.name}: {part.words}" for part in self.sources]

    def interval(self) -> str:
        """Median and interval in words."""
        scale, unit = units.time_unit(self.median_s)
        # Two digits of the interval's width at the least.
        width = (self.high_s - self.low_s) / self.high_s
        digits = 3 if width >= 0.05 or width == 0 else min(12, 2 - math.floor(math.log10(width)))
        low, high = (units.digits(end / scale, digits) for end in (self.low_s, self.high_s))
        text = (
            f"{units.seconds(self.median_s, digits)}, {self.confidence:.0%} between {low} and {high} {unit}"
        )
        return text.replace("%", " %", 1)


def confidence(count: int) -> float:
    """Share of further draws that the interval of so many holds, as far as that is 90 %."""
    return min(CONFIDENCE, (count - 1) / (count + 1))


def interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Lower end, median and upper end of the interval of these draws."""
    import numpy

    places = [0.5 - CONFIDENCE / 2, 0.5, 0.5 + CONFIDENCE / 2]
    low, median, high = numpy.quantile(values, places, method="weibull")
    return float(low), float(median), float(high)


def predict(
    request: RunRequest,
    count: int,
    spreads: Mapping[str, float],
    runner: Runner,
    *,
    cluster: Path | None = None,
    vary: Sequence[str] = (),
    quiet: bool = True,
) -> Replicates:
    """Runs replicates of a request. Raises `InputError` or `ProgramFailure` for one that fails, and
    `KeyboardInterrupt` if stopped.

    spreads: relative standard deviations of values of the platform, by key.
    cluster: model of processors, of which each replicate draws others.
    vary: names of the sources that vary; empty for all that the run has.
    """
    if request.function is not None:
        raise InputError("replicates run in processes of their own: name a file instead of a function")
    with scratch.folder() as folder:
        clusters = None if cluster is None else Clusters(cluster, request, folder)
        found = sources(request, spreads, clusters, vary)
        groups = [found, *([source] for source in found if len(found) > 1)]
        settings = [_setting(request, group, number) for group in groups for number in range(count)]
        pieces = [_piece(request, clusters, setting, number) for number, setting in enumerate(settings)]
        runs = _makespans(pieces, request, runner, folder, quiet)
        makespans = [setting.factor * run for setting, run in zip(settings, runs, strict=True)]
    rows = [tuple(makespans[first : first + count]) for first in range(0, len(makespans), count)]
    return _split(found, rows)


def _setting(request: RunRequest, group: Sequence[Source], number: int) -> Setting:
    """Setting of a replicate in which some sources vary."""
    seed = request.option("seed")
    setting = Setting(seed, cluster=seed)
    for source in group:
        setting = source.varied(setting, number)
    return setting


def _piece(request: RunRequest, clusters: Clusters | None, setting: Setting, number: int) -> Piece:
    """The run of a setting."""
    overrides = dict(setting.overrides)
    if clusters is not None:
        overrides |= clusters.overrides(setting)
    changed = replace(request, directory=None).changed(seed=setting.seed, set=overrides)
    fields = {key: value for key, value in changed.fields().items() if key not in ("out", "made_by")}
    return Piece(number, {}, {"request": fields})


def _makespans(
    pieces: Sequence[Piece], request: RunRequest, runner: Runner, folder: Path, quiet: bool
) -> list[float]:
    work = Work("hopcast.study.run_cell:run", request.directory or str(Path.cwd()))
    progress = PiecesProgress("replicate", len({piece.key for piece in pieces}), 0, enabled=not quiet)

    def told(piece: Piece, result: Result) -> None:
        if result.state != DONE:
            raise (ProgramFailure if result.by_program else InputError)(f"a replicate failed: {result.why}")
        progress(piece, result)

    try:
        with Stop() as stop, opened(folder) as store:
            results = engine.run(pieces, lambda tasks: runner.run(work, tasks, stop), store, told, stop)
        if stop:
            raise KeyboardInterrupt
    finally:
        progress.close()
    return [results[piece.key].values["makespan_s"] for piece in pieces]


def _split(found: Sequence[Source], rows: Sequence[tuple[float, ...]]) -> Replicates:
    """The interval of the first row, and the parts of the sources by the others."""
    import numpy

    together, alone = rows[0], rows[1:] or rows[:1]
    variances = [_variance(row) for row in alone]
    whole = max(_variance(together), sum(variances))
    parts = []
    for source, row, variance in zip(found, alone, variances, strict=True):
        low, _, high = interval(row)
        share = variance / whole if whole else 0.0
        parts.append(Part(source.name, source.words, share, variance**0.5, low, high, row))
    low, median, high = interval(together)
    rest = max(0.0, 1 - sum(part.share for part in parts)) if whole else 0.0
    parts.sort(key=lambda part: -part.share)
    deviation = float(numpy.sqrt(_variance(together)))
    return Replicates(together, median, low, high, deviation, tuple(parts), rest if rest > 1e-9 else 0.0)


def _variance(values: Sequence[float]) -> float:
    import numpy

    return float(numpy.var(values, ddof=1)) if min(values) < max(values) else 0.0
