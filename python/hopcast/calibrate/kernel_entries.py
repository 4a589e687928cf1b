"""Fits of kernels on the screen, and as entries of a platform file.

A mean is a formula, M′ one of pieces. Noise is a deviation, constant (N-1) or a formula, too (N-2); or modes
(N′), each with the formula of the usual time times its own part of it. Fits of several processors of hosts
are rows of one table.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence

from hopcast.calibrate import kernels
from hopcast.calibrate.accuracy import percent
from hopcast.calibrate.kernel_calls import KernelFit
from hopcast.calibrate.kernels import Model
from hopcast.calibrate.mixtures import NORMAL
from hopcast.errors import InputError

AUTO, MODES, NONE = "auto", "modes", "none"
NOISES = (AUTO, NONE, "normal", "half-normal", MODES)
"""Noise of entries: auto takes modes where several show, else the half-normal."""


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
        constant = f"{1e6 * found.constant_deviation_s:.4g} us"
        shown.append(f"  deviation  {formula(found.deviation, False)}; N-1: {constant}")
    if found.mixture is not None:
        modes = (
            f"{percent(mode.weight)} of calls {1 + mode.mean:.4g} ± {mode.deviation:.2g}"
            for mode in found.mixture.modes
        )
        shown.append(f"  modes      in times of the usual call: {', '.join(modes)}")
    if found.noises:
        shown.append(f"  noise      {best_noise(found)} by criterion, of {', '.join(found.noises)}")
    return shown


def toml(found: KernelFit, function: str, *, noise: str, declaration: str | None, hosts: str | None) -> str:
    """Entry of a platform file."""
    model, upper = found.model, declaration is None
    noise = noise_of(found, noise)
    ranges = ", ".join(f"{name} {low:g} to {high:g}" for name, (low, high) in model.ranges.items())
    parts = [
        f"[[compute.kernels]]    # {model.name} of {found.calls} calls; {model.accuracy}",
        f"# measured: {ranges}; beyond them the formula is an extrapolation",
    ]
    if errors := standard_errors(model):
        parts.append(f"# standard errors: {errors}")
    if together := correlations(model):
        parts.append(f"# correlations: {together}")
    parts += [f"# note: {finding}" for finding in found.findings]
    parts.append(f'function = "{function}"')
    if declaration is not None:
        parts.append(f'arguments = "{declaration}"')
    if noise == MODES:
        parts += _modes(found, upper)
    else:
        parts.append(f'time = "{formula(model, upper)}"')
    if noise not in (NONE, MODES):
        parts += [f'noise = "{noise}"', *_deviation(found, upper)]
    if fitted := range_of([found], upper):
        parts.append(f'range = "{fitted}"')
    if hosts is not None:
        parts.append(f'hosts = "{hosts}"')
    return "\n".join(parts) + "\n"


def best_noise(found: KernelFit) -> str:
    """Name of the noise of least criterion; N-0 where none was fitted."""
    return min(found.noises, key=found.noises.__getitem__, default="N-0")


def noise_of(found: KernelFit, wanted: str) -> str:
    """Noise that an entry has: that which is wanted, as far as the calls show it."""
    if wanted == MODES and found.mixture is None:
        raise InputError(
            f"--noise modes: {found.group or 'all calls'}: single calls show one mode, or are too few; "
            "take another"
        )
    if found.deviation is None:
        return NONE
    if wanted == AUTO:
        return MODES if best_noise(found) == "N′" else "half-normal"
    return wanted


def _deviation(found: KernelFit, upper: bool) -> list[str]:
    """Deviation of N-1 or N-2, with its errors."""
    if found.noises["N-1"] < found.noises.get("N-2", math.inf):
        return [f'deviation = "{1e6 * found.constant_deviation_s:.6g} us"    # N-1']
    assert found.deviation is not None, "it was judged"
    errors = standard_errors(found.deviation)
    said = [f"# standard errors of the deviation: {errors}"] if errors else []
    return [*said, f'deviation = "{formula(found.deviation, upper)}"']


def _modes(found: KernelFit, upper: bool) -> list[str]:
    """Modes in place of a time: the formula of the usual time, times the mode's mean and deviation."""
    assert found.mixture is not None, "there are modes"
    parts = ["modes = ["]
    for mode in found.mixture.modes:
        mean, deviation = (found.usual.scaled(factor) for factor in (1 + mode.mean, mode.deviation))
        shape = "" if mode.shape == NORMAL else f', shape = "{mode.shape}"'
        parts.append(
            f'    {{ weight = {mode.weight:.6g}, mean = "{formula(mean, upper)}", '
            f'deviation = "{formula(deviation, upper)}"{shape} }},'
        )
    return [*parts, "]"]


