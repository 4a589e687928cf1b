"""The null model: the same comparison on a network of infinite speed.

A row that comes out the same there tests computing, MPI's software or the replay, and says nothing of the
network. Scripts ask `model` for the network model of each run; while `infinite` is in force it answers
`infinite`, in processes that a script starts, too. A script without such a result says why in its constant
`NO_NULL`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import ModuleType

from results import Result

_VARIABLE = "HOPCAST_VALIDATION_NETWORK"


def model(name: str) -> str:
    """The network model to run: `name`, or `infinite` while that is in force."""
    return os.environ.get(_VARIABLE, name)


def is_active() -> bool:
    """True while runs take the infinite network."""
    return _VARIABLE in os.environ


@contextmanager
def infinite() -> Iterator[None]:
    """Runs what is inside on the infinite network."""
    os.environ[_VARIABLE] = "infinite"
    try:
        yield
    finally:
        del os.environ[_VARIABLE]


def ratio(above: float, below: float) -> float:
    """A quotient of times; not a number where the lower one is nothing, as on an infinite network."""
    return above / below if below else math.nan


def compare(script: ModuleType, out: Path, quick: bool) -> list[Result]:
    """The results of a script, each with its kind and with what the infinite network gives."""
    rows = [replace(row, kind=row.kind or script.KIND) for row in script.compare(out, quick)]
    if hasattr(script, "NO_NULL"):
        return rows
    with infinite():
        nulls = script.compare(out, quick)
    assert len(nulls) == len(rows), f"{script.__name__}: other rows on an infinite network"
    return [replace(row, null=null.ours) for row, null in zip(rows, nulls, strict=True)]
