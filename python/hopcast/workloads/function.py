"""Rank functions in Python: a function, or a program file that defines `main(comm)`."""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import pickle
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopcast import core_run
from hopcast.core_run import RankError, Watch
from hopcast.errors import InputError
from hopcast.options import plain

if TYPE_CHECKING:
    from hopcast.outcome import Report
    from hopcast.processes import Peers
    from hopcast.program import process
    from hopcast.request import RunRequest

KIND = "function"

_NO_JSON = "$repr"
"""Key of an argument that a request cannot hold, with what Python shows of it."""


def recognises(program: Callable | str | os.PathLike) -> bool:
    return callable(program) or os.fspath(program).endswith(".py")


def describe(program: Callable | str | os.PathLike, args: tuple, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    keywords = {name: _saved(value) for name, value in kwargs.items()}
    if not callable(program):
        words = [str(word) for word in args]
        return {"file": os.fspath(program), "name": "main", "words": words} | _unless_empty(keywords=keywords)
    name = getattr(program, "__name__", type(program).__name__)
    known = _unless_empty(arguments=[_saved(value) for value in args], keywords=keywords)
    module = sys.modules.get(getattr(program, "__module__", None) or "")
    source = _source(program)
    if source is None or getattr(module, name, None) is not program:
        return {"name": name} | known
    return {"file": str(source.resolve()), "name": name} | known


def _unless_empty(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value}


def _saved(value: Any) -> Any:
    """An argument as JSON, if that is the same; else what Python shows of it, in at most 400 characters."""
    with contextlib.suppress(TypeError, ValueError, RecursionError):
        if json.loads(json.dumps(value, allow_nan=False)) == value or isinstance(value, tuple):
            return plain(value)
    text = repr(value)
    return {_NO_JSON: text if len(text) <= 400 else f"{text[:400]}…"}


def _source(function: Callable) -> Path | None:
    """The file of a rank function, if it has one."""
    try:
        file = inspect.getsourcefile(inspect.unwrap(function))
    except TypeError:
        return None
    return Path(file) if file and Path(file).is_file() else None


def inputs(request: RunRequest) -> Iterator[tuple[str, str, list[Path]]]:
    workload = request.workload
    if request.function is None or "words" in workload:
        yield "program", workload["file"], [Path(workload["file"])]
    elif source := _source(request.function):
        yield "program", getattr(request.function, "__qualname__", workload["name"]), [source]


def start(request: RunRequest, watch: Watch) -> Report | None:
    from hopcast.program.load import arguments, load

    workload = request.workload
    if request.function is not None:
        args, kwargs = request.call
        return _run(request, request.function, args, kwargs, watch)
    file, words = workload.get("file"), workload.get("words")
    args, kwargs = workload.get("arguments", []), workload.get("keywords", {})
    if request.call[1]:
        kwargs = request.call[1]
    lost = [
        value[_NO_JSON]
        for value in (*args, *kwargs.values())
        if isinstance(value, dict) and _NO_JSON in value
    ]
    if lost:
        raise InputError(
            f"{workload['name']}: its argument {lost[0]} is no JSON, so the request does not hold it: run "
            "the function from Python"
        )
    if file is None:
        raise InputError(
            f"{workload['name']}: a function that no file has by this name cannot be found again: define it "
            "at the top of a file"
        )
    with contextlib.nullcontext() if words is None else arguments(file, words):
        return _run(request, load(file, workload["name"]), args, kwargs, watch)


def _run(
    request: RunRequest, function: Callable, args: Any, kwargs: Mapping[str, Any], watch: Watch
) -> Report | None:
    from hopcast.program import process

    ranks, placement = request.options.get("ranks"), request.options.get("placement")
    if ranks is None and isinstance(placement, list):
        ranks = len(placement)
    if ranks is None:
        raise InputError("ranks: how many? A program needs a number of ranks (-n RANKS)")
    program = process.Program(function, ranks, args, dict(kwargs))
    with process.running(program), watch.signals, program.printing(watch.peers is not None):
        report = core_run.report(core_run.run(request.to_json(), program, watch))
        errors = [RankError.of(*program.error)] if program.error else []
        if watch.peers is not None and program.spread is not None:
            errors = _gathered(report, errors, program, watch.peers)
        process.end_all(program.unfinished.values())
        if watch.peers is not None and program.spread is not None:
            program.spread.close(watch.peers.share)
    if report is None:
        return None
    report.results = program.results
    for error in errors:
        error.add_to(report)
    if program.error is not None and errors:
        *_, report.error = program.error
    return report


def _gathered(
    report: Report | None, errors: list[RankError], program: process.Program, peers: Peers
) -> list[RankError]:
    """The exception that was the program's failure, if one was, in the process that reports; else nothing.

    Adds the places of ranks in other processes to the failure in the report.
    """
    failure = report.failure if report is not None else None
    named = failure["ranks"] if failure else []
    unplaced = [rank["rank"] for rank in named if rank["place"] is None]
    asked = pickle.loads(peers.share(pickle.dumps(unplaced))[0])
    places = {rank: program.place(waiting) for rank, waiting in program.unfinished.items() if rank in asked}
    all_told = [pickle.loads(told) for told in peers.share(pickle.dumps((places, errors)))]
    if not failure:
        return []
    for rank in named:
        for places, _ in all_told:
            rank["place"] = rank["place"] or places.get(rank["rank"])
    raised = (error for _, errors in all_told for error in errors)
    return [error for error in raised if failure["kind"] == "abort" and error.rank == named[0]["rank"]]
