"""Factors of a study: a name, and the values that it takes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hopcast.errors import InputError

_RANGE = ("from", "to", "step", "count", "scale", "unit")
MOST = 1_000_000
"""Most values of a factor, and most cells of a study before conditions."""


@dataclass(frozen=True)
class Span:
    """Values of a range, which a design may also take between its steps."""

    low: float
    high: float
    step: float | None
    """Distance of two values; None where `count` says how many there are."""
    count: int | None
    is_logarithmic: bool
    unit: str

    def at(self, share: float) -> Any:
        """Value at a share 0..1 of the range: a whole number if both ends are."""
        if self.is_logarithmic:
            value = self.low * (self.high / self.low) ** share
        else:
            value = self.low + (self.high - self.low) * share
        return self._written(value, isinstance(self.low, int) and isinstance(self.high, int))

    def values(self) -> list[Any]:
        """The values at its steps, without those that rounding makes equal."""
        if self.count is not None:
            shares = [number / (self.count - 1) for number in range(self.count)]
            return list(dict.fromkeys(self.at(share) for share in shares))
        assert self.step is not None, "a range has a step or a count"
        steps = math.floor((self.high - self.low) / self.step + 1e-9)
        whole = all(isinstance(value, int) for value in (self.low, self.step))
        return [self._written(self.low + number * self.step, whole) for number in range(steps + 1)]

    def _written(self, value: float, whole: bool) -> Any:
        number = round(value) if whole else float(f"{value:.12g}")
        return f"{number:g} {self.unit}" if self.unit else number


@dataclass(frozen=True)
class Factor:
    """One of the things that a study varies."""

    name: str
    levels: tuple[Any, ...]
    """Values; tables give several names a value at once."""
    span: Span | None = None
    """The range that they are of, if they are of one."""

    def at(self, share: float) -> Any:
        """Value at a share 0..1 of its range or list."""
        if self.span is not None:
            return self.span.at(share)
        return self.levels[min(len(self.levels) - 1, int(share * len(self.levels)))]

    def settings(self, level: Any) -> dict[str, Any]:
        """Names and values of a level: those of a table, beside a label of the whole if there are several."""
        if not isinstance(level, Mapping):
            return {self.name: level}
        if len(self.levels) == 1:
            return dict(level)
        return {self.name: ", ".join(f"{name}={value}" for name, value in level.items()), **level}


def factor(name: str, written: Any, place: str) -> Factor:
    """Reads a factor: one value, a list, or a range `{from = 1, to = 9, step = 2}`."""
    if isinstance(written, Mapping) and not written.keys().isdisjoint(_RANGE):
        span = _span(written, place)
        return Factor(name, tuple(span.values()), span)
    levels = written if isinstance(written, list) else [written]
    if not levels:
        raise InputError(f"{place}: has no value")
    names = set(levels[0]) if isinstance(levels[0], Mapping) else None
    for level in levels:
        if not isinstance(level, (str, int, float, bool, Mapping)):
            raise InputError(f"{place}: {level!r} is no value of a factor")
        if (set(level) if isinstance(level, Mapping) else None) != names:
            raise InputError(f"{place}: {level!r}: all tables of a factor give the same names")
    texts = list(map(repr, levels))
    if twice := [text for text in dict.fromkeys(texts) if texts.count(text) > 1]:
        raise InputError(f"{place}: has the value {twice[0]} twice; runs are repeated by a factor 'seed'")
    return Factor(name, tuple(levels))


def _span(written: Mapping[str, Any], place: str) -> Span:
    for key in written:
        if key not in _RANGE:
            raise InputError(f"{place}: unknown key '{key}' of a range; known: {', '.join(_RANGE)}")
    low, high = (_number(written, key, place) for key in ("from", "to"))
    scale = written.get("scale", "linear")
    if scale not in ("linear", "logarithmic"):
        raise InputError(f"{place}: scale = {scale!r}; known: linear, logarithmic")
    if high < low or (scale == "logarithmic" and low <= 0):
        above = ", which begins above 0" if scale == "logarithmic" else ""
        raise InputError(f"{place}: from {low} to {high} is no {scale} range{above}")
    step, count = written.get("step"), written.get("count")
    if step is not None and (count is not None or scale == "logarithmic"):
        raise InputError(f"{place}: a range has a step or a count, and a logarithmic one has a count")
    if step is None and count is None:
        step = 1
    if count is not None and (not isinstance(count, int) or not 2 <= count <= MOST):
        raise InputError(f"{place}: count = {count!r}: a whole number from 2 on")
    if step is not None and (not isinstance(step, (int, float)) or step <= 0 or (high - low) / step > MOST):
        raise InputError(f"{place}: step = {step!r}: a number above 0, for at most {MOST:,} values")
    return Span(low, high, step, count, scale == "logarithmic", str(written.get("unit", "")))


def _number(written: Mapping[str, Any], key: str, place: str) -> float:
    value = written.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InputError(f"{place}: a range needs '{key}', a number")
    return value
