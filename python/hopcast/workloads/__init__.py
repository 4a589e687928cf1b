"""Workloads of a run, one module for each kind: what recognises it, its part of a request, and its start.

Each module has

- `KIND`: its name in requests and in the table of options;
- `recognises(program)`: whether the program of `hopcast.run` is one;
- `describe(program, args, kwargs)`: the fields that a request has of it;
- `inputs(request)`: roles, names and files of the inputs on which its result depends;
- `start(request, watch)`: its run; None in processes that do not report.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from types import ModuleType

from hopcast.errors import InputError

_KINDS = ("compiled", "mpi4py", "function", "jobs", "trace", "pattern")
"""In the order in which they are asked whether they recognise a program."""


def named(kind: str) -> ModuleType:
    """The module of a kind of workload."""
    return import_module(f"hopcast.workloads.{kind}")


def recognised(program: Callable | str | os.PathLike) -> ModuleType:
    """The module of the workload that a program is; a name that is nothing else is a pattern's."""
    return next(module for kind in _KINDS if (module := named(kind)).recognises(program))


def check_text(what: str, name: str) -> None:
    """Refuses a name in bytes that are no text."""
    if not name.isascii() and os.fsencode(name) != name.encode(errors="replace"):
        raise InputError(f"{what}: its name is no text in UTF-8: {os.fsencode(name)!r}")


def refuse_arguments(name: str, given: tuple, why: str) -> None:
    """Refuses arguments of a workload that takes none."""
    if given:
        raise InputError(f"{name}: {why}, but here is '{given[0]}'")
