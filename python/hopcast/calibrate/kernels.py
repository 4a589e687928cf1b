"""Models of the time of a call of a kernel, and of its noise, for each processor.

Mean, of the arguments of a call:

    M-0   T = α
    M-1   T = α S + ε            S: the one product that explains most, such as M N K
    M-2   T = α MNK + β MN + γ MK + δ NK + ε
    M′    T = α_i x + ε_i        piecewise linear in one product x, breakpoints learned

Noise around the same mean:

    N-0   none
    N-1   deviation σ            one number
    N-2   deviation σ(M, N, K)   the mean's polynomial, none of its values negative
    N′    a mixture of normals of the relative residuals

Means are fitted to one time for each size, the mean of its repetitions. Hopcast chooses among fits to
relative errors, and fits deviations relative to times (`relative`, `relative_deviation`). As published
(`polynomial`, `deviation`), the start-up ε is the mean of the sizes that are at most a hundred times the
smallest, taken off before the rest is fitted by ordinary least squares without a constant.

Source: Cornebize, thesis, Université Grenoble Alpes 2021, 4.1 and 4.2; estimation as in
github.com/Ezibenroc/cashew, linear_regression.py.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from hopcast.calibrate import mixtures, piecewise
from hopcast.calibrate.accuracy import SPREAD_MOST, Accuracy, accuracy
from hopcast.errors import InputError

POLYNOMIAL = ("mnk", "mn", "mk", "nk")
START_UP = "start-up"
SMALL = 100
"""Sizes up to so many times the smallest product give the start-up."""


@dataclass(frozen=True)
class Sizes:
    """Calls of one processor by their arguments: mean and deviation of the repetitions of each."""

    arguments: Mapping[str, np.ndarray]
    seconds: np.ndarray
    deviations: np.ndarray
    """Standard deviation of the repetitions; nan where there is one."""
    repetitions: np.ndarray

    def product(self, term: str) -> np.ndarray:
        """A term such as `mnk` or `rows*columns`: the product of the arguments that it names."""
        return math.prod((self.arguments[name] for name in factors(term)), start=np.ones_like(self.seconds))

    @property
    def whole(self) -> str:
        """The term of all arguments."""
        return term_of(list(self.arguments))

    def where(self, mask: np.ndarray) -> Sizes:
        """The sizes of a mask."""
        return Sizes(
            {name: values[mask] for name, values in self.arguments.items()},
            self.seconds[mask],
            self.deviations[mask],
            self.repetitions[mask],
        )


@dataclass(frozen=True)
class Model:
    """A mean or a deviation: start-up and coefficients of terms, with their standard errors."""

    name: str
    intercept: float
    coefficients: Mapping[str, float]
    errors: Mapping[str, float]
    accuracy: Accuracy
    r_squared: float
    criterion: float
    """BIC of the logarithms of the sizes' times."""
    ranges: Mapping[str, tuple[float, float]]
    """Smallest and largest argument that was measured."""
    intercept_error: float = math.nan
    """Standard error of the start-up; nan where it was not fitted."""
    pieces: piecewise.Piecewise | None = None
    """Lines in the one term of M′, instead of start-up and coefficients, which are those of the first."""
    correlations: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """Correlation of the errors of two coefficients, the start-up among them."""

    @property
    def parameters(self) -> int:
        """Number of fitted values: a line has two, a breakpoint one."""
        return len(self.coefficients) + 1 if self.pieces is None else 3 * len(self.pieces.segments) - 1

    def scaled(self, factor: float) -> Model:
        """The model of times that are so many times as long."""
        lines = None if self.pieces is None else self.pieces.scaled(factor)
        coefficients = {term: factor * value for term, value in self.coefficients.items()}
        return replace(self, intercept=factor * self.intercept, coefficients=coefficients, pieces=lines)

    def at(self, sizes: Sizes) -> np.ndarray:
        """Times, or deviations."""
        if self.pieces is not None:
            return self.pieces.at(sizes.product(next(iter(self.coefficients))))
        times = np.full_like(sizes.seconds, self.intercept)
        for term, value in self.coefficients.items():
            times += value * sizes.product(term)
        return times


