"""Rank functions in Python: a function, or a program file that defines `main(comm)`."""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopcast import core_run
from hopcast.core_run import Watch
from hopcast.errors import InputError
from hopcast.options import plain

if TYPE_CHECKING:
    from hopcast.outcome import Report
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
    with process.running(program), watch.signals:
        ended = core_run.run(request.to_json(), program, watch)
        if ended is None:
            return None
        *_, error, unfinished = ended
        process.end_all(unfinished)
    report = core_run.report(ended)
    assert report is not None
    report.results = program.results
    if error is not None:
        core_run.add_error(report, *error)
    return report
