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
    share: float
    """Share of the sum of squares."""
    freedom: float
    p_value: float


def analysis(
    rows: Sequence[dict[str, Any]], factors: Sequence[str], response: str
) -> tuple[list[Term], str | None]:
    """Analysis of variance of main effects and interactions of two factors; or why there is none."""
    done = [row for row in rows if row["state"] == DONE and isinstance(row[response], (int, float))]
    varied = {name: len({str(row[name]) for row in done}) for name in factors}
    varied = {name: levels for name, levels in varied.items() if levels > 1}
    if len(varied) < 2:
        return [], None
    effects_most = sum(varied.values()) + sum(one * two for one, two in combinations(varied.values(), 2))
    if effects_most > _EFFECTS_MOST:
        return [], f"No analysis of variance: {effects_most:,} effects are more than {_EFFECTS_MOST}."
    from hopcast.errors import InputError
    from hopcast.statistics.effects import analysis_of_variance

    table = {name: [row[name] for row in done] for name in [*varied, response]}
    try:
        terms = analysis_of_variance(table, list(varied), response)
    except InputError as error:
        return [], f"No analysis of variance: {error}."
    found = [Term(" × ".join(term.factors), term.share, term.freedom, term.p_value) for term in terms]
    return sorted(found, key=lambda term: -term.share), None


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
