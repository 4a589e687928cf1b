"""Laws of the time in which k processes of a node send n bytes each, fitted to relative errors.

    postal      T = s + n / R_C                                        the same for every k
    max-rate    T = s + k n / min(R_N, k R_C)
    extended    T = s + k n / min(R_N, R_Cb + (k − 1) R_Ci)
    modified    T = max(k n / R_N, s + n / R_C)

Each minimises Σ (T_model / T_measured − 1)². Postal is linear. Max-rate is linear in (s, 1/R_C, 1/R_N) once
it is known from which k on the NIC limits: every k is tried, which is exact. Extended is the same for each
ratio R_Ci / R_Cb, and a search over that one number. Modified alternates between rows and lines, from many
starts.

Source: Gropp, Olson, Samfass, "Modeling MPI communication performance on SMP nodes", EuroMPI 2016.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from hopcast.calibrate.accuracy import SPREAD_MOST, Accuracy, accuracy
from hopcast.calibrate.pair_sums import NOTICED, ROUNDING, Sums
from hopcast.calibrate.pair_times import PairTimes
from hopcast.errors import InputError

STARTS = 20
RATIOS = 60


@dataclass(frozen=True)
class Law:
    """A fitted law: parameters in seconds and bytes per second; None is one that the data do not identify."""

    model: str
    values: dict[str, float | None]
    errors: dict[str, float]
    """Standard errors of those that are identified."""
    rows: int
    accuracy: Accuracy
    criterion: float
    """BIC of relative errors: the law of the least is the one that its parameters are worth."""
    notes: tuple[str, ...] = ()
    parameters: np.ndarray = field(default_factory=lambda: np.empty(0), repr=False)

    def at(self, pairs: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Times."""
        return _FORMULAS[self.model](self.parameters, np.asarray(pairs, float), np.asarray(sizes, float))


def fit(data: PairTimes, model: str) -> Law:
    """The law of that name."""
    if model not in MODELS:
        raise InputError(f"unknown law '{model}'; known: {', '.join(MODELS)}")
    names = _NAMES[model]
    if len(data.seconds) < len(names):
        raise InputError(
            f"{data.name}: {len(data.seconds)} times, and the law '{model}' has {len(names)} parameters: "
            "measure more sizes or pairs; nothing was fitted"
        )
    parameters, notes = MODELS[model](data)
    return _law(model, data, parameters, notes)


def held_back(data: PairTimes, model: str) -> tuple[Accuracy, Accuracy]:
    """Errors of a fit to every other k, the odd ones where all were measured, at those k and at the rest."""
    odd = np.unique(data.pairs, return_inverse=True)[1].ravel() % 2 == 0
    law = fit(data.where(odd), model)
    used, rest = data.where(odd), data.where(~odd)
    return (
        accuracy(law.at(used.pairs, used.sizes), used.seconds),
        accuracy(law.at(rest.pairs, rest.sizes), rest.seconds),
    )


def _postal(data: PairTimes) -> tuple[np.ndarray, list[str]]:
    columns = np.column_stack([np.ones_like(data.sizes), data.sizes])
    return _relative(columns, data.seconds), []


def _max_rate(data: PairTimes) -> tuple[np.ndarray, list[str]]:
    return Sums(data).best(0.0, alone=True)[0], []


