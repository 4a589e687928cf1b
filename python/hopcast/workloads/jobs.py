"""Several jobs in one run, which share a machine: a file of them.

    [[job]]
    name = "stencil"                        # what it is called [default: the workload's name]
    run = "halo3d --bytes 64KiB"            # a pattern with its arguments, or a recorded trace
    ranks = 64                              # a trace knows its own
    start = "1 ms"                          # when its ranks begin [default: 0 s]
    hosts = "0-31"                          # hosts that it may have [default: those of no other job]
    placement = "random"                    # and ppn; of a trace mode, time_shift, ignore, rematch,
                                            # check_clocks, compute_by, compute_scale: as the flags of
                                            # `hopcast run`

Relative paths are those beside the file.
"""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopcast import core_run
from hopcast.archive import opened
from hopcast.core_run import Watch
from hopcast.errors import InputError
from hopcast.options import of_jobs, of_replay
from hopcast.toml import tomllib
from hopcast.workloads import trace
from hopcast.workloads.pattern import pairs

if TYPE_CHECKING:
    from hopcast.outcome import Report
    from hopcast.request import RunRequest

KIND = "jobs"

_TEXTS = ("name", "run", "start", "hosts")
"""Keys of a job that are no options of a run."""


def recognises(program: Callable | str | os.PathLike) -> bool:
    return not callable(program) and Path(program).suffix == ".toml" and Path(program).is_file()


def describe(program: str | os.PathLike, args: tuple, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    name = os.fspath(program)
    if args or kwargs:
        first = next(iter((*args, *kwargs)))
        raise InputError(
            f"{name}: a file of jobs takes no arguments, but here is '{first}'; each job has its own"
        )
    return {"path": name}


def inputs(request: RunRequest) -> Iterator[tuple[str, str, list[Path]]]:
    path = request.workload.get("path")
    if path is None:
        for job in request.workload.get("jobs", []):
            if job["workload"]["kind"] == trace.KIND:
                recording = job["workload"]["path"]
                yield f"trace of job '{job['name']}'", recording, trace.files(Path(recording))
        return
    yield "jobs", path, [Path(path)]
    for name, recording in recordings(path):
        yield f"trace of job '{name}'", str(recording), trace.files(recording)


def start(request: RunRequest, watch: Watch) -> Report | None:
    if request.options.get("alone") and watch.peers is not None:
        raise InputError("alone: it makes one run after the other; start it without mpiexec")
    path = request.workload.get("path")
    with contextlib.ExitStack() as stack:
        jobs = request.workload.get("jobs", []) if path is None else read(path, stack)
        stack.enter_context(watch.signals)

        def of(watch: Watch, **changes: Any) -> Report | None:
            workload = {"kind": KIND, "jobs": jobs}
            return core_run.report(core_run.run(request.to_json(workload=workload, **changes), None, watch))

        report = of(watch)
        if report is None or report.stopped or not request.options.get("alone"):
            return report
        for one in report.summary["jobs"]:
            by_itself = of(replace(watch, parts=None), only=[one["name"]])
            assert by_itself is not None
            one["alone_s"] = by_itself.summary["jobs"][0]["makespan_s"]
            known = one["alone_s"] and one["makespan_s"]
            one["slowdown"] = one["makespan_s"] / one["alone_s"] if known else None
    return report


def read(path: str, stack: contextlib.ExitStack) -> list[dict[str, Any]]:
    """The jobs of a file, as the core takes them; recordings in archives are unpacked while `stack` is open.

    Raises `InputError`, which names the file and the job.
    """
    content = _content(path)
    entries = content.pop("job", [])
    if content:
        raise InputError(f"{path}: unknown key '{next(iter(content))}'; known: [[job]]")
    if not (isinstance(entries, list) and entries and all(isinstance(entry, dict) for entry in entries)):
        raise InputError(f"{path}: it has no job: each is a section [[job]] with a key run")
    return [
        _job(f"{path}: job {number}", Path(path).parent, entry, stack)
        for number, entry in enumerate(entries, 1)
    ]


def recordings(path: str) -> list[tuple[str, Path]]:
    """Names and traces of the jobs that replay a trace, in a file that `read` has accepted."""
    found = []
    for entry in _content(path)["job"]:
        words = shlex.split(entry["run"])
        recording = Path(path).parent / words[0]
        if recording.exists():
            found.append((entry.get("name", Path(words[0]).name), recording))
    return found


def _content(path: str) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{path}: {error}") from error


def _job(where: str, folder: Path, entry: dict[str, Any], stack: contextlib.ExitStack) -> dict[str, Any]:
    for key, value in entry.items():
        _check(where, key, value)
    if "run" not in entry or not (words := _words(where, entry["run"])):
        raise InputError(f"{where}: run is missing: a pattern with its arguments, or a recorded trace")
    job = {key: entry.get(key) for key in _keys() if key != "run"}
    name: str = entry.get("name", Path(words[0]).name)
    job["name"] = name
    if not name.isprintable() or "," in name or not name:
        raise InputError(
            f"{where}: name is a text without commas and control characters, not {job['name']!r}"
        )
    job["replay"] = {key: job.pop(key) for key in of_replay()}
    if isinstance(job["placement"], str) and (beside := folder / job["placement"]).is_file():
        job["placement"] = str(beside)
    recording = folder / words[0]
    if recording.exists():
        if words[1:]:
            raise InputError(f"{where}: a trace takes no arguments, but here is '{words[1]}'")
        return job | {"workload": {"kind": "trace", "path": stack.enter_context(opened(recording))}}
    for key in of_replay():
        if key in entry:
            raise InputError(f"{where}: {key} is for traces, and '{words[0]}' is none")
    return job | {"workload": {"kind": "pattern", "name": words[0], "arguments": _pairs(where, words)}}


def _keys() -> tuple[str, ...]:
    """Keys of a job."""
    return (*_TEXTS, *of_jobs())


def _check(where: str, key: str, value: Any) -> None:
    if key not in _keys():
        raise InputError(f"{where}: unknown key '{key}'; known: {', '.join(_keys())}")
    takes = {"kind": "text"} if key in _TEXTS else of_jobs()[key].takes
    wanted = _wanted(takes, value)
    if wanted is not None:
        raise InputError(f"{where}: {key} is {wanted}, not {value!r}")


def _wanted(takes: Mapping[str, Any], value: Any) -> str | None:
    """Description of the values that an option takes, if `value` is not one of them; None if it is."""
    kind, whole = takes["kind"], isinstance(value, int) and not isinstance(value, bool)
    if kind == "whole":
        fits = whole and takes["least"] <= value <= takes["most"]
        return None if fits else f"a whole number from {takes['least']} to {takes['most']}"
    if kind == "number":
        return None if whole or isinstance(value, float) else "a number"
    if kind == "placement" and isinstance(value, list):
        return None
    if kind in ("switch", "on-off"):
        return None if isinstance(value, bool) else "true or false"
    return None if isinstance(value, str) else "a text"


def _words(where: str, text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise InputError(f"{where}: run = {text!r}: {error}") from error


def _pairs(where: str, words: list[str]) -> dict[str, str]:
    try:
        return pairs(words[1:], words[0])
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
