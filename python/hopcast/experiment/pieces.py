"""Pieces of an experiment: what decides each, its result, and the function that computes it."""

from __future__ import annotations

import hashlib
import importlib
import json
import time
import traceback
from collections.abc import Callable, Mapping
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
    state, why, given = DONE, "", None
    try:
        given = function(inputs)
    except reraised:
        raise
    except (InputError, ProgramFailure) as error:
        state, why = FAILED, _first_line(error)
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        state = FAILED
        why = f"{type(error).__name__}: {_first_line(error)} ({place.filename}:{place.lineno})"
    except BaseException as error:
        # A failed check of the core is no Exception; Ctrl-C and the end of the process are no results.
        if type(error).__name__ != "PanicException":
            raise
        state, why = FAILED, f"hopcast's own check failed: {_first_line(error)}"
    costs = {"host": platform.node(), "wall_s": time.perf_counter() - start_s}
    if given is None or isinstance(given, Mapping):
        own = dict(given or {})
        costs |= own.pop("costs", {})
        return Result(state, why, own, costs=costs)
    return Result(state, why, rows=tuple(dict(row) for row in given), costs=costs)


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]