def factors(term: str) -> list[str]:
    """Arguments of a term: letters, or names between asterisks."""
    return [name for name in term.split("*") if name] if "*" in term else list(term)


def term_of(names: Sequence[str]) -> str:
    """The term of some arguments; names of several letters are followed by asterisks."""
    return "".join(names) if all(len(name) == 1 for name in names) else "*".join([*names, ""])


def group(arguments: Mapping[str, np.ndarray], seconds: np.ndarray) -> Sizes:
    """One line for each distinct tuple of arguments."""
    names = list(arguments)
    keys = np.column_stack([np.asarray(arguments[name], float) for name in names])
    distinct, places, counts = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    places = places.ravel()
    mean = np.bincount(places, seconds) / counts
    squares = np.bincount(places, (seconds - mean[places]) ** 2)
    deviations = np.sqrt(np.divide(squares, counts - 1, out=np.full(len(counts), np.nan), where=counts > 1))
    return Sizes({name: distinct[:, place] for place, name in enumerate(names)}, mean, deviations, counts)


def medians(arguments: Mapping[str, np.ndarray], seconds: np.ndarray) -> Sizes:
    """The same with the median of each tuple's times in place of their mean."""
    sizes = group(arguments, seconds)
    keys = np.column_stack([np.asarray(values, float) for values in arguments.values()])
    _, places = np.unique(keys, axis=0, return_inverse=True)
    order = np.argsort(places.ravel(), kind="stable")
    parts = np.split(np.asarray(seconds, float)[order], np.cumsum(sizes.repetitions)[:-1])
    return replace(sizes, seconds=np.array([np.median(part) for part in parts]))


def refitted(model: Model, sizes: Sizes) -> Model:
    """The model of the same terms for other times of its sizes."""
    terms = tuple(model.coefficients)
    try:
        if model.pieces is not None:
            return jumping(sizes, *terms)
        return relative(sizes, terms, name=model.name, start_up=bool(model.intercept))
    except InputError:  # as few lines, or terms, as these times show
        return model


def start_up_s(sizes: Sizes, seconds: np.ndarray | None = None) -> float:
    """Mean time of sizes whose product is at most a hundred times the smallest; not below zero."""
    seconds = sizes.seconds if seconds is None else seconds
    whole = sizes.product(sizes.whole)
    small = whole <= SMALL * whole.min()
    return max(0.0, float(seconds[small].mean())) if small.sum() > 1 else 0.0


def polynomial(
    sizes: Sizes,
    terms: Sequence[str] = POLYNOMIAL,
    *,
    intercept: float | None = None,
    seconds: np.ndarray | None = None,
    name: str = "M-2",
) -> Model:
    """Ordinary least squares of the terms, without a constant, after the start-up was taken off."""
    seconds = sizes.seconds if seconds is None else seconds
    if len(seconds) <= len(terms):
        raise InputError(
            f"{len(seconds)} sizes, and the model {name} has {len(terms)} coefficients: measure more "
            f"sizes, or take a "
            "smaller model; nothing was fitted"
        )
    start = start_up_s(sizes, seconds) if intercept is None else intercept
    columns = np.column_stack([sizes.product(term) for term in terms])
    scale = np.linalg.norm(columns, axis=0)
    target = seconds - start
    solution, _, rank, _ = np.linalg.lstsq(columns / scale, target, rcond=None)
    if rank < len(terms):
        raise InputError(
            f"the sizes do not tell {', '.join(terms)} apart: vary the arguments independently, or take "
            f"a smaller "
            "model; nothing was fitted"
        )
    residual = target - columns / scale @ solution
    errors = _errors(columns / scale, residual) / scale
    model = Model(
        name,
        start,
        dict(zip(terms, (solution / scale).tolist(), strict=True)),
        dict(zip(terms, errors.tolist(), strict=True)),
        Accuracy(0, math.nan, math.nan, math.nan),
        float(1 - residual @ residual / (target @ target)),
        math.nan,
        {key: (float(values.min()), float(values.max())) for key, values in sizes.arguments.items()},
    )
    return _judged(model, sizes, seconds)


