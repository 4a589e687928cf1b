"""Check of a request that comes from elsewhere: it names no file but those that were uploaded for it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hopcast import core, options
from hopcast.errors import InputError
from hopcast.request import RunRequest
from hopcast.service.settings import Limits
from hopcast.toml import tomllib

PLATFORM_FILE = "platform.toml"
"""Name that the text of a platform gets as a file."""

FILE_KEYS = ("file", "map", "table")
"""Keys of platform files whose values are names of files."""

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]{0,99}")
_KINDS = ("pattern", "trace", "jobs")
PROGRAMS = ("compiled", "mpi4py", "function")
"""Kinds of workloads that are executed: in a sandbox, where the operator has enabled it."""
_KEYS_OF_PROGRAMS = {
    "compiled": {"kind", "path", "arguments"},
    "mpi4py": {"kind", "path", "arguments"},
    "function": {"kind", "file", "name", "words", "arguments", "keywords"},
}
_LARGEST_ARGUMENTS_B = 100_000
_OURS = ("directory", "made_by", "out", "version")
_PLATFORM_B = 4 << 20


class Refused(InputError):
    """A request that is not run here, and the field that says why: a name of the request, or `set.KEY`."""

    def __init__(self, field: str, text: str) -> None:
        super().__init__(text)
        self.field = field


@dataclass(frozen=True)
class Admitted:
    """A request that may run here."""

    request: RunRequest
    """The request, whose relative paths are names of its files."""
    texts: dict[str, str]
    """Files that are to be written for it: the text of a platform."""
    inputs: tuple[str, ...]
    """Names of the uploads that it reads."""


def check_name(name: str) -> str:
    """The name of an upload. Raises `Refused` for one that could be a path, a flag or hidden."""
    if not _NAME.fullmatch(name):
        raise Refused(
            "files",
            f"{name!r}: a file's name has up to 100 letters, digits, dots, dashes and underscores, and does "
            "not begin with a dot or a dash",
        )
    return name


def is_program(request: Mapping[str, Any]) -> bool:
    """True if a request has something executed that was sent with it."""
    return (request.get("workload") or {}).get("kind") in PROGRAMS


def reads_traces(request: Mapping[str, Any]) -> bool:
    """True if a request, or one of its jobs, replays a trace."""
    workload = request.get("workload") or {}
    kinds = {workload.get("kind"), *(job["workload"]["kind"] for job in workload.get("jobs", ()))}
    return "trace" in kinds


def admit(
    fields: Mapping[str, Any], files: Mapping[str, Path], limits: Limits, programs: bool = False
) -> Admitted:
    """Checks a request in JSON's values, with uploaded files by name. Raises `Refused`.

    programs: true to admit functions and programs, which then run in a sandbox.
    """
    fields = {key: value for key, value in fields.items() if value is not None}
    for key in _OURS:
        if key in fields and key != "version":
            raise Refused(key, f"{key}: the server says it; leave it out")
    fields.pop("version", None)
    workload, platform = fields.pop("workload", None), fields.pop("platform", None)
    if not isinstance(workload, dict):
        raise Refused("workload", "workload: is missing: {kind, name, arguments}, or {kind, path}")
    if programs and workload.get("kind") in PROGRAMS:
        used = list(_check_program("workload", workload, files))
    else:
        used = list(_check_workload("workload", workload, files))
    texts: dict[str, str] = {}
    if isinstance(platform, dict) and isinstance(platform.get("toml"), str) and len(platform) == 1:
        texts[PLATFORM_FILE] = platform["toml"]
        used += _files_of_text("platform", PLATFORM_FILE, platform["toml"], files)
        platform = PLATFORM_FILE
        if PLATFORM_FILE in files:
            raise Refused(
                "platform", f"platform: its text is {PLATFORM_FILE} here; name the upload otherwise"
            )
    elif isinstance(platform, str):
        used += _check_platform(platform, files)
    else:
        raise Refused("platform", "platform: a preset's name, the name of an upload, or {toml: its text}")
    used += _check_placement("placement", fields.get("placement"), files)
    used += _check_overrides(fields.get("set"), files)
    threads = fields.get("threads", 1)
    if isinstance(threads, int) and threads > limits.threads:
        raise Refused("threads", f"--threads {threads}: this server gives a run {limits.threads} at the most")
    return Admitted(_request(platform, workload, fields), texts, tuple(sorted(set(used))))


def _request(platform: str, workload: dict[str, Any], fields: dict[str, Any]) -> RunRequest:
    """The request itself; words of the command line in its errors."""
    try:
        request = RunRequest(platform, workload, options.given(fields))
    except TypeError as error:
        raise Refused("request", str(error)) from error
    try:
        request = RunRequest(platform, workload, request.options, command=command_line(request))
        request.check()
    except InputError as error:
        raise Refused(field_of(str(error), request), str(error)) from error
    return request


def field_of(text: str, request: RunRequest) -> str:
    """The field of a form of which an error of the command line speaks."""
    flag = re.match(r"(--[a-z][a-z0-9-]*|-n)\b", text)
    if flag is None:
        is_platform = text.startswith((str(request.platform), "inline platform"))
        return "platform" if is_platform else "workload"
    if flag[1] == "--set" and (key := re.match(r"--set ([\w.]+)", text)):
        return f"set.{key[1]}"
    for option in options.table().values():
        if flag[1] in (option.flag, f"--{option.name.replace('_', '-')}"):
            return option.name
    return f"arguments.{flag[1][2:]}"


def _check_workload(field: str, workload: Mapping[str, Any], files: Mapping[str, Path]) -> Iterator[str]:
    kind = workload.get("kind")
    if kind not in _KINDS:
        raise Refused(
            field,
            f"{field}: kind is {', '.join(_KINDS)}, not {kind!r}: no program or function that is sent here "
            "is executed; 'hopcast run' on your machine runs them",
        )
    if kind == "trace":
        yield _upload(field, workload.get("path"), files)
    if kind != "jobs":
        return
    jobs = workload.get("jobs")
    if "path" in workload or not isinstance(jobs, list) or not all(isinstance(job, dict) for job in jobs):
        raise Refused(field, f"{field}: jobs are listed in the request (jobs: [{{name, workload, …}}])")
    for number, job in enumerate(jobs, 1):
        place = f"{field}: job {number}"
        inner = job.get("workload")
        if not isinstance(inner, dict) or inner.get("kind") == "jobs":
            raise Refused(field, f"{place}: its workload is a pattern or a trace")
        yield from _check_workload(field, inner, files)
        yield from _check_placement(field, job.get("placement"), files)


def _check_program(field: str, workload: Mapping[str, Any], files: Mapping[str, Path]) -> Iterator[str]:
    """All files that come with a program, which may read any of them."""
    kind = workload["kind"]
    unknown = sorted(set(workload) - _KEYS_OF_PROGRAMS[kind])
    if unknown:
        raise Refused(
            field, f"{field}: {kind} has no {unknown[0]!r}; known: {sorted(_KEYS_OF_PROGRAMS[kind])}"
        )
    key = "file" if kind == "function" else "path"
    program = workload.get(key)
    name = program.removeprefix("./") if isinstance(program, str) else program
    yield _upload(field, name, files)
    if "arguments" in workload and kind != "function" and not _are_words(workload["arguments"]):
        raise Refused(field, f"{field}: arguments is a list of texts")
    if kind == "function" and not (_are_words(workload.get("words", [])) and _is_name(workload.get("name"))):
        raise Refused(field, f"{field}: name is that of a function, and words a list of texts")
    if len(json.dumps(workload)) > _LARGEST_ARGUMENTS_B:
        raise Refused(field, f"{field}: its arguments have more than {_LARGEST_ARGUMENTS_B:,} bytes")
    yield from files


def _are_words(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) and "\0" not in one for one in value)


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and value.isidentifier()


def _upload(field: str, name: Any, files: Mapping[str, Path]) -> str:
    """Name of an upload, as a request has it."""
    if not isinstance(name, str) or name not in files:
        known = ", ".join(files) or "none"
        raise Refused(field, f"{field}: {name!r} is not among the uploaded files of this request ({known})")
    return check_name(name)


def _check_platform(name: str, files: Mapping[str, Path]) -> Iterator[str]:
    if name in files:
        yield _upload("platform", name, files)
        yield from _files_of_text("platform", name, _text_of("platform", files[name]), files)
        return
    known = [entry["name"] for entry in core.registry("platforms")["entries"]]
    if name not in known:
        raise Refused(
            "platform", f"{name}: unknown platform '{name}'; known: {', '.join(known)}; or upload a file"
        )


def _text_of(field: str, path: Path) -> str:
    """Text of an uploaded platform file."""
    if path.stat().st_size > _PLATFORM_B:
        raise Refused(field, f"{field}: a platform file has {_PLATFORM_B >> 20} MiB at the most")
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise Refused(field, f"{field}: this is no platform file but binary data") from None


def _check_placement(field: str, placement: Any, files: Mapping[str, Path]) -> Iterator[str]:
    if placement is None or isinstance(placement, list):
        return
    entries = core.registry("placements")["entries"]
    known = [entry["name"] for entry in entries if entry["name"] not in FILE_KEYS and entry["name"] != "list"]
    is_named = placement in known or (isinstance(placement, str) and placement.startswith("block:"))
    if not is_named:
        if not isinstance(placement, str) or placement not in files:
            raise Refused(
                field,
                f"--placement {placement}: unknown placement; known: {', '.join(known)}; or an uploaded file",
            )
        yield check_name(placement)


def _files_of_text(field: str, name: str, text: str, files: Mapping[str, Path]) -> Iterator[str]:
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Refused(field, _with_line(name, text, str(error))) from error
    except RecursionError:
        raise Refused(field, f"{name}: it is nested too deeply") from None
    yield from _files_of(field, content, files)


def _with_line(name: str, text: str, error: str) -> str:
    """An error of the TOML reader with its place before it, as hopcast's own errors have it."""
    place = re.search(r" \(at line (\d+), column (\d+)\)$", error)
    if place is not None:
        return f"{name}:{place[1]}:{place[2]}: {error[: place.start()]}"
    last = text.rstrip("\n").count("\n") + 1
    return f"{name}:{last}: {error}"