def _extended(data: PairTimes) -> tuple[np.ndarray, list[str]]:
    """(s, 1/R_Cb, 1/R_N, R_Ci/R_Cb): the best ratio on a grid, then between its neighbours."""
    most = data.pairs.max()
    if most < 2:
        raise InputError(f"{data.name}: one pair only: the rate of further processes is not identified")
    least_ratio = -1 / (most - 1)
    sums = Sums(data)
    grid = np.concatenate([np.linspace(least_ratio * 0.999, 0, RATIOS // 4), np.geomspace(1e-3, 4, RATIOS)])
    costs = [sums.best(ratio)[1] for ratio in grid]
    place = int(np.argmin(costs))
    ends = grid[max(0, place - 1)], grid[min(len(grid) - 1, place + 1)]
    best = _minimum(lambda ratio: sums.best(ratio)[1], *ends)
    notes = []
    if best < 0.99 * least_ratio:
        notes.append(
            f"R_Ci is at the bound below which {most:.0f} processes would move nothing: each further "
            f"process slows "
            "the others down, and the law has no meaning for more processes"
        )
    return np.append(sums.best(best)[0], best), notes


def _modified(data: PairTimes) -> tuple[np.ndarray, list[str]]:
    """(s, 1/R_C, 1/R_N), by alternating between the rows of each branch and their lines."""
    shared = data.pairs * data.sizes
    slowest, fastest = np.quantile(data.seconds / shared, [0.001, 0.999])
    best: np.ndarray | None = None
    best_cost = math.inf
    for start in [0.0, *np.geomspace(slowest, fastest, STARTS)]:
        limited = data.seconds < 1.5 * shared * start
        parameters = np.array([0.0, 0.0, start])
        for _ in range(50):
            parameters = parameters.copy()
            if (~limited).sum() >= 2:
                free = data.where(~limited)
                parameters[:2] = _relative(
                    np.column_stack([np.ones_like(free.sizes), free.sizes]), free.seconds
                )
            if limited.any():
                parameters[2] = _relative(shared[limited, None], data.seconds[limited])[0]
            now = shared * parameters[2] > parameters[0] + parameters[1] * data.sizes
            if (now == limited).all():
                break
            limited = now
        cost = _cost(_FORMULAS["modified"](parameters, data.pairs, data.sizes), data)
        if cost < best_cost:
            best, best_cost = parameters, cost
    assert best is not None, "fits to finite times have finite errors"
    without = np.append(_postal(data)[0], 0.0)
    cost, rows = _cost(_FORMULAS["modified"](without, data.pairs, data.sizes), data), len(data.seconds)
    if cost <= best_cost * (1 + NOTICED / rows) + ROUNDING * rows:  # the NIC limits no more than chance does
        best = without
    return best, []


def _relative(columns: np.ndarray, seconds: np.ndarray) -> np.ndarray:
    """Least squares of relative errors with parameters that are not negative."""
    scaled = columns / seconds[:, None]
    best, best_cost = np.zeros(columns.shape[1]), math.inf
    for used in _subsets(columns.shape[1]):
        norms = np.linalg.norm(scaled[:, used], axis=0)
        if (norms == 0).any():
            continue
        part = np.linalg.lstsq(scaled[:, used] / norms, np.ones(len(seconds)), rcond=None)[0] / norms
        cost = ((scaled[:, used] @ part - 1) ** 2).sum()
        if (part >= 0).all() and cost < best_cost:
            best, best_cost = np.zeros(columns.shape[1]), cost
            best[used] = part
    return best


def _subsets(count: int) -> list[list[int]]:
    """All choices of columns that are not held at zero."""
    return [[place for place in range(count) if bits >> place & 1] for bits in range(1, 2**count)]


def _cost(time: np.ndarray, data: PairTimes) -> float:
    return float(((time / data.seconds - 1) ** 2).sum())


def _minimum(cost: Callable[[float], float], low: float, high: float) -> float:
    """Golden section: the cost has one minimum between the neighbours of the grid's best."""
    golden = (math.sqrt(5) - 1) / 2
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left, at_right = cost(left), cost(right)
    for _ in range(40):
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - golden * (high - low)
            at_left = cost(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + golden * (high - low)
            at_right = cost(right)
    return (low + high) / 2


def _law(model: str, data: PairTimes, parameters: np.ndarray, notes: list[str]) -> Law:
    """Standard errors by the slope of the relative errors at the optimum, and what is not identified."""
    formula = _FORMULAS[model]
    names = _NAMES[model]
    time = formula(parameters, data.pairs, data.sizes)
    residual = _cost(time, data)
    steps = np.maximum(np.abs(parameters) * 1e-6, 1e-18)
    slopes = np.column_stack(
        [
            (formula(parameters + step, data.pairs, data.sizes) - time) / data.seconds / size
            for step, size in zip(np.diag(steps), steps, strict=True)
        ]
    )
    scale = np.linalg.norm(slopes, axis=0)
    seen = scale > 0
    covariance = np.linalg.pinv((slopes[:, seen] / scale[seen]).T @ (slopes[:, seen] / scale[seen]))
    spread = np.full(len(names), np.inf)
    freedom = len(data.seconds) - int(seen.sum())
    if freedom > 0:
        spread[seen] = np.sqrt(np.diag(covariance) * residual / freedom) / scale[seen]
    values, errors = _named(model, names, parameters, spread, notes, data)
    rows = len(data.seconds)
    criterion = rows * math.log(max(residual / rows, ROUNDING)) + len(names) * math.log(rows)
    return Law(
        model,
        values,
        errors,
        len(data.seconds),
        accuracy(time, data.seconds),
        criterion,
        tuple(notes),
        parameters,
    )


def _named(
    model: str,
    names: tuple[str, ...],
    parameters: np.ndarray,
    spread: np.ndarray,
    notes: list[str],
    data: PairTimes,
) -> tuple[dict[str, float | None], dict[str, float]]:
    values: dict[str, float | None] = {}
    errors: dict[str, float] = {}
    for name, parameter, error in zip(names, parameters, spread, strict=True):
        if name == "R_Ci":
            base = values["R_Cb"]
            values[name], errors[name] = (
                (None, math.inf) if base is None else (parameter * base, error * base)
            )
        elif parameter <= 0 or error > SPREAD_MOST * parameter:
            values[name] = None
            notes.append(_reason(name, data))
        else:
            values[name] = parameter if name == "s" else 1 / parameter
            errors[name] = error if name == "s" else error / parameter**2
    return values, {name: error for name, error in errors.items() if values[name] is not None}


def _reason(name: str, data: PairTimes) -> str:
    most = data.pairs.max()
    return {
        "s": "s is not identified: it does not show beside the time of the bytes",
        "R_N": f"R_N is not identified: never reached with {most:.0f} processes",
        "R_C": "R_C is not identified: the NIC limits one process already, or the start-up hides it",
        "R_Cb": "R_Cb is not identified: the NIC limits one process already, or the start-up hides it",
    }[name]


def _max_rate_time(parameters: np.ndarray, pairs: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    return parameters[0] + sizes * np.maximum(parameters[1], pairs * parameters[2])


def _extended_time(parameters: np.ndarray, pairs: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    share = 1 + (pairs - 1) * parameters[3]
    with np.errstate(divide="ignore", invalid="ignore"):
        own = np.where(share > 0, parameters[1] / share, np.inf)
    return parameters[0] + pairs * sizes * np.maximum(own, parameters[2])


_FORMULAS: dict[str, Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]] = {
    "postal": lambda p, k, n: p[0] + n * p[1],
    "max-rate": _max_rate_time,
    "extended": _extended_time,
    "modified": lambda p, k, n: np.maximum(k * n * p[2], p[0] + n * p[1]),
}
_NAMES = {
    "postal": ("s", "R_C"),
    "max-rate": ("s", "R_C", "R_N"),
    "extended": ("s", "R_Cb", "R_N", "R_Ci"),
    "modified": ("s", "R_C", "R_N"),
}
MODELS: dict[str, Callable[[PairTimes], tuple[np.ndarray, list[str]]]] = {
    "postal": _postal,
    "max-rate": _max_rate,
    "extended": _extended,
    "modified": _modified,
}
"""Laws by name: parameters as start-up and times per byte, and what is to be said of them."""