def _errors(columns: np.ndarray, residual: np.ndarray) -> np.ndarray:
    """Standard errors of coefficients."""
    return np.sqrt(np.diag(_covariance(columns, residual)))


def _covariance(columns: np.ndarray, residual: np.ndarray) -> np.ndarray:
    """Covariance that allows each size its own deviation (HC3): long calls vary more than short ones.

    Source: MacKinnon, White, "Some heteroskedasticity-consistent covariance matrix estimators", 1985.
    """
    inverse = np.linalg.inv(columns.T @ columns)
    leverage = np.einsum("ij,jk,ik->i", columns, inverse, columns)
    apart = columns * (residual / np.maximum(1 - leverage, 1e-6))[:, None]
    return inverse @ (apart.T @ apart) @ inverse


def constant(sizes: Sizes) -> Model:
    """M-0."""
    mean = float(np.average(sizes.seconds, weights=sizes.repetitions))
    ranges = {key: (float(values.min()), float(values.max())) for key, values in sizes.arguments.items()}
    model = Model("M-0", mean, {}, {}, Accuracy(0, math.nan, math.nan, math.nan), 0.0, math.nan, ranges)
    return _judged(model, sizes, sizes.seconds)


def single(sizes: Sizes, *, intercept: float | None = None) -> Model:
    """M-1 with the product of arguments that leaves the least squares."""
    terms = terms_of(sizes)
    models = [polynomial(sizes, (term,), intercept=intercept, name="M-1") for term in terms]
    return max(models, key=lambda model: model.r_squared)


def terms_of(sizes: Sizes) -> list[str]:
    """Products of some of the arguments."""
    names = list(sizes.arguments)
    counts = range(1, len(names) + 1)
    return [term_of(part) for count in counts for part in itertools.combinations(names, count)]


def pieces(sizes: Sizes, term: str | None = None) -> piecewise.Piecewise:
    """M′ in one product of arguments; that of all where none is named."""
    x = sizes.product(term or sizes.whole)
    errors = sizes.deviations / np.sqrt(sizes.repetitions) / sizes.seconds
    known = None if np.isnan(errors).all() else np.nan_to_num(errors)
    return piecewise.learn(x, sizes.seconds, errors=known)


def jumping(sizes: Sizes, term: str) -> Model:
    """M′ in one product of arguments, where several lines pay."""
    found = pieces(sizes, term)
    if len(found.segments) < 2:
        raise InputError(f"one line in {term} is as good as several")
    line = found.segments[0].line
    ranges = {key: (float(part.min()), float(part.max())) for key, part in sizes.arguments.items()}
    model = Model(
        "M′",
        line.intercept,
        {term: line.slope},
        {term: line.slope_error},
        Accuracy(0, math.nan, math.nan, math.nan),
        math.nan,
        math.nan,
        ranges,
        line.intercept_error,
        found,
    )
    return _judged(model, sizes, sizes.seconds)


