"""Kernels of a platform beside measured calls: mean times of all sizes, by function and processor.

Calls are those of `kernel_calls`; columns `function`, `node` and `cpu` say whose they are, as the program of
`hopcast calibrate` for kernels writes them. The time is that of the platform's formula, without noise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hopcast import core
from hopcast.calibrate import kernel_calls, kernels, tables
from hopcast.calibrate.accuracy import Accuracy, accuracy
from hopcast.calibrate.host_kernels import ARGUMENTS
from hopcast.errors import InputError

FUNCTION, NODE, CHIP = "function", "node", "cpu"
"""Columns: whose calls, and on which host and socket of the platform."""


@dataclass(frozen=True)
class Row:
    """Errors of one function on one processor, or on all."""

    function: str
    place: str
    """Node and chip; empty for all of them."""
    accuracy: Accuracy


def check(platform: str, place: Path, function: str | None = None, host_names: str = "{}") -> Iterator[Row]:
    """Rows of each function: its processors, where there are several, and all calls.

    function: of a table that does not name it, or the only one to compare. host_names: name of a node's host.
    """
    columns = tables.head(place)
    if FUNCTION not in columns and function is None:
        raise InputError(f"{place}: no column '{FUNCTION}': name it with --function")
    named = kernel_calls.read(place, (), (FUNCTION,)) if FUNCTION in columns else ()
    known = [group.removeprefix(f"{FUNCTION} ") for group in named]
    if function is not None and known and function not in known:
        raise InputError(f"{place}: no call of '{function}'; functions: {', '.join(known)}")
    for name in known if function is None else [function]:
        groups = kernel_calls.read(
            place, _arguments(name, columns), [*_place(columns)], {FUNCTION: name} if known else None
        )
        errors = {group: _times(platform, name, group, calls, host_names) for group, calls in groups.items()}
        if len(errors) > 1:
            for group, both in errors.items():
                yield Row(name, group, accuracy(*both))
        predicted, measured = (np.concatenate(part) for part in zip(*errors.values(), strict=True))
        yield Row(name, "", accuracy(predicted, measured))


def _arguments(function: str, columns: list[str]) -> list[str]:
    """Columns of a function's arguments; K of a triangle is its order, which a table may have, too."""
    own = ARGUMENTS.get(function, "n").split(",")
    return [*own, *(name for name in ("k",) if name in columns and name not in own)]


def _place(columns: list[str]) -> list[str]:
    return [name for name in (NODE, CHIP) if name in columns]


def _times(
    platform: str, function: str, group: str, calls: kernel_calls.Calls, host_names: str
) -> tuple[np.ndarray, np.ndarray]:
    """Predicted and measured mean times of every size [s]."""
    sizes = kernels.group(calls.arguments, calls.seconds)
    sizes = sizes.where(sizes.seconds > 0)
    if not len(sizes.seconds):
        where = group or "all processors"
        raise InputError(f"{function} on {where}: no call takes time: the clock is too coarse")
    at = dict(word.split(" ", 1) for word in group.split(", ") if word)
    arguments = {name.upper(): values.tolist() for name, values in sizes.arguments.items()}
    try:
        place = host_names.replace("{}", at.get(NODE, "0")), int(at.get(CHIP, "0"))
    except ValueError:
        raise InputError(f"column '{CHIP}': '{at[CHIP]}' is no number of a socket") from None
    predicted = core.kernel_times(platform, function, place, len(sizes.seconds), arguments)
    return np.array(predicted), sizes.seconds
