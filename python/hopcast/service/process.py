"""Process of one run: `python -m hopcast.service.process TASK` with a task of `pool` in a file.

It limits and confines itself before it reads anything that a user has sent.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopcast import archive
from hopcast.errors import InputError
from hopcast.service import confinement

if TYPE_CHECKING:
    from hopcast.outcome import Report
    from hopcast.request import RunRequest

PROGRESS, ENDED, REPORT, WORK = "progress.json", "ended.json", "report", "work"
"""Names in the folder of an attempt: how far it is, how it ended, its report, and what a program writes."""

_PROGRESS_EVERY_S = 0.2
_PICTURE_B = 4 << 20
_NICE = 10
_PROBE_S = 1.0
"""Time for which a run goes on to say how long all of it takes [s]."""


_LIBRARIES = (
    "subprocess",
    "numpy.ma",
    "pyarrow.parquet",
    "hopcast.api",
    "hopcast.report.simulator",
    "hopcast.report.timeline",
    "hopcast.request",
    "hopcast.study.run_cell",
    "hopcast.what_if",
    "hopcast.workloads.pattern",
)
"""Modules that each run needs, some of which others load when they are first used."""


def main(task_file: str, parent: int | None = None) -> int:
    """Does the task, and leaves `ENDED` in its folder.

    parent: process with which this one ends; the one that the task names if None.
    """
    task = json.loads(Path(task_file).read_text(encoding="utf-8"))
    folder, inputs = Path(task["folder"]), Path(task["inputs"])
    in_sandbox = task["processes"] is not None
    if not in_sandbox:  # a sandbox ends with its server, and has numbers of processes of its own
        confinement.die_with_parent(parent or task["parent"])
    sys.path[:] = [path for path in sys.path if path and Path(path) != folder]
    read_libraries()
    confinement.limit(task["cpu_s"], task["memory_B"], task["disk_B"])
    readable, writable = [*confinement.places_of_python(), inputs], [folder]
    if in_sandbox:
        os.nice(_NICE)  # many processes at once leave the server room to end them
        confinement.limit_processes(task["processes"])
        readable, writable = [*readable, *confinement.PLACES_OF_SANDBOX], [folder, *confinement.MEMORY_FILES]
        inputs = Path(shutil.copytree(inputs, folder / WORK))  # where a program may write
    is_confined = confinement.confine(readable, writable)
    os.chdir(inputs)
    archive.most_B.set(task["disk_B"])
    try:
        ended = _do(task, folder, inputs)
    except InputError as error:
        ended = {"error": str(error)}
    except MemoryError:
        ended = {"error": "this run needs more memory than it may have; try fewer ranks or a simpler model"}
    write(folder / ENDED, ended | {"confined": is_confined})
    return 0


def read_libraries() -> None:
    """Loads now, in fewer system calls, what each run needs."""
    from hopcast.report import arrow, html

    for name in _LIBRARIES:
        importlib.import_module(name)
    arrow.leave_pandas()
    html.prepare()


def _do(task: dict[str, Any], folder: Path, inputs: Path) -> dict[str, Any]:
    from hopcast.request import RunRequest

    if task["mode"] in ("cells", "study"):
        from hopcast.service import study_process

        fields = task["request"]
        return (
            study_process.planned(fields, inputs)
            if task["mode"] == "cells"
            else (study_process.written(fields, inputs, folder))
        )
    if task["mode"] == "table":
        from hopcast.service import table_process

        return table_process.shown(task["request"], inputs)
    request = RunRequest.from_json(json.dumps(task["request"]))
    request = replace(request, directory=str(inputs), command=tuple(task["command"]))
    if task["mode"] == "estimate":
        return _estimate(request)
    if task["mode"] == "draw":
        return _drawn(request)
    return _run(request, folder)


def _run(request: RunRequest, folder: Path) -> dict[str, Any]:
    from hopcast import what_if
    from hopcast.api import simulate
    from hopcast.report.parts import Parts

    begin_s, next_s = time.monotonic(), 0.0

    def progress(simulated_s: float, events: int, share: float | None) -> None:
        nonlocal next_s
        now_s = time.monotonic()
        if now_s < next_s:
            return
        next_s = now_s + _PROGRESS_EVERY_S
        state = {"simulated_s": simulated_s, "events": events, "share": share}
        write(folder / PROGRESS, state | {"elapsed_s": now_s - begin_s})

    report = simulate(request, progress, None, Parts.of(request, folder / REPORT))
    assert report is not None, "the only process of a run has its report"
    if request.options.get("what_if"):
        what_if.simulated(request, report)
    report.summary["made_by"]["directory"] = "."
    assert report.request is not None
    report.save(folder / REPORT)
    _make_portable(folder / REPORT / "request.json")
    return {"outcome": outcome(report.summary)}


def _make_portable(file: Path) -> None:
    """Makes the report's request begin in the folder above it, where its files lie in an archive."""
    fields = json.loads(file.read_text(encoding="utf-8")) | {"directory": ".."}
    file.write_text(json.dumps(fields, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def outcome(summary: dict[str, Any]) -> dict[str, Any]:
    """The head of a report, by which runs are listed."""
    from hopcast.study.run_cell import values_of

    failure = summary["failure"]
    kept = (
        "makespan_s",
        "ranks",
        "hosts",
        "model",
        "events",
        "wall_s",
        "peak_rss_B",
        "outcome_hash",
        "partial",
    )
    return {key: summary.get(key) for key in kept} | {
        "failure": failure and failure["text"].partition("\n")[0][:500],
        "limit": (summary.get("limit") or {}).get("why"),
        "values": values_of(summary),
    }


def _drawn(request: RunRequest) -> dict[str, Any]:
    """Picture of the network of a platform, after its check."""
    from hopcast import core

    platform = str(request.platform)
    core.platform_text(platform, (), True)
    picture = core.topology_picture(platform, ())
    if len(picture) > _PICTURE_B:
        raise InputError(f"{platform}: is right, but too large to be drawn here")
    return {"picture": picture}


def _estimate(request: RunRequest) -> dict[str, Any]:
    """Builds a run and begins it, to say what all of it will take."""
    from hopcast.api import simulate

    done: list[tuple[float, float | None]] = []
    until_s: float | None = None

    def progress(_simulated_s: float, _events: int, share: float | None) -> None:
        nonlocal until_s
        now_s = time.monotonic()
        until_s = until_s or now_s + _PROBE_S
        done.append((now_s, share))
        if now_s > until_s:
            signal.raise_signal(signal.SIGTERM)

    begin_s = time.monotonic()
    kept = dict.fromkeys(("messages", "matrix_periods", "records", "what_if"))
    report = simulate(request.changed(**kept), progress)
    assert report is not None
    return {"estimate": _estimated(report, done, begin_s)}


def _estimated(report: Report, done: list[tuple[float, float | None]], begin_s: float) -> dict[str, Any]:
    summary, took_s = report.summary, time.monotonic() - begin_s
    seconds: float | None = took_s
    if report.stopped:
        (first_s, first), (last_s, last) = done[0], done[-1]
        gained = (last or 0.0) - (first or 0.0)
        seconds = first_s - begin_s + (last_s - first_s) / gained if gained > 0 else None
    return {
        "hosts": summary["hosts"],
        "ranks": summary["ranks"],
        "memory_B": summary["peak_rss_B"],
        "seconds": seconds,
        "is_whole": not report.stopped,
        "warnings": summary["warnings"],
    }


def write(file: Path, content: dict[str, Any]) -> None:
    draft = file.with_name(f".{file.name}")
    draft.write_text(json.dumps(content), encoding="utf-8")
    draft.rename(file)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