def relative(
    sizes: Sizes, terms: Sequence[str] = POLYNOMIAL, *, name: str = "M-2", start_up: bool = True
) -> Model:
    """Least squares of relative errors of a constant, not below zero, and the terms.

    The start-up is fitted with the rest: the mean of the smallest sizes is none where these are not small.
    """
    if len(sizes.seconds) <= len(terms):
        raise InputError(
            f"{len(sizes.seconds)} sizes, and the model {name} has {len(terms) + 1} coefficients"
        )
    columns = np.column_stack([np.ones_like(sizes.seconds), *(sizes.product(term) for term in terms)])
    columns /= sizes.seconds[:, None]
    used = list(range(0 if start_up or not terms else 1, len(terms) + 1))
    while True:
        scale = np.linalg.norm(columns[:, used], axis=0)
        solution, _, rank, _ = np.linalg.lstsq(columns[:, used] / scale, np.ones(len(columns)), rcond=None)
        if rank < len(used):
            raise InputError(
                f"the sizes do not tell {', '.join(terms)} apart: vary the arguments independently"
            )
        if used[0] or solution[0] >= 0 or len(used) == 1:
            break
        used = used[1:]
    residual = 1 - columns[:, used] / scale @ solution
    covariance = _covariance(columns[:, used] / scale, residual)
    deviations = np.sqrt(np.diag(covariance))
    spread = np.zeros(len(terms) + 1)
    spread[used] = deviations / scale
    together = covariance / np.maximum(np.outer(deviations, deviations), 1e-300)
    names = [START_UP, *terms]
    values = np.zeros(len(terms) + 1)
    values[used] = solution / scale
    ranges = {key: (float(part.min()), float(part.max())) for key, part in sizes.arguments.items()}
    model = Model(
        name,
        float(values[0]),
        dict(zip(terms, values[1:].tolist(), strict=True)),
        dict(zip(terms, spread[1:].tolist(), strict=True)),
        Accuracy(0, math.nan, math.nan, math.nan),
        math.nan,
        math.nan,
        ranges,
        float(spread[0]) if used[0] == 0 else math.nan,
        correlations={
            (names[used[one]], names[used[two]]): float(together[one, two])
            for one, two in itertools.combinations(range(len(used)), 2)
        },
    )
    return _judged(model, sizes, sizes.seconds)


def identified(sizes: Sizes, terms: Sequence[str] = POLYNOMIAL, *, name: str = "M-2") -> Model:
    """Fit of the start-up and those terms that the data identify; the least certain goes first."""
    terms, start_up = list(terms), True
    while True:
        model = relative(sizes, terms, name=name, start_up=start_up)
        doubt = {term: model.errors[term] / abs(value) for term, value in model.coefficients.items() if value}
        if model.intercept > 0:
            doubt[START_UP] = model.intercept_error / model.intercept
        worst = max(doubt, key=lambda term: doubt[term], default=START_UP)
        if doubt.get(worst, 0.0) <= SPREAD_MOST or len(doubt) == 1:
            return model
        if worst == START_UP:
            start_up = False
        else:
            terms.remove(worst)


def choose(sizes: Sizes) -> tuple[Model, dict[str, tuple[Accuracy, Accuracy]]]:
    """The model of least criterion among those whose error at sizes held back is within 5 % of the least.

    All are fitted to relative errors. Every other size is held back; the errors of each model are those at
    the sizes used and at the others.
    """
    used = np.arange(len(sizes.seconds)) % 2 == 0
    one = min((relative(sizes, (term,), name="M-1") for term in terms_of(sizes)), key=lambda m: m.criterion)
    makers = {
        "M-0": lambda part: relative(part, (), name="M-0"),
        "M-1": lambda part: identified(part, tuple(one.coefficients), name="M-1"),
        "M′": lambda part: jumping(part, next(iter(one.coefficients))),
    }
    if set("".join(POLYNOMIAL)) <= set(sizes.arguments):
        makers["M-2"] = identified
    held, whole = {}, {}
    for name, make in makers.items():
        try:
            model = make(sizes.where(used))
            whole[name] = make(sizes)
        except InputError:
            continue
        mine, rest = sizes.where(used), sizes.where(~used)
        held[name] = (accuracy(model.at(mine), mine.seconds), accuracy(model.at(rest), rest.seconds))
    least = min(errors[1].median for errors in held.values())
    near = [name for name, errors in held.items() if errors[1].median <= least + 0.05]
    return min((whole[name] for name in near), key=lambda model: model.criterion), held


