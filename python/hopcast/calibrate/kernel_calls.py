"""Calls of a kernel, CSV with a header and a line for each call; and the fit to them.

Columns are the arguments of the function, `duration` or `seconds`, and any others, such as node and
processor, by which calls can be chosen or kept apart. Where a column `processor_s` has the processor's time
of a call, that is the call's time if it is less: other programs had the core for the rest.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hopcast.calibrate import kernel_noise, kernels
from hopcast.calibrate.accuracy import Accuracy, accuracy, percent
from hopcast.calibrate.kernels import Model, Sizes
from hopcast.calibrate.mixtures import Mixture
from hopcast.calibrate.tables import DURATION, opened
from hopcast.errors import InputError

PROCESSOR = "processor_s"
"""Column of the processor's time of a call."""
WAITED_MOST = 0.02
"""Share of the durations without a processor from which on a machine counts as busy with other programs."""
SIZES_FEW = 5
"""Sizes from which on models can be told apart."""
RANKS_AGREE = 0.8
"""Correlation of the ranks of sizes and times from which on they count as falling together."""
POOR = 0.25
"""Median error of a fit at its own sizes from which on it is doubted."""
MODES_CALLS_LEAST = 50
"""Fewest calls of which modes are looked for."""


@dataclass(frozen=True)
class Calls:
    """Single calls of one group."""

    arguments: Mapping[str, np.ndarray]
    seconds: np.ndarray
    waited: float = 0.0
    """Share of the durations in which the calls had no processor, which is not in `seconds`."""
    left_out: int = 0
    """Further calls, without a finite argument or a time of zero or more."""

    def single(self) -> Sizes:
        """Each call as a size of its own."""
        count = len(self.seconds)
        return Sizes(self.arguments, self.seconds, np.full(count, np.nan), np.ones(count, int))

    def where(self, mask: np.ndarray) -> Calls:
        """The calls of a mask."""
        arguments = {name: values[mask] for name, values in self.arguments.items()}
        return Calls(arguments, self.seconds[mask], self.waited, self.left_out)


@dataclass(frozen=True)
class KernelFit:
    """Models of one group of calls."""

    group: str
    calls: int
    sizes: Sizes
    model: Model
    held_back: Mapping[str, tuple[Accuracy, Accuracy]]
    deviation: Model | None
    """N-2, where sizes were repeated."""
    constant_deviation_s: float
    """N-1."""
    mixture: Mixture | None
    """N′, of residuals relative to the usual time, where several modes show."""
    usual: Model
    """The chosen model of medians, which rare slow calls do not move."""
    noises: Mapping[str, float]
    """Criterion of each noise that was fitted; none where no size was repeated."""
    findings: tuple[str, ...]


def read(
    place: Path, arguments: Sequence[str], by: Sequence[str] = (), where: Mapping[str, str] | None = None
) -> dict[str, Calls]:
    """Calls by group: the values of the columns `by`."""
    with opened(place) as file:
        try:
            rows = list(csv.DictReader(file))
        except csv.Error as error:
            raise InputError(f"{place}: no CSV: {error}") from None
    if not rows:
        raise InputError(f"{place}: no call: nothing to fit")
    duration = next((name for name in DURATION if name in rows[0]), DURATION[0])
    for column in (*arguments, *by, *(where or {}), duration):
        if column not in rows[0]:
            raise InputError(f"{place}: no column '{column}'; columns: {', '.join(map(str, rows[0]))[:200]}")
    row_processor = PROCESSOR if PROCESSOR in rows[0] else duration
    groups: dict[str, list[list[float]]] = {}
    where = where or {}
    for number, row in enumerate(rows, 2):
        if any(row[column] != value for column, value in where.items()):
            continue
        try:
            values = [float(row[column]) for column in (*arguments, duration, row_processor)]
        except (TypeError, ValueError):
            raise InputError(f"{place}:{number}: not numbers: {list(row.values())}") from None
        groups.setdefault(", ".join(f"{column} {row[column]}" for column in by), []).append(values)
    if not groups:
        raise InputError(
            f"{place}: no call with {', '.join(f'{key}={value}' for key, value in where.items())}"
        )
    found = {}
    for name, rows_of_group in groups.items():
        table = np.array(rows_of_group)
        good = np.isfinite(table).all(axis=1) & (table[:, -2:] >= 0).all(axis=1)
        *columns, durations, processor = table[good].T
        seconds = np.minimum(durations, processor)
        waited = 1 - seconds.sum() / durations.sum() if durations.sum() > 0 else 0.0
        left_out = int((~good).sum())
        found[name] = Calls(dict(zip(arguments, columns, strict=True)), seconds, waited, left_out)
    return found