def range_of(fits: Sequence[KernelFit], upper: bool) -> str:
    """Calls that were measured: limits of each argument that the formulas have, and of their product."""
    terms = [term for found in fits for term in found.model.coefficients]
    names = list(dict.fromkeys(name for term in terms for name in kernels.factors(term)))
    limits = []
    for name in names:
        ends = [found.model.ranges[name] for found in fits]
        low, high = min(end[0] for end in ends), max(end[1] for end in ends)
        shown = name.upper() if upper else name
        limits += [f"{shown} >= {low:.10g}"] if low > 1 else []
        limits.append(f"{shown} <= {high:.10g}")
    if len(names) > 1:
        most = max(found.sizes.product(kernels.term_of(names)).max() for found in fits)
        limits.append(f"{'*'.join(name.upper() if upper else name for name in names)} <= {most:.10g}")
    return ", ".join(limits)


def table(fits: Sequence[KernelFit], places: Sequence[tuple[str, str]], noise: str) -> str:
    """Coefficients of polynomials, a row for each processor, as CSV.

    places: host and socket of each fit. noise: none, or the distribution whose deviation has columns.
    """
    if wrong := next((found for found in fits if found.model.pieces is not None), None):
        raise InputError(f"{wrong.group}: M′ has pieces, and a table only terms: fit its processors apart")
    terms = list(dict.fromkeys(term for found in fits for term in found.model.coefficients))
    columns = ["host", "socket", "1", *("*".join(kernels.factors(term)).upper() for term in terms)]
    deviations = [found.deviation for found in fits]
    varying = list(dict.fromkeys(term for one in deviations if one is not None for term in one.coefficients))
    if noise != NONE:
        columns += [
            "deviation 1",
            *("deviation " + "*".join(kernels.factors(term)).upper() for term in varying),
        ]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for found, (host, socket), deviation in zip(fits, places, deviations, strict=True):
        row = [found.model.intercept, *(found.model.coefficients.get(term, 0.0) for term in terms)]
        if noise != NONE:
            own = {} if deviation is None else deviation.coefficients
            row += [
                0.0 if deviation is None else deviation.intercept,
                *(own.get(term, 0.0) for term in varying),
            ]
        writer.writerow([host, socket, *(f"{value:.7g}" for value in row)])
    return text.getvalue()


def table_entry(fits: Sequence[KernelFit], function: str, file: str, noise: str) -> str:
    """Entry of a platform file whose coefficients are in a table."""
    worst = max(fits, key=lambda found: found.model.accuracy.median)
    calls = sum(found.calls for found in fits)
    parts = [
        f"[[compute.kernels]]    # {len(fits)} processors, {calls} calls; the worst: {worst.model.accuracy}",
        f'function = "{function}"',
        f'table = "{file}"',
    ]
    if noise != NONE:
        parts.append(f'noise = "{noise}"')
    if fitted := range_of(fits, upper=True):
        parts.append(f'range = "{fitted}"')
    return "\n".join(parts) + "\n"


def standard_errors(model: Model) -> str:
    """Relative standard errors of the start-up and of each term; of M′, of each piece."""
    if model.pieces is not None:
        return "; ".join(
            f"piece {number} start-up ± {_share(line.intercept, line.intercept_error)}, "
            f"slope ± {_share(line.slope, line.slope_error)}"
            for number, line in enumerate((segment.line for segment in model.pieces.segments), 1)
        )
    parts = {kernels.START_UP: (model.intercept, model.intercept_error)}
    parts |= {term: (value, model.errors[term]) for term, value in model.coefficients.items()}
    return ", ".join(
        f"{name} ± {percent(error / abs(value))}"
        for name, (value, error) in parts.items()
        if value and math.isfinite(error)
    )


def correlations(model: Model) -> str:
    """Correlations of the errors of two coefficients each."""
    return ", ".join(
        f"{one} with {two} {value:.3f}"
        for (one, two), value in model.correlations.items()
        if model.pieces is None and math.isfinite(value)
    )


def formula(model: Model, upper: bool = True) -> str:
    """As a platform file takes it; arguments of routines of BLAS have capital letters."""
    if model.pieces is not None:
        return _in_pieces(model, upper)
    text = f"{1e6 * model.intercept:.6g} us" if model.intercept or not model.coefficients else ""
    for term, value in model.coefficients.items():
        product = " * ".join(name.upper() if upper else name for name in kernels.factors(term))
        sign = ("- " if value < 0 else "+ ") if text else ("-" if value < 0 else "")
        text += f"{' ' if text else ''}{sign}{1e12 * abs(value):.6g} ps * {product}"
    return text


def _in_pieces(model: Model, upper: bool) -> str:
    assert model.pieces is not None, "it has pieces"
    (term,) = model.coefficients
    names = [name.upper() if upper else name for name in kernels.factors(term)]
    text = ""
    for segment in model.pieces.segments:
        line = segment.line
        text += f"{1e6 * line.intercept:.6g} us + {1e12 * line.slope:.6g} ps * {' * '.join(names)}"
        if segment.up_to is not None:
            text += f" if {'*'.join(names)} <= {segment.up_to:.10g} else "
    return text


def _share(value: float, error: float) -> str:
    return percent(error / abs(value)) if value and math.isfinite(error) else "not known"