def deviation(
    sizes: Sizes, terms: Sequence[str] = POLYNOMIAL, *, intercept: float | None = None, clamped: bool = True
) -> Model:
    """N-2: the polynomial of the standard deviations; `clamped`: no coefficient is negative, so no value is.

    A negative deviation has no meaning, and a polynomial with negative coefficients has some, for thin
    matrices.
    """
    repeated = ~np.isnan(sizes.deviations)
    if not repeated.any():
        raise InputError("each size was measured once: no deviation shows, and no noise was fitted")
    part = sizes.where(repeated)
    left = list(terms)
    while True:
        model = polynomial(part, left, intercept=intercept, seconds=part.deviations, name="N-2")
        negative = [term for term in left if model.coefficients[term] < 0]
        if not clamped or not negative:
            return model
        left.remove(min(negative, key=lambda term: model.coefficients[term] * part.product(term).max()))
        if not left:
            raise InputError("deviations fall with the size: N-2 has no meaning here; take N-1")


def relative_deviation(sizes: Sizes, terms: Sequence[str]) -> Model:
    """N-2 of least squares of deviations over times: what is identified, none of it negative."""
    repeated = ~np.isnan(sizes.deviations)
    if not repeated.any():
        raise InputError("each size was measured once: no deviation shows, and no noise was fitted")
    part = sizes.where(repeated)
    columns = np.column_stack([np.ones_like(part.seconds), *(part.product(term) for term in terms)])
    columns /= part.seconds[:, None]
    wanted = part.deviations / part.seconds
    used = list(range(len(terms) + 1))
    while True:
        scale = np.linalg.norm(columns[:, used], axis=0)
        solution = np.linalg.lstsq(columns[:, used] / scale, wanted, rcond=None)[0]
        spread = _errors(columns[:, used] / scale, wanted - columns[:, used] / scale @ solution)
        doubt = spread / np.maximum(np.abs(solution), 1e-300)
        if len(used) == 1 or ((solution >= 0).all() and doubt.max() <= SPREAD_MOST):
            break
        del used[int(np.argmin(solution) if (solution < 0).any() else np.argmax(doubt))]
    values, errors = np.zeros((2, len(terms) + 1))
    values[used] = np.maximum(solution, 0) / scale
    errors[used] = spread / scale
    kept = [place for place in used if place]
    model = Model(
        "N-2",
        float(values[0]),
        {terms[place - 1]: float(values[place]) for place in kept},
        {terms[place - 1]: float(errors[place]) for place in kept},
        Accuracy(0, math.nan, math.nan, math.nan),
        math.nan,
        math.nan,
        {key: (float(span.min()), float(span.max())) for key, span in part.arguments.items()},
        float(errors[0]) if used[0] == 0 else math.nan,
    )
    return _judged(model, part, part.deviations)


def residual_mixture(
    arguments: Mapping[str, np.ndarray], seconds: np.ndarray, model: Model
) -> mixtures.Mixture:
    """N′: modes of the single calls' times, relative to the model."""
    seconds = np.asarray(seconds, float)
    calls = Sizes(arguments, seconds, np.full(len(seconds), np.nan), np.ones(len(seconds), int))
    return mixtures.fit(seconds / model.at(calls) - 1)


def constant_deviation_s(sizes: Sizes, model: Model) -> float:
    """N-1: deviation of the sizes' means from the model, and of the repetitions from their mean."""
    around = np.average((sizes.seconds - model.at(sizes)) ** 2, weights=sizes.repetitions)
    within = np.average(np.nan_to_num(sizes.deviations) ** 2, weights=sizes.repetitions)
    return float(np.sqrt(around + within))


def average_flops(sizes: Sizes) -> float:
    """Floating-point operations per second of a matrix product: a ratio of sums, not a mean of ratios."""
    return float(2 * sizes.product("mnk").sum() / sizes.seconds.sum())


def _judged(model: Model, sizes: Sizes, seconds: np.ndarray) -> Model:
    predicted = model.at(sizes)
    sound = (predicted > 0) & (seconds > 0)
    count = model.parameters
    logs = np.log(predicted[sound] / seconds[sound])
    worst = np.log(1e3) ** 2 * (~sound).sum()
    mean_square = (float(logs @ logs) + worst) / len(seconds)
    criterion = len(seconds) * math.log(max(mean_square, 1e-300)) + count * math.log(len(seconds))
    positive = seconds > 0
    fitted = accuracy(predicted[positive], seconds[positive])
    return replace(model, accuracy=fitted, criterion=criterion)
