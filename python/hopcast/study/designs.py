"""Designs: the combinations of factors that a study runs.

A design is made over some factors; all combinations of the others stand beside each of its rows.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hopcast.errors import InputError
from hopcast.study.factors import MOST, Factor

Levels = tuple[Any, ...]
"""A level of each factor."""


@dataclass(frozen=True)
class Design:
    """One kind of design."""

    summary: str
    rows: Callable[[Sequence[Factor], Mapping[str, Any], str], list[Levels]]
    """Rows over some factors, made of the design's parameters."""
    parameters: Mapping[str, type]
    """Parameters with their types."""


def settings(factors: Sequence[Factor], design: Mapping[str, Any], place: str) -> Iterator[dict[str, Any]]:
    """Names and values of each cell, before conditions."""
    kind = design.get("kind", "full")
    if kind not in DESIGNS:
        raise InputError(f"{place}: unknown design '{kind}'; known: {', '.join(DESIGNS)}")
    chosen = _chosen(factors, design, place)
    given = {key: value for key, value in design.items() if key not in ("kind", "factors")}
    known = DESIGNS[kind].parameters
    for key, value in given.items():
        if key not in known:
            words = ", ".join(["kind", "factors", *known])
            raise InputError(f"{place}: unknown key '{key}' of a {kind} design; known: {words}")
        if not isinstance(value, known[key]) or isinstance(value, bool):
            raise InputError(f"{place}: {key} = {value!r}: a {known[key].__name__} is needed")
    others = [factor for factor in factors if factor not in chosen]
    crossed = math.prod(len(factor.levels) for factor in others)
    if crossed > MOST:
        raise InputError(f"{place}: {crossed:,} combinations are more than {MOST:,}")
    rows = DESIGNS[kind].rows(chosen, given, place)
    for row in rows:
        for beside in itertools.product(*(factor.levels for factor in others)):
            level = dict(zip([factor.name for factor in [*chosen, *others]], [*row, *beside], strict=True))
            # In the order of the file, whichever of them the design is over.
            named = (factor.settings(level[factor.name]) for factor in factors)
            yield {name: value for pairs in named for name, value in pairs.items()}


def _chosen(factors: Sequence[Factor], design: Mapping[str, Any], place: str) -> list[Factor]:
    """The factors that the design is over: all by default."""
    names = design.get("factors")
    if names is None:
        return list(factors)
    by_name = {factor.name: factor for factor in factors}
    for name in names:
        if name not in by_name:
            raise InputError(f"{place}: factors: unknown factor '{name}'; known: {', '.join(by_name)}")
    return [by_name[name] for name in names]


def _full(factors: Sequence[Factor], given: Mapping[str, Any], place: str) -> list[Levels]:
    cells = math.prod(len(factor.levels) for factor in factors)
    if cells > MOST:
        raise InputError(f"{place}: {cells:,} combinations are more than {MOST:,}")
    return list(itertools.product(*(factor.levels for factor in factors)))


def _random(factors: Sequence[Factor], given: Mapping[str, Any], place: str) -> list[Levels]:
    """Some rows of the full design, in its order."""
    import numpy

    rows = _full(factors, given, place)
    count = _samples(given, place)
    if count > len(rows):
        raise InputError(f"{place}: samples = {count}: all combinations are {len(rows)}")
    chosen = numpy.random.default_rng(given.get("seed", 1)).choice(len(rows), count, replace=False)
    return [rows[number] for number in sorted(chosen)]


def _latin_hypercube(factors: Sequence[Factor], given: Mapping[str, Any], place: str) -> list[Levels]:
    from scipy.stats import qmc

    sampler = qmc.LatinHypercube(len(factors), rng=given.get("seed", 1))
    shares = sampler.random(_samples(given, place))
    return [
        tuple(factor.at(float(share)) for factor, share in zip(factors, row, strict=True)) for row in shares
    ]


def _fractional(factors: Sequence[Factor], given: Mapping[str, Any], place: str) -> list[Levels]:
    import pyDOE3

    _two_levels(factors, place)
    generators, resolution = given.get("generators"), given.get("resolution")
    if (generators is None) == (resolution is None):
        raise InputError(
            f"{place}: a fractional design has 'generators', such as \"a b ab\", or 'resolution'"
        )
    try:
        if generators is not None:
            signs = pyDOE3.fracfact(generators)
        else:
            signs = pyDOE3.fracfact_by_res(len(factors), resolution)
    except Exception as error:
        raise InputError(f"{place}: {error}") from error
    if signs.shape[1] != len(factors):
        raise InputError(f"{place}: {signs.shape[1]} generators for {len(factors)} factors")
    return _of_signs(factors, signs)


def _plackett_burman(factors: Sequence[Factor], given: Mapping[str, Any], place: str) -> list[Levels]:
    import pyDOE3

    _two_levels(factors, place)
    return _of_signs(factors, pyDOE3.pbdesign(len(factors)))


def _subset(factors: Sequence[Factor], given: Mapping[str, Any], place: str) -> list[Levels]:
    import pyDOE3

    reduction = given.get("reduction", 2)
    try:
        rows = pyDOE3.gsd([len(factor.levels) for factor in factors], reduction)
    except Exception as error:
        raise InputError(f"{place}: reduction = {reduction}: {error}") from error
    return [
        tuple(factor.levels[int(number)] for factor, number in zip(factors, row, strict=True)) for row in rows
    ]


def _two_levels(factors: Sequence[Factor], place: str) -> None:
    for factor in factors:
        if len(factor.levels) != 2:
            raise InputError(f"{place}: '{factor.name}' has {len(factor.levels)} values; this design has two")


def _of_signs(factors: Sequence[Factor], signs: Any) -> list[Levels]:
    return [
        tuple(factor.levels[int(sign > 0)] for factor, sign in zip(factors, row, strict=True))
        for row in signs
    ]


def _samples(given: Mapping[str, Any], place: str) -> int:
    samples = given.get("samples")
    if samples is None or not 1 <= samples <= MOST:
        raise InputError(f"{place}: samples = {samples}: a whole number from 1 to {MOST:,}")
    return samples


DESIGNS = {
    "full": Design("All combinations.", _full, {}),
    "fractional": Design(
        "A fraction of the two-level factorial, by generators or by the resolution.",
        _fractional,
        {"generators": str, "resolution": int},
    ),
    "plackett-burman": Design("Main effects of many two-level factors.", _plackett_burman, {}),
    "subset": Design(
        "A balanced part of a factorial of any levels (a generalized subset design).",
        _subset,
        {"reduction": int},
    ),
    "latin-hypercube": Design(
        "Samples that fill ranges evenly in each factor.", _latin_hypercube, {"samples": int, "seed": int}
    ),
    "random": Design("Some of all combinations, drawn.", _random, {"samples": int, "seed": int}),
}
"""Kinds of design by name."""
