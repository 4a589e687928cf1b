"""Logs that people write: changes, which begin a new reference, and outliers, which belong to none.

Changes: CSV `date,cluster,node,type,description`. Type `protocol` is a change of what is measured, anything
else of the platform. Outliers: `date,cluster,node,jobid,description`. `all` stands for every cluster or node;
several nodes are separated by slashes; dates are ISO 8601, a day without a time begins at midnight, UTC.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from hopcast import tabular
from hopcast.errors import InputError

ALL = "all"
DAY_S = 86_400.0


@dataclass(frozen=True)
class Entry:
    """Line of a log: clusters and nodes that it is about."""

    time: float
    """Seconds since 1970, UTC."""
    cluster: str
    nodes: tuple[str, ...]
    description: str

    def is_about(self, cluster: str, node: str) -> bool:
        """True for series of that cluster and node."""
        return self.cluster in (ALL, cluster) and (ALL in self.nodes or node in self.nodes)

    def unknown(self, known: Iterable[tuple[str, str]]) -> list[str]:
        """Its nodes that no series is of, among these clusters and nodes."""
        there = {node for cluster, node in known if self.cluster in (ALL, cluster)}
        return [node for node in self.nodes if node not in there and (node != ALL or not there)]


@dataclass(frozen=True)
class Change(Entry):
    """Change of the protocol or of the platform."""

    kind: str

    @property
    def is_of_protocol(self) -> bool:
        """True for a change of what is measured, false for one of the platform."""
        return self.kind == "protocol"


@dataclass(frozen=True)
class Outlier(Entry):
    """Observations that are set aside: those of a job, or, without one, of the day."""

    job: str

    def holds(self, time: float, job: str) -> bool:
        """True for the observation."""
        return job == self.job if self.job else self.time <= time < self.time + DAY_S


def changes(place: Path) -> list[Change]:
    """Changes in order of time."""
    found = [
        Change(*_entry(row, f"{place}: row {number}"), row["type"])
        for number, row in enumerate(_rows(place, "type"), 1)
    ]
    return sorted(found, key=lambda change: change.time)


def outliers(place: Path) -> list[Outlier]:
    """Outliers in the order of the file."""
    return [
        Outlier(*_entry(row, f"{place}: row {number}"), row["jobid"])
        for number, row in enumerate(_rows(place, "jobid"), 1)
    ]


def time_of(text: str, place: str) -> float:
    """Seconds since 1970 of a date in ISO 8601, or of such a number."""
    try:
        return float(text)
    except ValueError:
        pass
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(f"{place}: '{text}' is no date such as 2019-11-27 or 2019-11-27T09:58:40") from None
    return (when if when.tzinfo else when.replace(tzinfo=timezone.utc)).timestamp()


def date_of(time: float) -> str:
    """The day of a time, UTC."""
    return datetime.fromtimestamp(time, timezone.utc).strftime("%Y-%m-%d")


def _rows(place: Path, last: str) -> Sequence[dict[str, str]]:
    rows = tabular.rows(place)
    wanted = ("date", "cluster", "node", last, "description")
    if missing := [name for name in wanted if name not in rows[0]]:
        raise InputError(f"{place}: no column '{missing[0]}'; a line is {','.join(wanted)}")
    return rows


def _entry(row: dict[str, str], place: str) -> tuple[float, str, tuple[str, ...], str]:
    nodes = tuple(node for node in row["node"].split("/") if node)
    if not nodes or not row["cluster"]:
        raise InputError(f"{place}: names no cluster or no node; 'all' stands for every one")
    return time_of(row["date"], place), row["cluster"], nodes, row["description"]