def _files_of(field: str, content: Any, files: Mapping[str, Path]) -> Iterator[str]:
    """Names of the files that a part of a platform names, all of which were uploaded."""
    entries: Iterable[tuple[Any, Any]] = ()
    if isinstance(content, Mapping):
        entries = content.items()
    elif isinstance(content, list):
        entries = enumerate(content)
    for key, value in entries:
        if key in FILE_KEYS and isinstance(value, str):
            yield _upload(field, value, files)
        else:
            yield from _files_of(field, value, files)


def _check_overrides(overrides: Any, files: Mapping[str, Path]) -> Iterator[str]:
    if overrides is None:
        return
    if not isinstance(overrides, dict):
        raise Refused("set", "set: values by section.key")
    for key, value in overrides.items():
        field, last = f"set.{key}", re.sub(r"\[.*", "", key.rpartition(".")[2]).strip(" '\"")
        yield from _files_of(field, {last: _value_of(field, value)}, files)


def _value_of(field: str, value: Any) -> Any:
    """The value of an override, which is written as in a platform file, or as a text without quotes."""
    if not isinstance(value, str):
        return value
    try:
        return tomllib.loads(f"value = {value}\n")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        if value.lstrip()[:1] in ("{", "[", '"', "'"):
            raise Refused(field, f"--set {field[4:]}={value}: this is no value of a platform file") from None
        return value


