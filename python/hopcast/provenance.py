"""Provenance of a report: all that is needed to make it again and to tell it from others."""

from __future__ import annotations

import hashlib
import inspect
import os
import platform
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, fields
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomllib

from hopcast import _core, jobs
from hopcast.errors import InputError
from hopcast.live.library import is_executable

if TYPE_CHECKING:
    from hopcast.api import Job
    from hopcast.outcome import Report

_NO_OPTIONS = ("platform", "program", "args", "kwargs", "overrides", "live", "command")
"""Fields of a job that are not among its options."""

_FILES_OF_PLATFORMS = (("topology", "file"), ("placement", "file"), ("hosts", "map"))
"""Keys of platforms that name files: relative to the platform file, or to the working directory if a flag
sets them."""

_MOST_AFTER_INTERRUPT_B = 2**28
"""Size of inputs up to which they are hashed after Ctrl-C, when the user does not want to wait."""


def add(report: Report, job: Job) -> None:
    """Adds `made_by` to the summary of `report`, which `job` has made."""
    summary = report.summary
    stopped = summary.get("stopped")
    most_B = _MOST_AFTER_INTERRUPT_B if stopped and stopped["by"] == "interrupt" else None
    toml = summary.pop("platform_toml", "")
    summary["made_by"] = {
        "hopcast_version": summary["hopcast_version"],
        "python": platform.python_version(),
        "system": platform.platform(terse=True),
        "host": platform.node(),
        "date": datetime.now().astimezone().isoformat(timespec="seconds"),
        "command": list(job.command) if job.command else None,
        "directory": os.getcwd(),
        "platform": {"name": job.platform, "toml": toml},
        "overrides": [{"key": key, "value": value} for key, value in job.overrides],
        "options": _options(job),
        "arguments": _arguments(job),
        "inputs": [_described(role, name, files, most_B) for role, name, files in _inputs(job, toml)],
    }


def _options(job: Job) -> dict[str, Any]:
    """All options, with those of programs beside the others; None for one that was not given."""
    own = {entry.name: getattr(job, entry.name) for entry in fields(job) if entry.name not in _NO_OPTIONS}
    own["only"] = list(job.only)
    return own | {name: value for name, value in asdict(job.live).items() if value is not None}


def _arguments(job: Job) -> list[str]:
    """Words and named values that were given to the workload."""
    named = [f"{name}={_text(value)}" for name, value in job.kwargs.items()]
    return [*map(_text, job.args), *named]


def _text(value: Any) -> str:
    """A value in at most 400 characters: rank functions take any object."""
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 400 else f"{text[:400]}…"


_Input = tuple[str, str, list[Path]]
"""Role, name and files of an input."""


def _inputs(job: Job, toml: str) -> Iterator[_Input]:
    """Inputs on which the result depends."""
    if Path(job.platform).is_file():
        yield "platform", job.platform, [Path(job.platform)]
    content = tomllib.loads(toml)
    beside, given = Path(job.platform).parent, {key for key, _ in job.overrides}
    for section, key in _FILES_OF_PLATFORMS:
        name = content.get(section, {}).get(key)
        if name is None:
            continue
        is_flag = f"{section}.{key}" in given or (section == "placement" and job.placement is not None)
        yield section, name, [Path(name) if is_flag else beside / name]
    yield from _workload(job.program)


def _workload(program: Callable | str | os.PathLike) -> Iterator[_Input]:
    if callable(program):
        if source := _source(program):
            yield "program", getattr(program, "__qualname__", type(program).__name__), [source]
        return
    name = os.fspath(program)
    if name.endswith(".py") or is_executable(name):
        yield "program", name, [Path(name)]
    elif jobs.is_jobs(name):
        yield "jobs", name, [Path(name)]
        for job, recording in jobs.recordings(name):
            yield f"trace of job '{job}'", str(recording), _files(recording)
    elif Path(name).exists():
        yield "trace", name, _files(Path(name))


def _source(function: Callable) -> Path | None:
    """The file of a rank function, if it has one."""
    try:
        file = inspect.getsourcefile(inspect.unwrap(function))
    except TypeError:
        return None
    return Path(file) if file and Path(file).is_file() else None


def _files(trace: Path) -> list[Path]:
    """The files of a recorded run as the reader finds them; an archive itself."""
    from hopcast.archive import is_archive

    if is_archive(os.fspath(trace)):
        return [trace]
    try:
        return [Path(file) for file in _core.trace_files(os.fspath(trace))]
    except InputError:
        return [trace]


def _described(role: str, name: str, files: list[Path], most_B: int | None) -> dict[str, Any]:
    """An input with the size [B] and hash of its files; None for both if they cannot be read any more."""
    try:
        size_B = sum(file.stat().st_size for file in files)
        wanted = most_B is None or size_B <= most_B
        sha256 = _sha256(files) if wanted else None
    except OSError:
        size_B, sha256 = None, None
    path = os.path.abspath(name) if role != "program" or os.path.exists(name) else str(files[0].resolve())
    return {
        "role": role,
        "name": name,
        "path": path,
        "files": len(files),
        "size_B": size_B,
        "sha256": sha256,
    }


def _sha256(files: Iterable[Path]) -> str:
    """The hash of one file, or of the list of hashes of several, as `sha256sum` writes it by file name."""
    named = sorted((file.name, file) for file in files)
    if len(named) == 1:
        return _sha256_of_file(named[0][1])
    lines = "".join(f"{_sha256_of_file(file)}  {name}\n" for name, file in named)
    return hashlib.sha256(lines.encode(errors="surrogateescape")).hexdigest()


def _sha256_of_file(file: Path) -> str:
    digest = hashlib.sha256()
    with file.open("rb") as content:
        while block := content.read(2**20):
            digest.update(block)
    return digest.hexdigest()
