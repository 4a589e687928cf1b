"""Files of several jobs: who shares a machine in one run.

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
from pathlib import Path
from typing import Any

import tomllib

from hopcast.archive import opened
from hopcast.errors import InputError

_TEXTS = ("name", "run", "start", "hosts", "placement", "mode", "ignore", "compute_by")
_NUMBERS = {"ranks": 2**31 - 1, "ppn": 65_535}
_FLAGS = ("time_shift", "rematch", "check_clocks")
_FACTORS = ("compute_scale",)
_KEYS = (*_TEXTS, *_NUMBERS, *_FLAGS, *_FACTORS)
OF_TRACES = ("mode", "time_shift", "ignore", "rematch", "check_clocks", "compute_by", "compute_scale")
"""What says how a trace is replayed."""


def is_jobs(name: str | os.PathLike) -> bool:
    """Whether the workload `name` is a file of jobs."""
    return Path(name).suffix == ".toml" and Path(name).is_file()


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
    job = {key: entry.get(key) for key in _KEYS} | {"name": entry.get("name", Path(words[0]).name)}
    if not job["name"].isprintable() or "," in job["name"] or not job["name"]:
        raise InputError(
            f"{where}: name is a text without commas and control characters, not {job['name']!r}"
        )
    job["replay"] = {key: job.pop(key) for key in OF_TRACES}
    if (beside := folder / str(job["placement"])).is_file():
        job["placement"] = str(beside)
    recording = folder / words[0]
    del job["run"]
    if recording.exists():
        if words[1:]:
            raise InputError(f"{where}: a trace takes no arguments, but here is '{words[1]}'")
        return job | {"workload": "trace", "what": stack.enter_context(opened(recording)), "arguments": []}
    for key in OF_TRACES:
        if key in entry:
            raise InputError(f"{where}: {key} is for traces, and '{words[0]}' is none")
    return job | {"workload": "pattern", "what": words[0], "arguments": _pairs(where, words)}


def _check(where: str, key: str, value: Any) -> None:
    if key not in _KEYS:
        raise InputError(f"{where}: unknown key '{key}'; known: {', '.join(_KEYS)}")
    whole = isinstance(value, int) and not isinstance(value, bool)
    if key in _TEXTS and not isinstance(value, str):
        raise InputError(f"{where}: {key} is a text, not {value!r}")
    if key in _NUMBERS and not (whole and 1 <= value <= _NUMBERS[key]):
        raise InputError(f"{where}: {key} is a whole number from 1 to {_NUMBERS[key]}, not {value!r}")
    if key in _FLAGS and not isinstance(value, bool):
        raise InputError(f"{where}: {key} is true or false, not {value!r}")
    if key in _FACTORS and not (whole or isinstance(value, float)):
        raise InputError(f"{where}: {key} is a number, not {value!r}")


def _words(where: str, text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise InputError(f"{where}: run = {text!r}: {error}") from error


def _pairs(where: str, words: list[str]) -> list[tuple[str, str]]:
    from hopcast.cli.arguments import pairs

    try:
        return list(pairs(words[1:], words[0]).items())
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
