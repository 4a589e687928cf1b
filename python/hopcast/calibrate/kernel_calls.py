"""Reader of calls of a kernel, CSV with a header and a line for each call; and entries of a platform file.

Columns are the arguments of the function, `duration` or `seconds`, and any others, such as node and
processor, by which calls can be chosen or kept apart.
"""

from __future__ import annotations

import csv
import gzip
import lzma
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import numpy as np

from hopcast.calibrate import kernels
from hopcast.calibrate.accuracy import Accuracy, percent
from hopcast.calibrate.kernels import Model, Sizes
from hopcast.calibrate.tables import DURATION
from hopcast.errors import InputError

_OPENERS: dict[str, Callable[..., TextIO]] = {".xz": lzma.open, ".gz": gzip.open}


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
    findings: tuple[str, ...]


def read(
    place: Path, arguments: Sequence[str], by: Sequence[str] = (), where: Mapping[str, str] | None = None
) -> dict[str, Sizes]:
    """Calls by group: the values of the columns `by`."""
    try:
        with _OPENERS.get(place.suffix, open)(place, "rt", errors="replace") as file:
            rows = list(csv.DictReader(file))
    except (OSError, lzma.LZMAError) as error:
        raise InputError(f"{place}: cannot be read: {error}") from None
    if not rows:
        raise InputError(f"{place}: no call: nothing to fit")
    duration = next((name for name in DURATION if name in rows[0]), DURATION[0])
    for column in (*arguments, *by, *(where or {}), duration):
        if column not in rows[0]:
            raise InputError(f"{place}: no column '{column}'; columns: {', '.join(rows[0])}")
    groups: dict[str, list[list[float]]] = {}
    where = where or {}
    for number, row in enumerate(rows, 2):
        if any(row[column] != value for column, value in where.items()):
            continue
        try:
            values = [float(row[column]) for column in (*arguments, duration)]
        except (TypeError, ValueError):
            raise InputError(f"{place}:{number}: not numbers: {list(row.values())}") from None
        groups.setdefault(", ".join(f"{column} {row[column]}" for column in by), []).append(values)
    if not groups:
        raise InputError(
            f"{place}: no call with {', '.join(f'{key}={value}' for key, value in where.items())}"
        )
    sizes = {}
    for name, calls in groups.items():
        *columns, seconds = np.array(calls).T
        sizes[name] = kernels.group(dict(zip(arguments, columns, strict=True)), seconds)
    return sizes


def fit(group: str, sizes: Sizes) -> KernelFit:
    """The chosen mean and its noise."""
    findings = []
    if (sizes.seconds <= 0).any():
        kept = sizes.seconds > 0
        findings.append(
            f"{int((~kept).sum())} sizes take no time: the clock is too coarse; they are left out"
        )
        sizes = sizes.where(kept)
    if len(sizes.seconds) < 2:
        raise InputError(f"{len(sizes.seconds)} usable sizes, and a model needs two: nothing was fitted")
    model, held_back = kernels.choose(sizes)
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
    if not model.intercept:
        findings.append(
            "the start-up is not identified and is left out: the smallest sizes take too long to show it"
        )
    try:
        deviation = kernels.relative_deviation(sizes, tuple(model.coefficients) or (sizes.whole,))
    except InputError as error:
        deviation = None
        findings.append(f"{error}; the entry has no noise")
    one = kernels.constant_deviation_s(sizes, model)
    calls = int(sizes.repetitions.sum())
    return KernelFit(group, calls, sizes, model, held_back, deviation, one, tuple(findings))


def lines(found: KernelFit) -> list[str]:
    """Screen lines of a group."""
    shown = [f"{found.group or 'all calls'}: {found.calls} calls of {len(found.sizes.seconds)} sizes"]
    for name, (used, rest) in found.held_back.items():
        chosen = "  chosen" if name == found.model.name else ""
        shown.append(
            f"  {name}  median error {percent(used.median)}, held back {percent(rest.median)}{chosen}"
        )
    shown.append(f"  time       {formula(found.model, False)}")
    if found.deviation is not None:
        shown.append(
            f"  deviation  {formula(found.deviation, False)}; N-1: {1e6 * found.constant_deviation_s:.4g} us"
        )
    return shown


def toml(found: KernelFit, function: str, *, noise: str, declaration: str | None, hosts: str | None) -> str:
    """Entry of a platform file."""
    model = found.model
    ranges = ", ".join(f"{name} {low:g} to {high:g}" for name, (low, high) in model.ranges.items())
    parts = [
        f"[[compute.kernels]]    # {model.name} of {found.calls} calls; {model.accuracy}",
        f"# measured: {ranges}; beyond them the formula is an extrapolation",
    ]
    if errors := standard_errors(model):
        parts.append(f"# standard errors: {errors}")
    if noise != "none" and found.deviation is not None and (errors := standard_errors(found.deviation)):
        parts.append(f"# standard errors of the deviation: {errors}")
    parts += [f"# note: {finding}" for finding in found.findings]
    parts.append(f'function = "{function}"')
    if declaration is not None:
        parts.append(f'arguments = "{declaration}"')
    upper = declaration is None
    parts.append(f'time = "{formula(model, upper)}"')
    if noise != "none" and found.deviation is not None:
        parts += [f'noise = "{noise}"', f'deviation = "{formula(found.deviation, upper)}"']
    if hosts is not None:
        parts.append(f'hosts = "{hosts}"')
    return "\n".join(parts) + "\n"


def standard_errors(model: Model) -> str:
    """Relative standard errors of the start-up and of each term."""
    parts = {kernels.START_UP: (model.intercept, model.intercept_error)}
    parts |= {term: (value, model.errors[term]) for term, value in model.coefficients.items()}
    return ", ".join(
        f"{name} ± {percent(error / abs(value))}"
        for name, (value, error) in parts.items()
        if value and math.isfinite(error)
    )


def formula(model: Model, upper: bool = True) -> str:
    """As a platform file takes it; arguments of routines of BLAS have capital letters."""
    text = f"{1e6 * model.intercept:.6g} us" if model.intercept or not model.coefficients else ""
    for term, value in model.coefficients.items():
        product = " * ".join(name.upper() if upper else name for name in kernels.factors(term))
        sign = ("- " if value < 0 else "+ ") if text else ("-" if value < 0 else "")
        text += f"{' ' if text else ''}{sign}{1e12 * abs(value):.6g} ps * {product}"
    return text