def fit(group: str, calls: Calls) -> KernelFit:
    """The chosen mean and its noise."""
    findings = []
    if calls.waited > WAITED_MOST:
        findings.append(
            f"the machine was busy: other programs had the processors for {percent(calls.waited)} of the "
            "calls' time, which the fit leaves out; caches and memory were shared with them, too: measure "
            "again when nothing else runs"
        )
    if calls.left_out:
        findings.append(f"{calls.left_out} calls without a valid size or time: they are left out")
    if not len(calls.seconds):
        raise InputError(
            f"no call with a valid size and time{' of ' * bool(group)}{group}: nothing was fitted"
        )
    sizes = kernels.group(calls.arguments, calls.seconds)
    if (sizes.seconds <= 0).any():
        kept = sizes.seconds > 0
        findings.append(
            f"{int((~kept).sum())} sizes take no time: the clock is too coarse; they are left out"
        )
        sizes = sizes.where(kept)
    if len(sizes.seconds) < 2:
        raise InputError(f"{len(sizes.seconds)} usable sizes, and a model needs two: nothing was fitted")
    model, held_back = kernels.choose(sizes)
    findings += _doubts(sizes, model)
    predicted = model.at(sizes)
    if less := int((predicted <= 0).sum()):
        findings.append(
            f"{model.name} predicts {less} of the measured sizes to take no time or less, which the platform "
            "takes for none: measure more small sizes"
        )
    if model.name == "M-2" and (
        lost := [term for term in kernels.POLYNOMIAL if term not in model.coefficients]
    ):
        findings.append(f"the coefficients of {', '.join(lost)} are not identified and are left out")
    if not model.intercept and model.pieces is None:
        findings.append(
            "the start-up is not identified and is left out: the smallest sizes take too long to show it"
        )
    try:
        deviation = kernels.relative_deviation(sizes, tuple(model.coefficients) or (sizes.whole,))
    except InputError as error:
        deviation = None
        findings.append(f"{error}; the entry has no noise")
    one = kernels.constant_deviation_s(sizes, model)
    count = int(sizes.repetitions.sum())
    calls = calls.where(calls.seconds > 0)
    usual = kernels.refitted(model, kernels.medians(calls.arguments, calls.seconds))
    mixture = None if deviation is None else _mixture(calls, usual)
    if deviation is not None and not deviation.coefficients:
        one = deviation.intercept  # N-2 has come to the same, by relative weights
    noises = {} if deviation is None else _noises(calls, (model, usual), deviation, one, mixture)
    noise = deviation, one, mixture, usual, noises
    return KernelFit(group, count, sizes, model, held_back, *noise, tuple(findings))


def _doubts(sizes: Sizes, model: Model) -> list[str]:
    """Doubts about a model of so few sizes, or so far from them."""
    found = []
    if len(sizes.seconds) < SIZES_FEW:
        found.append(
            f"{len(sizes.seconds)} sizes are too few to tell models apart: the chosen one may be wrong at "
            f"others; measure {SIZES_FEW} or more"
        )
    whole = sizes.product(sizes.whole)
    size, seconds = (values.argsort().argsort() for values in (whole, sizes.seconds))
    if len(whole) >= SIZES_FEW and np.corrcoef(size, seconds)[0, 1] < -RANKS_AGREE:
        found.append(
            "times fall where the arguments grow: no rate shows, and the fit is a constant: are the "
            "arguments the right columns?"
        )
    own = accuracy(model.at(sizes), sizes.seconds)
    if own.median > POOR:
        found.append(
            f"the model is {percent(own.median)} off in the median, at the sizes that it was fitted to: the "
            "times depend on more than these arguments, or are of several machines (--by)"
        )
    return found


def _noises(
    calls: Calls, models: tuple[Model, Model], deviation: Model, constant_s: float, mixture: Mixture | None
) -> Mapping[str, float]:
    """Criteria, with the models of means and of medians."""
    own = calls.single()
    predicted, usual = (model.at(own) for model in models)
    sound = (predicted > 0) & (usual > 0)
    seconds, predicted, usual = calls.seconds[sound], predicted[sound], usual[sound]
    found = {"N-1": kernel_noise.of_deviation(seconds, predicted, np.full_like(predicted, constant_s), 1)}
    if deviation.coefficients:
        spread = deviation.at(own)[sound]
        found["N-2"] = kernel_noise.of_deviation(seconds, predicted, spread, deviation.parameters)
    if mixture is not None:
        found["N′"] = kernel_noise.of_modes(seconds, usual, mixture)
    return found


def _mixture(calls: Calls, model: Model) -> Mixture | None:
    """N′ of at least two modes; one mode is what a deviation says, too."""
    if len(calls.seconds) < MODES_CALLS_LEAST:
        return None
    found = kernels.residual_mixture(calls.arguments, calls.seconds, model)
    return found if len(found.modes) > 1 else None
