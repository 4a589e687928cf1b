"""The form of a submission: its fields are made of the table of options and the registry of patterns."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any

from hopcast import core, options
from hopcast.errors import InputError
from hopcast.overrides import check_keys
from hopcast.service import job_form
from hopcast.service.admission import Refused

LIVE_ROWS = 20_000
"""Rows of messages and matrices that the form proposes, for the pictures of a run that goes on."""

_MAIN = ("ranks", "model", "placement", "ppn", "seed", "stop_at")
_KEPT = ("messages", "matrix_periods", "statistics", "records")
_ELSEWHERE = ("set", "out", "profile_simulator")
_OF_EACH_JOB = ("ranks",)
"""Options that each of several jobs has for itself, and not the run."""
_PROPOSED = {"ranks": "64", "messages": str(LIVE_ROWS), "matrix_periods": str(LIVE_ROWS)}
_PLATFORM, _PATTERN = "fat-tree", "halo3d"


@dataclass(frozen=True)
class Field:
    """One field of the form."""

    name: str
    """Name in the form: `option.NAME`, or `argument.NAME` of a pattern."""
    key: str
    """Name in errors, see `admission.field_of`."""
    label: str
    text: str
    kind: str
    """`text`, `number`, `choice` or `switch`."""
    value: str
    choices: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()
    placeholder: str = ""


@dataclass(frozen=True)
class Group:
    """Fields under one heading."""

    title: str
    fields: tuple[Field, ...]
    is_open: bool = False


def groups(values: Mapping[str, str]) -> list[Group]:
    """All options that a submission may have, with their values."""
    table = {name: option for name, option in options.table().items() if name not in _ELSEWHERE}
    usual = [name for name, option in table.items() if "function" in option.workloads]
    traces = [name for name, option in table.items() if option.workloads[0] == "trace"]
    rest = [name for name in usual if name not in (*_MAIN, *_KEPT)]

    def of(names: Any) -> tuple[Field, ...]:
        return tuple(_option(table[name], values) for name in names)

    return [
        Group("Ranks, model and placement", of(_MAIN), is_open=True),
        Group("Statistics", of(_KEPT)),
        Group("Replay of a trace", of(traces)),
        Group("More", of(rest)),
    ]


def _option(option: options.Option, values: Mapping[str, str]) -> Field:
    name, kind = f"option.{option.name}", option.takes["kind"]
    known = (
        tuple(entry["name"] for entry in core.registry(option.registry)["entries"]) if option.registry else ()
    )
    choices: tuple[str, ...] = ()
    if kind == "choice":
        choices = tuple(option.takes["choices"])
    elif kind == "on-off":
        choices = ("yes", "no")
    elif option.registry == "models":
        choices = known
    shown = "switch" if kind == "switch" else "choice" if choices else "number" if kind == "whole" else "text"
    return Field(
        name=name,
        key=option.name,
        label=f"{option.short}, {option.name}" if option.short else option.flag,
        text=option.text,
        kind=shown,
        value=values.get(name, ""),
        choices=choices,
        suggestions=tuple(one for one in known if one not in ("file", "list")) if not choices else (),
        placeholder=option.default_words or "",
    )


def parameters(pattern: str, values: Mapping[str, str]) -> tuple[Field, ...]:
    """Fields of the parameters of a pattern."""
    known = {entry["name"]: entry for entry in core.registry("patterns")["entries"]}
    return tuple(
        Field(
            name=f"argument.{one['name']}",
            key=f"arguments.{one['name']}",
            label=f"--{one['name']}",
            text=f"{one['summary']}; {one['takes']}",
            kind="text",
            value=values.get(f"argument.{one['name']}", ""),
            placeholder=one["default"] or "",
        )
        for one in known.get(pattern, {}).get("parameters", ())
    )


def proposed() -> dict[str, str]:
    """Values of a form that nobody has filled in."""
    first = {"platform": _PLATFORM, "workload": "pattern", "pattern": _PATTERN}
    return first | {f"option.{name}": value for name, value in _PROPOSED.items()}


def request_of(values: Mapping[str, str], uploads: Container[str] = ()) -> dict[str, Any]:
    """The request that a form asks for; wrong values stay as they are, for the check of requests.

    uploads: names of uploaded files, which jobs may replay. Raises `Refused` for jobs that make no sense.
    """
    request: dict[str, Any] = {}
    text = values.get("platform_text", "")
    request["platform"] = {"toml": text} if text.strip() else values.get("platform", "").strip()
    if values.get("workload") == "trace":
        request["workload"] = {"kind": "trace", "path": values.get("trace", "")}
    elif values.get("workload") == "jobs":
        request["workload"] = job_form.workload(values, uploads)
    else:
        name = values.get("pattern", "")
        written = {field.name.partition(".")[2]: field.value.strip() for field in parameters(name, values)}
        arguments = {key: value for key, value in written.items() if value}
        request["workload"] = {"kind": "pattern", "name": name, "arguments": arguments}
    for option in options.table().values():
        value = values.get(f"option.{option.name}", "").strip()
        is_of_jobs = option.name in _OF_EACH_JOB and values.get("workload") == "jobs"
        if value and option.name not in _ELSEWHERE and not is_of_jobs:
            request[option.name] = _value(option.takes["kind"], value)
    overrides = _overrides(values.get("set", ""))
    return request | ({"set": overrides} if overrides else {})


def _value(kind: str, text: str) -> Any:
    if kind in ("switch", "on-off"):
        return {"yes": True, "no": False}.get(text, text)
    number = {"whole": int, "number": float}.get(kind)
    try:
        return text if number is None else number(text)
    except ValueError:
        return text


def _overrides(text: str) -> dict[str, str]:
    """Lines SECTION.KEY=VALUE. Raises `Refused` for a key that comes twice."""
    lines = [line.strip() for line in text.splitlines()]
    pairs = [line.partition("=") for line in lines if line and not line.startswith("#")]
    try:
        check_keys("--set", [key.strip() for key, _, _ in pairs])
    except InputError as error:
        raise Refused("set", str(error)) from error
    return {key.strip(): value.strip() for key, _, value in pairs}


def values_of(request: Mapping[str, Any]) -> dict[str, str]:
    """Values of the form that asks for a request, for one that is changed a little."""
    values: dict[str, str] = {}
    workload = request["workload"]
    values["workload"] = workload["kind"]
    values["platform"] = str(request["platform"])
    if workload["kind"] == "trace":
        values["trace"] = workload["path"]
    elif workload["kind"] == "jobs":
        values |= job_form.values_of(workload["jobs"])
    elif workload["kind"] == "pattern":
        values["pattern"] = workload["name"]
        for name, value in (workload.get("arguments") or {}).items():
            values[f"argument.{name}"] = str(value)
    for name, option in options.table().items():
        value = request.get(name)
        if value is None or name in _ELSEWHERE:
            continue
        is_switch = option.takes["kind"] in ("switch", "on-off")
        values[f"option.{name}"] = ("yes" if value else "no") if is_switch else str(value)
    overrides = request.get("set") or {}
    values["set"] = "\n".join(f"{key}={value}" for key, value in overrides.items())
    return values