def command_line(request: RunRequest) -> tuple[str, ...]:
    """Words of the command line that runs a request beside its files."""
    workload = request.workload
    if workload.get("kind") == "jobs" or isinstance(request.options.get("placement"), list):
        return ("hopcast", "run", "--request", "request.json")
    words = ["hopcast", "run", str(request.platform)]
    for name, value in request.options.items():
        words += _words(options.table()[name], value)
    if workload.get("kind") == "trace":
        return (*words, str(workload.get("path")))
    if workload.get("kind") in ("compiled", "mpi4py"):
        program = str(workload.get("path"))
        return (*words, program if "/" in program else f"./{program}", *workload.get("arguments", []))
    if workload.get("kind") == "function":
        if workload.get("name") != "main" or {"arguments", "keywords"} & set(workload):
            return ("hopcast", "run", "--request", "request.json")
        return (*words, str(workload.get("file")), *workload.get("words", []))
    words.append(str(workload.get("name")))
    arguments = workload.get("arguments")
    if isinstance(arguments, dict):
        for name, value in arguments.items():
            words += [f"--{name}", _written(value)]
    return tuple(words)


def _words(option: options.Option, value: Any) -> list[str]:
    kind = option.takes["kind"]
    if kind == "overrides" and isinstance(value, dict):
        return [word for key, text in value.items() for word in (option.flag, f"{key}={_written(text)}")]
    if kind in ("switch", "on-off"):
        return [option.flag if value else f"--no-{option.flag[2:]}"]
    if kind == "names" and isinstance(value, list):
        value = ",".join(map(str, value))
    return [option.flag, _written(value)]


def _written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
