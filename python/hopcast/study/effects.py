"""Effects of a study's factors: the mean of a response at each level, over all that varies beside it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from typing import Any

from hopcast.experiment.pieces import DONE

_QUANTITY = re.compile(r"([-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*([A-Za-z/%µ]*)")
_BINARY = {"": 1, "B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


@dataclass(frozen=True)
class Level:
    """Cells in which a factor has one value."""

    value: Any
    number: float | None
    """The value on an axis; None for one that is no quantity."""
    mean: float
    least: float
    most: float
    cells: int
    interval: tuple[float, float] | None
    """90 % Student interval of the mean; None where there are no two different values."""


@dataclass(frozen=True)
class Effect:
    """Response at the levels of a factor."""

    factor: str
    levels: tuple[Level, ...]

    @property
    def size(self) -> float:
        """Largest mean over the smallest."""
        means = [level.mean for level in self.levels]
        return max(means) / min(means) if min(means) > 0 else 1.0

    @property
    def is_quantity(self) -> bool:
        """True if all levels are quantities of one unit."""
        return all(level.number is not None for level in self.levels)


def effects(rows: Sequence[dict[str, Any]], factors: Sequence[str], response: str) -> list[Effect]:
    """Effects of the factors that take several values, the largest first."""
    done = [row for row in rows if row["state"] == DONE and isinstance(row[response], (int, float))]
    found = [_effect(done, factor, response) for factor in factors]
    return sorted((effect for effect in found if len(effect.levels) > 1), key=lambda effect: -effect.size)


def _effect(rows: Sequence[dict[str, Any]], factor: str, response: str) -> Effect:
    values: dict[Any, list[float]] = {}
    for row in rows:
        values.setdefault(row[factor], []).append(row[response])
    numbers = quantities(list(values))
    levels = [
        Level(value, number, fmean(found), min(found), max(found), len(found), _interval(found))
        for (value, found), number in zip(values.items(), numbers, strict=True)
    ]
    if all(number is not None for number in numbers):
        levels.sort(key=lambda level: level.number or 0.0)
    return Effect(factor, tuple(levels))


def _interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Interval of the mean, over all that varies beside a level."""
    if min(values) == max(values):
        return None
    from hopcast.statistics.intervals import student

    found = student(values, confidence=0.9)
    return found.low, found.high


@dataclass(frozen=True)
class Term:
    """A line of the analysis of variance."""

    name: str
    """Factors of the term, and of its aliases: `a × b = c × d`."""
    share: float
    """Share of the sum of squares."""
    freedom: float
    p_value: float


@dataclass(frozen=True)
class Analysis:
    """The analysis of variance of a response."""

    terms: tuple[Term, ...] = ()
    """The largest first."""
    notes: tuple[str, ...] = ()
    """Sentences: reason why there is none, or what its lines hold beside their terms."""


def analysis(
    rows: Sequence[dict[str, Any]], factors: Sequence[str], response: str, repetitions: Sequence[str] = ()
) -> Analysis:
    """Analysis of variance of main effects and interactions of two factors.

    repetitions: factors whose levels repeat the others' cells: their differences are the error.
    """
    done = [row for row in rows if row["state"] == DONE and isinstance(row[response], (int, float))]
    varied = {name: len({str(row[name]) for row in done}) for name in factors}
    repeated = any(varied.get(name, 0) > 1 for name in repetitions)
    varied = {name: levels for name, levels in varied.items() if levels > 1 and name not in repetitions}
    if len(varied) < (1 if repeated else 2):
        return Analysis()
    effects_most = sum(varied.values()) + sum(one * two for one, two in combinations(varied.values(), 2))
    if effects_most > _EFFECTS_MOST:
        return Analysis(
            notes=(f"No analysis of variance: {effects_most:,} effects are more than {_EFFECTS_MOST}.",)
        )
    from hopcast.errors import InputError
    from hopcast.statistics.effects import analysis_of_variance

    table = {name: [row[name] for row in done] for name in [*varied, response]}
    try:
        found = analysis_of_variance(table, list(varied), response)
    except InputError as error:
        return Analysis(notes=(f"No analysis of variance: {error}.",))
    terms = [
        Term(" = ".join(map(_product, (term.factors, *term.aliases))), term.share, term.freedom, term.p_value)
        for term in found.terms
    ]
    notes = []
    if any(term.aliases for term in found.terms):
        notes.append("Terms with = between them are aliases: this design does not tell them apart.")
    if found.lost:
        lost = ", ".join(map(_product, found.lost))
        notes.append(f"Left out, since the cells tell them apart only in part: {lost}.")
    if found.order < min(2, len(varied)):
        notes.append("Without repetitions the interactions are the error: they are the residual.")
    return Analysis(tuple(sorted(terms, key=lambda term: -term.share)), tuple(notes))


