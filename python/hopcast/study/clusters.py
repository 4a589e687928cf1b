"""Drawn clusters of a study: a table of processors for each cell, in a file that its platform names.

    [clusters]
    "nodes.csv" = { model = "cluster.toml", nodes = 256, seed = "{cluster}", day = "{day}" }
    [set]
    "compute.kernels.0.table" = "nodes.csv"

draws what `hopcast cluster draw` does, with values that may be names in braces: each cell has the processors
of its own cluster and day, and the same seed gives the same processors whatever else varies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopcast.errors import InputError

if TYPE_CHECKING:
    from hopcast.cluster.model import ClusterModel

_WHOLE = {"nodes": 1, "seed": None, "day": 0, "remove_slowest": 0, "first": 0}
"""Whole numbers and the least of them."""
_NUMBERS = ("gamma", "spatial", "temporal")
_FIXED = ("model", "host_names")
KEYS = (*_FIXED, *_WHOLE, *_NUMBERS)


@dataclass(frozen=True)
class Drawing:
    """A file of processors that are drawn for each cell."""

    model: ClusterModel
    host_names: str
    values: Mapping[str, Any]
    """Values of the draw; texts hold names in braces."""
    place: str
    """Name of the drawing in errors."""

    def templates(self) -> list[str]:
        """Texts that may hold names."""
        return [str(value) for value in self.values.values()]


def read(written: Mapping[str, Any], directory: Path, place: str) -> Drawing:
    """A drawing of a study file. Raises `InputError` for what is none."""
    from hopcast.cluster import model

    if not isinstance(written, Mapping):
        raise InputError(f"{place}: a table is wanted: {{ model = …, nodes = …, seed = … }}")
    for key in written:
        if key not in KEYS:
            raise InputError(f"{place}: unknown key '{key}'; known: {', '.join(KEYS)}")
    for key in ("model", "nodes"):
        if key not in written:
            raise InputError(f"{place}: '{key}' is missing")
    names = written.get("host_names", "{}")
    if not isinstance(names, str) or "{}" not in names:
        raise InputError(f"{place}: host_names = {names!r} has no {{}} for the number")
    values = {key: value for key, value in written.items() if key not in _FIXED}
    return Drawing(model.read(directory / str(written["model"])), names, values, place)


class Tables:
    """Texts of drawn tables, each made once."""

    def __init__(self, filled: Callable[[Any, Mapping[str, Any]], Any]) -> None:
        """`filled(template, settings)`: a template with values instead of names."""
        self._filled = filled
        self._texts: dict[tuple, str] = {}

    def text(self, drawing: Drawing, settings: Mapping[str, Any]) -> str:
        """Table of the cell of these settings."""
        values = {key: self._filled(value, settings) for key, value in drawing.values.items()}
        numbers = {key: _number(key, value, drawing.place) for key, value in values.items()}
        known = (drawing.place, *sorted(numbers.items()))
        if known not in self._texts:
            self._texts[known] = _drawn(drawing, numbers)
        return self._texts[known]


def _number(key: str, value: Any, place: str) -> float:
    """A value of a draw, which a template may have made a text."""
    try:
        number = int(str(value)) if key in _WHOLE else float(value)
    except (TypeError, ValueError):
        number = None
    least = _WHOLE.get(key, 0)
    if number is None or isinstance(value, bool) or (least is not None and not number >= least):
        kind = "whole number" if key in _WHOLE else "number"
        bound = "" if least is None else f" from {least} on"
        raise InputError(f"{place}: {key} = {value!r}: a {kind}{bound} is wanted")
    return number


def _drawn(drawing: Drawing, numbers: Mapping[str, Any]) -> str:
    from hopcast.cluster import draw, generic, table

    changed = generic.changed(
        drawing.model, spatial=numbers.get("spatial", 1.0), temporal=numbers.get("temporal", 1.0)
    )
    processors = draw.draw(
        changed,
        numbers["nodes"],
        seed=numbers.get("seed", 1),
        day=numbers.get("day"),
        gamma=numbers.get("gamma"),
        remove_slowest=numbers.get("remove_slowest", 0),
    )
    said = ", ".join(f"{key} {number}" for key, number in numbers.items())
    return table.text(
        processors,
        f"Drawn for a cell: {said}\nModel: {changed.source}",
        drawing.host_names,
        numbers.get("first", 0),
    )
