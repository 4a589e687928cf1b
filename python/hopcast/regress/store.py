"""Observations in a SQLite database: one row for each cluster, unit, factor, time and job.

Rows that are added again take the place of the older ones, so that a file may be added twice.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hopcast.errors import InputError
from hopcast.regress.walk import Series

VERSION = 1
TABLES = """
create table if not exists observations (
    cluster text not null, node text not null, unit text not null, factor text not null,
    time real not null, job text not null, value real not null, source text not null,
    primary key (cluster, unit, factor, time, job)
) without rowid
"""


@dataclass(frozen=True)
class Observation:
    """One value."""

    cluster: str
    node: str
    unit: str
    factor: str
    time: float
    """Seconds since 1970, UTC."""
    job: str
    value: float
    source: str
    """File that it came from."""


@contextmanager
def opened(place: Path, *, new: bool = False):
    """The database; an error where it is none, or, unless `new`, is not there."""
    if not new and not place.is_file():
        raise InputError(f"{place}: no such database; `hopcast regress add` makes it")
    try:
        connection = sqlite3.connect(place)
    except sqlite3.Error as error:
        raise InputError(f"{place}: {error}") from None
    try:
        version = connection.execute("pragma user_version").fetchone()[0]
        if version not in (0, VERSION):
            raise InputError(f"{place}: made by another version ({version}; this one reads {VERSION})")
        with connection:
            connection.execute(TABLES)
            connection.execute(f"pragma user_version = {VERSION}")
            yield connection
    except sqlite3.DatabaseError as error:
        raise InputError(f"{place}: {error}") from None
    finally:
        connection.close()


def twice(observations: Iterable[Observation]) -> int:
    """Number of values that later ones replace: those of the same unit, factor, time and job."""
    keys = [(one.cluster, one.unit, one.factor, one.time, one.job) for one in observations]
    return len(keys) - len(set(keys))


def add(connection: sqlite3.Connection, observations: Iterable[Observation]) -> int:
    """Adds all, and says how many are new."""
    before = connection.execute("select count(*) from observations").fetchone()[0]
    rows = [tuple(vars(one).values()) for one in observations]
    connection.executemany("insert or replace into observations values (?, ?, ?, ?, ?, ?, ?, ?)", rows)
    return connection.execute("select count(*) from observations").fetchone()[0] - before


def factors(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    """Clusters and their factors."""
    query = "select distinct cluster, factor from observations order by cluster, factor"
    return connection.execute(query).fetchall()


def nodes(connection: sqlite3.Connection) -> set[tuple[str, str]]:
    """Clusters and nodes."""
    return set(connection.execute("select distinct cluster, node from observations"))


def series(connection: sqlite3.Connection, cluster: str, names: Sequence[str]) -> list[Series]:
    """Series of some factors, together: times at which a unit has a value of each."""
    marks = ", ".join("?" * len(names))
    query = (
        "select unit, node, time, job, factor, value from observations "
        f"where cluster = ? and factor in ({marks}) order by unit, time, job"
    )
    units: dict[tuple[str, str], dict[tuple[float, str], dict[str, float]]] = {}
    for unit, node, time, job, factor, value in connection.execute(query, (cluster, *names)):
        units.setdefault((unit, node), {}).setdefault((time, job), {})[factor] = value
    found = []
    for (unit, node), rows in units.items():
        full = [(when, values) for when, values in rows.items() if len(values) == len(names)]
        if full:
            found.append(
                Series(
                    cluster,
                    node,
                    unit,
                    tuple(names),
                    np.array([time for (time, _), _ in full]),
                    tuple(job for (_, job), _ in full),
                    np.array([[values[name] for name in names] for _, values in full]),
                )
            )
    return sorted(found, key=lambda one: _natural(one.unit))


def _natural(name: str) -> list[tuple[int, float, str]]:
    """Key that sorts 2 before 10."""
    words = name.replace("/", " ").replace(":", " ").replace("-", " ").split()
    return [(0, float(word), "") if word.isdigit() else (1, 0.0, word) for word in words]
