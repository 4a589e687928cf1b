"""Compiled MPI programs: each runs in a process of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopcast.core_run import Watch
from hopcast.errors import InputError
from hopcast.live.library import is_executable
from hopcast.workloads import refuse_arguments

if TYPE_CHECKING:
    from hopcast.outcome import Report
    from hopcast.request import RunRequest

KIND = "compiled"


def recognises(program: Callable | str | os.PathLike) -> bool:
    return not callable(program) and is_executable(os.fspath(program))


def describe(program: str | os.PathLike, args: tuple, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    name = os.fspath(program)
    refuse_arguments(name, tuple(kwargs), "a program of its own takes 'args', as on its command line")
    path, *words = (_text(str(word)) for word in (name, *args))
    return {"path": path, "arguments": words}


def _text(word: str) -> str:
    """A word with a sign for each byte that is no text; the program gets the bytes."""
    return os.fsencode(word).decode(errors="replace")


def inputs(request: RunRequest) -> Iterator[tuple[str, str, list[Path]]]:
    path = request.workload["path"]
    yield "program", path, [Path(path)]
    how, _, file = request.options.get("compute", "").partition("=")
    if how == "profile" and Path(file).is_file():
        yield "profile", file, [Path(file)]


_ONE_PROCESS = ("debug_rank", "tool", "fold_memory")
"""Options of a run in one process."""


def start(request: RunRequest, watch: Watch) -> Report | None:
    from hopcast.live import run as live

    workload = request.workload
    args, _ = request.call
    words = [str(word) for word in args] or workload.get("arguments", [])
    if watch.peers is None:
        return live.simulate(request, [workload["path"], *words], watch.progress, watch.parts)
    _check_spread(request)
    try:
        return live.simulate(request, [workload["path"], *words], watch.progress, watch.parts, watch.peers)
    except InputError as error:
        if error.all_know:
            raise
        watch.peers.end_all()
        raise
    except BaseException:
        watch.peers.end_all()
        raise


def _check_spread(request: RunRequest) -> None:
    """Refuses what needs all ranks in one process."""
    path = request.workload["path"]
    if request.workload["kind"] != KIND:
        raise InputError(
            f"{path}: the ranks of such a program share one interpreter; start it without mpiexec"
        )
    for name in _ONE_PROCESS:
        if request.options.get(name) is not None:
            raise InputError(
                f"--{name.replace('_', '-')} is for runs in one process; start it without mpiexec"
            )
    if request.options.get("isolation") == "process":
        raise InputError("--isolation process is for runs in one process; start it without mpiexec")
    how, _, file = request.options.get("compute", "").partition("=")
    if how == "profile" and not Path(file).is_file():
        raise InputError(
            f"--compute profile={file}: a profile is measured in one process; start it without mpiexec first"
        )