def _product(factors: Sequence[str]) -> str:
    return " × ".join(factors)


@dataclass(frozen=True)
class Interaction:
    """Means of a response at each two levels of two factors."""

    factors: tuple[str, str]
    """The factor along the axis, and that of the lines."""
    across: tuple[Level, ...]
    """Levels of the first factor."""
    lines: tuple[tuple[Any, tuple[float | None, ...]], ...]
    """By level of the second factor the means at the levels of the first; None where there is no cell."""
    size: float
    """Largest part of a mean that the two main effects leave, over the mean of all."""


def interactions(rows: Sequence[dict[str, Any]], factors: Sequence[str], response: str) -> list[Interaction]:
    """Interactions of each two factors whose levels meet, the largest first."""
    done = [row for row in rows if row["state"] == DONE and isinstance(row[response], (int, float))]
    found = [_interaction(done, pair, response) for pair in combinations(factors, 2)]
    return sorted((one for one in found if one is not None), key=lambda one: -one.size)


_LINES_MOST = 8
"""Most lines of an interaction that a reader tells apart."""


def _interaction(rows: Sequence[dict[str, Any]], pair: tuple[str, str], response: str) -> Interaction | None:
    one, two = (_effect(rows, factor, response) for factor in pair)
    if len(one.levels) < len(two.levels):
        one, two = two, one
    if len(two.levels) < 2 or len(two.levels) > _LINES_MOST:
        return None
    cells: dict[tuple[Any, Any], list[float]] = {}
    for row in rows:
        cells.setdefault((row[one.factor], row[two.factor]), []).append(row[response])
    whole = fmean(row[response] for row in rows)
    lines, left = [], 0.0
    for line in two.levels:
        means = []
        for level in one.levels:
            values = cells.get((level.value, line.value))
            means.append(fmean(values) if values else None)
            if values:
                left = max(left, abs(fmean(values) - level.mean - line.mean + whole))
        lines.append((line.value, tuple(means)))
    if len(cells) < 4 or whole == 0:
        return None
    return Interaction((one.factor, two.factor), one.levels, tuple(lines), left / abs(whole))


_EFFECTS_MOST = 300
"""Most effects of levels and pairs of levels: the analysis takes the cube of them."""


def quantities(values: Sequence[Any]) -> list[float | None]:
    """Numbers of values for an axis: of "10 GB/s" 10 if all are in GB/s, of sizes their bytes."""
    if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values):
        return [float(value) for value in values]
    found = [_QUANTITY.fullmatch(str(value)) for value in values]
    parsed = [(float(match[1]), match[2]) for match in found if match is not None]
    unknown: list[float | None] = [None] * len(values)
    if len(parsed) < len(values):
        return unknown
    if all(unit in _BINARY for _, unit in parsed):
        return [number * _BINARY[unit] for number, unit in parsed]
    if len({unit for _, unit in parsed}) == 1:
        return [number for number, _ in parsed]
    return unknown
