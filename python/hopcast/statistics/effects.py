"""Main effects, interactions and analysis of variance of a designed experiment.

A table is a mapping of columns of equal length: factors, whose values are levels (texts, numbers, truth
values), and one response. The model of the analysis is

    response = mean + Σ effect(factor) + Σ effect(factor × factor) + … + error    error ~ Normal(0, σ²)

with sums of squares of type II: each term beside all those that do not contain it, so that factors of
incomplete designs are not credited with each other's effects. In a full factorial, where each cell has as
many measurements, they add up to the total. Where the highest interactions leave no
degrees of freedom for the error, as in a factorial without repetitions, they are the error. A fraction of a
factorial does not tell all terms apart: the line of a term names its `aliases`.

Source: Fisher 1925; Montgomery, "Design and Analysis of Experiments"; statsmodels.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hopcast.errors import InputError
from hopcast.statistics import aliases
from hopcast.statistics.intervals import Interval, student

Table = Mapping[str, Sequence[Any]]
RESIDUAL = "residual"


@dataclass(frozen=True)
class LevelMean:
    """Mean response where some factors have these levels."""

    levels: tuple[Any, ...]
    mean: Interval
    effect: float
    """Mean less the mean of all; of an interaction, less the main effects, too."""


@dataclass(frozen=True)
class Effects:
    """Mean responses by the levels of one factor, or of several together."""

    factors: tuple[str, ...]
    levels: tuple[LevelMean, ...]
    """In the order in which the levels occur first; numbers ascend."""
    span: float
    """Largest less smallest effect."""


@dataclass(frozen=True)
class VarianceTerm:
    """A line of the analysis of variance."""

    factors: tuple[str, ...]
    """Factors of the term; `("residual",)` for the error."""
    squares: float
    """Sum of squares."""
    freedom: float
    """Degrees of freedom."""
    f: float
    p_value: float
    share: float
    """Sum of squares over that of all deviations from the mean (η²)."""
    aliases: tuple[tuple[str, ...], ...] = ()
    """Other terms whose effects the line holds: the design does not tell them apart."""


@dataclass(frozen=True)
class Analysis:
    """An analysis of variance."""

    terms: tuple[VarianceTerm, ...]
    """The residual comes last."""
    lost: tuple[tuple[str, ...], ...]
    """Terms of which the design tells only a part apart, and which are left out."""
    order: int
    """Most factors of a term; longer ones are the error."""


def main_effects(
    table: Table, factors: Sequence[str], response: str, confidence: float = 0.95
) -> list[Effects]:
    """Mean response at each level of each factor, with Student intervals."""
    values = _response(table, factors, response)
    return [_by_levels(table, (factor,), values, confidence) for factor in factors]


def interactions(
    table: Table, factors: Sequence[str], response: str, confidence: float = 0.95
) -> list[Effects]:
    """Mean response at each pair of levels of each two factors, and what the two main effects leave of it."""
    values = _response(table, factors, response)
    return [_by_levels(table, pair, values, confidence) for pair in itertools.combinations(factors, 2)]


def analysis_of_variance(table: Table, factors: Sequence[str], response: str, *, order: int = 2) -> Analysis:
    """Analysis of variance of the factors and their interactions up to `order` factors.

    Factors of one level are left out. Terms that a design does not tell apart are named as aliases.
    """
    import pandas
    from statsmodels.formula.api import ols
    from statsmodels.stats.anova import anova_lm

    values = _response(table, factors, response)
    used = [factor for factor in factors if len(set(table[factor])) > 1]
    if not used:
        raise InputError(f"no factor of {', '.join(factors)} has two levels: nothing to analyse")
    if values.max() == values.min():
        raise InputError(f"{response} is the same in all cells: nothing to analyse")
    design = aliases.of_design(table, used, order)
    names = {factor: f"f{number}" for number, factor in enumerate(used)}
    frame = pandas.DataFrame(
        {name: [str(level) for level in table[factor]] for factor, name in names.items()} | {"y": values}
    )
    for size in range(min(order, len(used)), 0, -1):
        terms = [term for term in design.apart if len(term) <= size]
        if not terms:
            raise InputError(f"{len(values)} cells do not tell {', '.join(used)} apart: take more cells")
        words = [":".join(f"C({names[factor]}, Sum)" for factor in term) for term in terms]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of rank, which the terms have
            model = ols(f"y ~ {' + '.join(words)}", frame).fit()
        if model.df_resid >= 1:
            break
    else:
        raise InputError(
            f"{len(values)} cells for the effects of {', '.join(used)}: none is left to tell errors by; "
            "repeat some cells, with other seeds"
        )
    by_word = dict(zip(words, terms, strict=True))
    total = float(((values - values.mean()) ** 2).sum()) or math.nan
    lines = [
        VarianceTerm(
            by_word.get(str(label), (RESIDUAL,)),
            float(line["sum_sq"]),
            float(line["df"]),
            float(line["F"]),
            float(line["PR(>F)"]),
            float(line["sum_sq"]) / total,
            tuple(design.aliases.get(by_word.get(str(label), ()), ())),
        )
        for label, line in anova_lm(model, typ=2).iterrows()
    ]
    return Analysis(tuple(lines), tuple(design.lost), size)


def _response(table: Table, factors: Sequence[str], response: str) -> np.ndarray:
    for name in (*factors, response):
        if name not in table:
            raise InputError(f"no column '{name}'; columns: {', '.join(table)}")
    lengths = {len(table[name]) for name in (*factors, response)}
    if len(lengths) > 1:
        raise InputError(f"columns of different lengths: {', '.join(map(str, sorted(lengths)))}")
    values = np.asarray(table[response], float)
    if not len(values) or not np.isfinite(values).all():
        raise InputError(
            f"column '{response}': finite numbers are wanted, at least one; leave failed cells out"
        )
    return values


def _by_levels(table: Table, factors: tuple[str, ...], values: np.ndarray, confidence: float) -> Effects:
    whole = float(values.mean())
    columns = [list(table[factor]) for factor in factors]
    singles = [_means(column, values) for column in columns]
    keys = list(zip(*columns, strict=True))
    order = sorted(
        dict.fromkeys(keys),
        key=lambda levels: tuple(
            _place(column, level) for column, level in zip(columns, levels, strict=True)
        ),
    )
    found = []
    for levels in order:
        chosen = values[np.array([key == levels for key in keys])]
        effect = float(chosen.mean()) - whole
        if len(factors) > 1:
            effect -= sum(means[level] - whole for means, level in zip(singles, levels, strict=True))
        found.append(LevelMean(levels, student(chosen, confidence=confidence), effect))
    effects = [level.effect for level in found]
    return Effects(factors, tuple(found), max(effects) - min(effects))


def _means(column: list, values: np.ndarray) -> dict[Any, float]:
    levels = np.array([str(level) for level in column])
    return {level: float(values[levels == str(level)].mean()) for level in dict.fromkeys(column)}


def _place(column: list, level: Any) -> tuple[float, int]:
    """Sorts numbers by value, other levels by their first place."""
    numbers = all(isinstance(one, int | float) for one in column)
    return (float(level), 0) if numbers else (0.0, column.index(level))
