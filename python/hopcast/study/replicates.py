"""Prediction intervals: one run repeated with other seeds, and with other values of what is uncertain.

Each replicate has a seed of its own, and each uncertain value of the platform is drawn from a normal
distribution around what the platform says, independently of the others. The interval holds the central 90 %
of the predicted times. The share of a value is the square of its correlation with the predicted time, which
is the share of the variance that it explains where the time is linear in it; the rest is that of the seeds
and of what is not linear. Correlations of n replicates are known to about 1/√n.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hopcast import core
from hopcast.errors import InputError
from hopcast.experiment.pieces import DONE, Piece, Work
from hopcast.experiment.runners import Runner
from hopcast.experiment.stopping import Stop
from hopcast.report import units
from hopcast.request import RunRequest
from hopcast.toml import tomllib

CONFIDENCE = 0.9
SEEDS = "seeds and the rest"
_QUANTITY = re.compile(r"([-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)(.*)", re.S)


@dataclass(frozen=True)
class Replicates:
    """Predicted times of a run and its replicates."""

    makespans_s: tuple[float, ...]
    median_s: float
    low_s: float
    high_s: float
    shares: Mapping[str, float]
    """Share of the variance by source; empty where nothing varies."""

    def lines(self) -> list[str]:
        """The prediction in words."""
        count = len(self.makespans_s)
        if self.low_s == self.high_s:
            return [
                f"{units.seconds(self.median_s)} in all {count} replicates: nothing in this run is random"
            ]
        scale, unit = units.time_unit(self.median_s)
        low, high = (units.digits(end / scale, 3) for end in (self.low_s, self.high_s))
        text = f"{units.seconds(self.median_s, 3)}, {CONFIDENCE:.0%} between {low} and {high} {unit}"
        sources = ", ".join(f"{name} {units.percent(share)}" for name, share in self.shares.items())
        return [f"{text.replace('%', ' %', 1)} ({count} replicates)", f"Sources of the variance: {sources}"]


def predict(request: RunRequest, count: int, spreads: Mapping[str, float], runner: Runner) -> Replicates:
    """Runs replicates of a request. Raises `InputError` for one that fails, `KeyboardInterrupt` if stopped.

    spreads: relative standard deviations of values of the platform, by key.
    """
    import numpy

    if request.function is not None:
        raise InputError("replicates run in processes of their own: name a file instead of a function")
    drawn = {key: _draws(request, key, spread, count) for key, spread in spreads.items()}
    first = request.option("seed")
    pieces = []
    for number in range(count):
        changed = replace(request, directory=None).changed(
            seed=first + number, set={key: values[number][0] for key, values in drawn.items()}
        )
        fields = {key: value for key, value in changed.fields().items() if key not in ("out", "made_by")}
        pieces.append(Piece(number, {}, {"request": fields}))
    makespans = _makespans(
        pieces, Work("hopcast.study.run_cell:run", request.directory or str(Path.cwd())), runner
    )
    low, median, high = numpy.quantile(makespans, [0.5 - CONFIDENCE / 2, 0.5, 0.5 + CONFIDENCE / 2])
    numbers = {key: [number for _, number in values] for key, values in drawn.items()}
    return Replicates(tuple(makespans), float(median), float(low), float(high), _shares(makespans, numbers))


def _makespans(pieces: Sequence[Piece], work: Work, runner: Runner) -> list[float]:
    results = {}
    with Stop() as stop:
        for key, result in runner.run(work, {piece.key: piece.inputs for piece in pieces}, stop):
            if result.state != DONE:
                raise InputError(f"a replicate failed: {result.why}")
            results[key] = result.values["makespan_s"]
    if stop:
        raise KeyboardInterrupt
    return [results[piece.key] for piece in pieces]


def _draws(request: RunRequest, key: str, spread: float, count: int) -> list[tuple[str, float]]:
    """Values of the platform for each replicate, as texts and as multiples of what it says."""
    import numpy

    number, unit = _value(request, key)
    # A stream of its own for each key: to add one leaves the others as they are.
    stream = numpy.random.default_rng([request.option("seed"), *key.encode()])
    drawn: list[tuple[str, float]] = []
    while len(drawn) < count:
        factor = float(1 + spread * stream.standard_normal())
        if factor > 0:
            drawn.append((f"{number * factor:.12g}{unit}", factor))
    return drawn


def _value(request: RunRequest, key: str) -> tuple[float, str]:
    """Number and unit of a value of the platform."""
    if not isinstance(request.platform, str):
        raise InputError(f"--uncertain {key}: the platform must be a preset or a file")
    overrides = tuple(f"{name}={value}" for name, value in request.options.get("set", {}).items())
    value: Any = tomllib.loads(core.platform_text(request.platform, overrides, True))
    for part in key.replace("[", ".").replace("]", "").split("."):
        try:
            value = value[int(part)] if isinstance(value, list) else value[part]
        except (KeyError, IndexError, ValueError, TypeError):
            raise InputError(f"--uncertain {key}: the platform has no such value") from None
    found = _QUANTITY.fullmatch(str(value))
    if isinstance(value, bool) or found is None:
        raise InputError(f"--uncertain {key}: {value!r} is no quantity")
    return float(found[1]), found[2]


def _shares(makespans: Sequence[float], drawn: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Shares of the variance by source, the largest first, the seeds' last."""
    import numpy

    if len(makespans) < 2 or min(makespans) == max(makespans):
        return {}
    found = {key: float(numpy.corrcoef(values, makespans)[0, 1] ** 2) for key, values in drawn.items()}
    whole = sum(found.values())
    if whole > 1:  # by chance, of few replicates
        found = {key: share / whole for key, share in found.items()}
    ordered = dict(sorted(found.items(), key=lambda item: -item[1]))
    return {**ordered, SEEDS: max(0.0, 1 - sum(ordered.values()))}


def spreads_of(texts: Sequence[str]) -> dict[str, float]:
    """Relative deviations of `KEY=5%`."""
    found = {}
    for text in texts:
        key, equals, value = text.partition("=")
        try:
            share = float(value.strip().removesuffix("%")) / 100
        except ValueError:
            share = -1.0
        if not equals or not value.strip().endswith("%") or not 0 < share < 1:
            raise InputError(f"--uncertain {text}: write section.key=5%, a standard deviation below 100 %")
        found[key.strip()] = share
    return found
