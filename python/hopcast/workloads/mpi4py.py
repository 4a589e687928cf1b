"""Programs in Python that import mpi4py: all ranks in one interpreter, in a process of its own."""

from __future__ import annotations

import os
from collections.abc import Callable

from hopcast.live.library import is_mpi4py_program
from hopcast.workloads.compiled import describe, inputs, start

__all__ = ["KIND", "describe", "inputs", "recognises", "start"]

KIND = "mpi4py"


def recognises(program: Callable | str | os.PathLike) -> bool:
    return not callable(program) and is_mpi4py_program(os.fspath(program))
