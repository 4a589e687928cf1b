"""Observations of files: tables with a row for each unit and time, and results of hopcast's own
validation."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hopcast import tabular, text_file
from hopcast.errors import InputError
from hopcast.regress import aggregate, archives
from hopcast.regress.logs import time_of
from hopcast.regress.store import Observation

TIME = ("start_time", "time", "timestamp", "date")
NODE = ("node", "host", "hostname", "benchmark")
WITHIN = ("cpu", "socket", "case")
JOB = ("jobid", "job", "commit")
CLUSTER = "cluster"


@dataclass(frozen=True)
class Columns:
    """Names of columns; empty ones are looked for among the usual names."""

    time: str = ""
    unit: tuple[str, ...] = ()
    """Columns that name a unit, the node first."""
    job: str = ""
    factors: tuple[str, ...] = ()
    """Columns of values; without, all others that are numbers in each row."""
    cluster: str = ""
    """Name of the cluster of rows that do not say theirs."""


def read(place: Path, columns: Columns, at: float | None = None) -> list[Observation]:
    """Observations of a table, an experiment's archive, or a `results.json` of the validation; `at` is the
    time of what says none."""
    if place.suffix == ".json":
        return list(_validation(place, at))
    if place.suffix == ".zip":
        return archives.read(place, columns.cluster, columns.factors, NODE)
    return list(_table(place, columns, at))


def _table(place: Path, columns: Columns, at: float | None) -> Iterator[Observation]:
    rows = tabular.rows(place)
    head = list(rows[0])
    raw = aggregate.is_of_calls(rows[0]) or aggregate.is_monitoring(rows[0])
    time = columns.time or _first(head, TIME)
    if time not in head and not (raw and at is not None and aggregate.is_of_calls(rows[0])):
        raise InputError(
            f"{place}: no column of times, {' or '.join(TIME)}; --time names it"
            f"{', --at gives it' if raw else ''}. Columns: {', '.join(head)}"
        )
    unit = columns.unit or tuple(name for name in (_first(head, NODE), _first(head, WITHIN)) if name)
    job = columns.job or _first(head, JOB)
    for name in (*unit, *(() if raw else columns.factors), *([columns.job] if columns.job else [])):
        if name not in head:
            raise InputError(f"{place}: no column '{name}'; columns: {', '.join(head)}")
    taken = _Taken(place, columns.cluster or place.name.partition(".")[0], time, unit, job)
    if raw:
        yield from _aggregated(rows, taken, columns, at)
        return
    kept = {time, job, CLUSTER, *unit}
    names = columns.factors or tuple(name for name in head if name not in kept and _numeric(rows, name))
    if not names:
        raise InputError(f"{place}: no column of numbers beside {', '.join(sorted(kept & set(head)))}")
    for number, row in enumerate(rows, 1):
        where = f"{place}: row {number}"
        when = time_of(row[time], f"{where}: column '{time}'")
        for name in names:
            # An empty cell, or none at all, is a value that was not measured.
            if row[name].lower() not in ("", "nan", "na"):
                yield taken.observation(row, name, when, tabular.number(row, name, where))


@dataclass(frozen=True)
class _Taken:
    """Columns that were found, and what stands for a missing one."""

    place: Path
    cluster: str
    time: str
    unit: tuple[str, ...]
    job: str

    def observation(self, row: dict[str, str], factor: str, time: float, value: float) -> Observation:
        words = [row[name] for name in self.unit]
        return Observation(
            row.get(CLUSTER) or self.cluster,
            words[0] if words else "",
            "/".join(words) or "all",
            factor,
            time,
            row.get(self.job, ""),
            value,
            self.place.name,
        )


def _aggregated(
    rows: list[dict[str, str]], taken: _Taken, columns: Columns, at: float | None
) -> Iterator[Observation]:
    """One observation for each unit, job and factor."""
    names = [name for name in (CLUSTER, *taken.unit, taken.job) if name in rows[0]]
    for _, group in aggregate.grouped(rows, names):
        if aggregate.is_of_calls(group[0]):
            values = aggregate.calls(group, taken.place)
        else:
            values = aggregate.monitoring(group, taken.time, taken.place)
        when = at
        if when is None:
            when = min(time_of(row[taken.time], f"{taken.place}: column '{taken.time}'") for row in group)
        for factor, value in values.items():
            if not columns.factors or factor in columns.factors:
                yield taken.observation(group[0], factor, when, value)


def _validation(place: Path, at: float | None) -> Iterator[Observation]:
    """Relative errors of each row of the validation, and its value."""
    try:
        scripts = json.loads(text_file.read(place))
        when = place.stat().st_mtime if at is None else at
        for script, rows in scripts.items():
            for row in rows:
                for factor, value in (("value", row["ours"]), ("error", _error(row))):
                    if isinstance(value, int | float) and value - value == 0:
                        unit = f"{script}: {row['what']}"
                        yield Observation(
                            "validation", script, unit, factor, when, "", float(value), place.name
                        )
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{place}: {getattr(error, 'strerror', None) or error}") from None
    except (json.JSONDecodeError, AttributeError, KeyError, TypeError) as error:
        raise InputError(f"{place}: no results of validation/all.py: {error}") from None


def _error(row: dict) -> float | None:
    published, ours = row["published"], row["ours"]
    if isinstance(published, dict) or not published or ours is None:
        return None
    return ours / published - 1


def _first(head: Sequence[str], names: Sequence[str]) -> str:
    return next((name for name in names if name in head), "")


def _numeric(rows: Sequence[dict[str, str]], name: str) -> bool:
    """True for a column in which all cells that are not empty are numbers, and some are not empty."""
    cells = [row[name] for row in rows if row[name]]
    try:
        list(map(float, cells))
    except ValueError:
        return False
    return bool(cells)
