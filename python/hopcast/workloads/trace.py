"""Recorded runs: a folder, one of its files, or a tar archive."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopcast import _core, core_run
from hopcast.core_run import Watch
from hopcast.errors import InputError
from hopcast.live.library import refuse_what_starts_programs
from hopcast.workloads import check_text, refuse_arguments

if TYPE_CHECKING:
    from hopcast.outcome import Report
    from hopcast.request import RunRequest

KIND = "trace"


def recognises(program: Callable | str | os.PathLike) -> bool:
    """Any path that exists: other kinds have been asked before."""
    return not callable(program) and Path(program).exists()


def describe(program: str | os.PathLike, args: tuple, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    name = os.fspath(program)
    refuse_what_starts_programs(name)
    check_text("the trace", name)
    refuse_arguments(name, (*args, *kwargs), "a trace takes no arguments")
    return {"path": name}


def inputs(request: RunRequest) -> Iterator[tuple[str, str, list[Path]]]:
    path = request.workload["path"]
    yield "trace", path, files(Path(path))


def files(trace: Path) -> list[Path]:
    """The files of a recorded run as the reader finds them; an archive itself."""
    from hopcast.archive import is_archive

    if is_archive(os.fspath(trace)):
        return [trace]
    try:
        return [Path(file) for file in _core.trace_files(os.fspath(trace))]
    except InputError:
        return [trace]


def start(request: RunRequest, watch: Watch) -> Report | None:
    from hopcast.archive import opened

    path = request.workload["path"]
    with opened(path) as place, watch.signals:
        ended = core_run.run(request.to_json(workload={"kind": KIND, "path": place}), None, watch)
        if ended is not None:
            outcome, *rest = ended
            ended = (outcome.replace(place, path), *rest)
        return core_run.report(ended)
