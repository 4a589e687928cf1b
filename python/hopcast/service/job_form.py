"""The part of the form for several jobs that share a machine."""

from __future__ import annotations

import re
import shlex
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hopcast.errors import InputError
from hopcast.options import of_replay
from hopcast.service.admission import Refused
from hopcast.workloads.pattern import pairs

MOST = 50
"""Jobs of a form."""

LEAST = 2
"""Jobs that an empty form has."""

_WHOLE = ("ranks", "ppn")


@dataclass(frozen=True)
class JobField:
    """One field of each job."""

    key: str
    label: str
    text: str
    is_number: bool = False


FIELDS = (
    JobField("name", "Name", "How it is called; the workload's name if empty."),
    JobField(
        "run", "Workload", "A pattern with its arguments, such as halo3d --bytes 64KiB, or an uploaded trace."
    ),
    JobField("ranks", "Ranks", "A trace knows its own.", is_number=True),
    JobField("ppn", "Ranks per host", "As many as a host has slots if empty.", is_number=True),
    JobField("start", "Start", "When its ranks begin, such as 0.2 ms; 0 s if empty."),
    JobField("hosts", "Hosts", "Those that it may have, such as 0-126:2; those of no other job if empty."),
    JobField("placement", "Placement", "As of a run: linear, random, …"),
)
"""Fields of a job; `job.NUMBER.KEY` in the form."""

_FIELD = re.compile(r"job\.(\d{1,3})\.(\w+)")


def rows(values: Mapping[str, str]) -> list[dict[str, str]]:
    """Fields of each job in order, of which there are some at least."""
    found: dict[int, dict[str, str]] = {number: {} for number in range(LEAST)}
    for name, value in values.items():
        if match := _FIELD.fullmatch(name):
            found.setdefault(int(match[1]), {})[match[2]] = value.strip()
    return [found[number] for number in sorted(found)][:MOST]


def more(values: Mapping[str, str]) -> dict[str, str]:
    """The same values with one job more."""
    numbered = rows(values)
    return values_of_rows([*numbered, {}] if len(numbered) < MOST else numbered) | {
        name: value for name, value in values.items() if not _FIELD.fullmatch(name)
    }


def values_of_rows(numbered: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Values of the form for these jobs."""
    return {
        f"job.{number}.{field.key}": row.get(field.key, "")
        for number, row in enumerate(numbered)
        for field in FIELDS
    }


def workload(values: Mapping[str, str], uploads: Container[str]) -> dict[str, Any]:
    """The workload that the jobs of a form are; those without a workload are left out. Raises `Refused`."""
    given = [(number, row) for number, row in enumerate(rows(values), 1) if row.get("run")]
    if not given:
        raise Refused("workload", "workload: no job says what it runs")
    return {"kind": "jobs", "jobs": [_job(number, row, uploads) for number, row in given]}


def _job(number: int, row: Mapping[str, str], uploads: Container[str]) -> dict[str, Any]:
    try:
        words = shlex.split(row["run"])
        arguments = {} if words[0] in uploads else pairs(words[1:], words[0])
    except (ValueError, InputError) as error:
        raise Refused("workload", f"workload: job {number}: {error}") from error
    if words[0] in uploads and words[1:]:
        raise Refused(
            "workload", f"workload: job {number}: a trace takes no arguments, but here is '{words[1]}'"
        )
    of_trace = {"kind": "trace", "path": words[0]}
    of_pattern = {"kind": "pattern", "name": words[0], "arguments": arguments}
    job: dict[str, Any] = {field.key: row.get(field.key) or None for field in FIELDS if field.key != "run"}
    for key in _WHOLE:
        job[key] = _whole(number, key, job[key])
    name = job["name"] or words[0]
    if "," in name or not name.isprintable():
        raise Refused("workload", f"workload: job {number}: name is a text without commas, not {name!r}")
    replay = dict.fromkeys(of_replay())
    return job | {"name": name, "replay": replay, "workload": of_trace if words[0] in uploads else of_pattern}


def _whole(number: int, key: str, text: str | None) -> int | None:
    try:
        return None if text is None else int(text)
    except ValueError:
        raise Refused("workload", f"workload: job {number}: {key} is a whole number, not {text!r}") from None


def values_of(jobs: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Values of the form that asks for these jobs."""
    return values_of_rows(
        {
            key: str(value)
            for key, value in (job | {"run": _run(job["workload"])}).items()
            if value is not None
        }
        for job in map(dict, jobs)
    )


def _run(workload: Mapping[str, Any]) -> str:
    if workload["kind"] == "trace":
        return str(workload["path"])
    arguments = workload.get("arguments") or {}
    words = [word for name, value in arguments.items() for word in (f"--{name}", str(value))]
    return shlex.join([workload["name"], *words])
