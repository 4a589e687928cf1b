"""Pieces of an experiment: what decides each, its result, and the function that computes it."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from hopcast.errors import InputError, ProgramFailure

DONE = "done"
FAILED = "failed"
LOST = "lost"


@dataclass(frozen=True)
class Piece:
    """One line of an experiment, or one cell of a study."""

    number: int
    """Place in the experiment, from 0."""
    parameters: Mapping[str, Any]
    """Values of the columns, as its row shows them."""
    inputs: Mapping[str, Any] = field(default_factory=dict)
    """Everything on which the result depends, as JSON has it."""

    @cached_property
    def key(self) -> str:
        """Hash of the inputs: pieces with the same key have the same result."""
        text = json.dumps(self.inputs, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()


@dataclass(frozen=True)
class Result:
    """Result of a piece."""

    state: str
    """"done"; "failed", if it would fail again; "lost", if its worker or its node died: it is run again."""
    why: str = ""
    """Reason in one line, of a piece that is not done."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """Named values that depend on the inputs alone."""
    rows: tuple[Mapping[str, Any], ...] = ()
    """Rows of measurements, if a piece has more than one."""
    costs: Mapping[str, Any] = field(default_factory=dict)
    """Time, place and memory of its computation, which differ each time."""
    by_program: bool = False
    """True if the simulated program failed."""

    def to_json(self) -> str:
        """The result as JSON."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @staticmethod
    def from_json(text: str) -> Result:
        """Reads what `to_json` wrote."""
        fields = json.loads(text)
        return Result(**fields | {"rows": tuple(fields["rows"])})


@dataclass(frozen=True)
class Work:
    """Computation of pieces, which any process on any machine can find by its name."""

    function: str
    """`module:name` of a function of a piece's inputs, which gives its values or its rows."""
    directory: str
    """Folder in which relative paths of the inputs begin."""

    def found(self) -> Callable[[Mapping[str, Any]], Any]:
        """The function itself."""
        module, _, name = self.function.partition(":")
        return getattr(importlib.import_module(module), name)


def perform(
    function: Callable[[Mapping[str, Any]], Any],
    inputs: Mapping[str, Any],
    reraised: tuple[type[Exception], ...] = (),
) -> Result:
    """Computes a piece. A failure is a result which says why, unless it is one of `reraised`."""
    import platform

    start_s = time.perf_counter()
    state, why, given, by_program = DONE, "", Measured(), False
    try:
        given = measured(function(inputs))
    except reraised:
        raise
    except (InputError, ProgramFailure) as error:
        state, why, by_program = FAILED, _first_line(error), isinstance(error, ProgramFailure)
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        state = FAILED
        why = f"{type(error).__name__}: {_first_line(error)} ({place.filename}:{place.lineno})"
    except BaseException as error:
        # A failed check of the core is no Exception; Ctrl-C and the end of the process are no results.
        if type(error).__name__ != "PanicException":
            raise
        state, why = FAILED, f"hopcast's own check failed: {_first_line(error)}"
    costs = {"host": platform.node(), "wall_s": time.perf_counter() - start_s, **given.costs}
    return Result(state, why, given.values, given.rows, costs, by_program)


@dataclass(frozen=True)
class Measured:
    """Values, or rows of measurements, of a piece, and what they have cost."""

    values: Mapping[str, Any] = field(default_factory=dict)
    rows: tuple[Mapping[str, Any], ...] = ()
    costs: Mapping[str, Any] = field(default_factory=dict)


def measured(given: Any) -> Measured:
    """The result of a function: values by name, several such rows, or nothing; each as JSON has it."""
    if isinstance(given, Measured):
        return given
    if given is None:
        return Measured()
    if isinstance(given, Mapping):
        return Measured(_row(given))
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise InputError(f"a piece gives values by name, or rows of them, and not {given!r}")
    return Measured(rows=tuple(_row(row) for row in given))


def _row(row: Any) -> dict[str, Any]:
    if not isinstance(row, Mapping):
        raise InputError(f"a row of a piece has values by name, and is not {row!r}")
    return {str(name): _value(value, str(name)) for name, value in row.items()}


def _value(value: Any, name: str) -> Any:
    """The value, or the number that one of a library for arrays holds."""
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        return value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [_value(one, name) for one in value]
    if isinstance(value, Mapping):
        return {str(key): _value(one, name) for key, one in value.items()}
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise InputError(f"'{name}' of a piece is a {type(value).__name__}: numbers, texts and lists are kept")


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]
