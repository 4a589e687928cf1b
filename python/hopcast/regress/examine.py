"""All series of a database, judged: by cluster and by factor, alone or together."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hopcast.errors import InputError
from hopcast.regress import store
from hopcast.regress.logs import Change, Outlier
from hopcast.regress.walk import Judgement, Settings, Walk, walk
from hopcast.statistics import discoveries

TOGETHER = ","
"""Separates factors that are tested together."""


@dataclass(frozen=True)
class Examined:
    """Series of a cluster, by one factor or by several together."""

    cluster: str
    factors: tuple[str, ...]
    walks: tuple[Walk, ...]

    @property
    def name(self) -> str:
        """Name of the factors."""
        return " + ".join(self.factors)


@dataclass(frozen=True)
class Finding:
    """A judgement, with its series."""

    cluster: str
    name: str
    walk: Walk
    judgement: Judgement

    @property
    def time(self) -> float:
        """Time of the observation."""
        return float(self.walk.series.times[self.judgement.index])


def examine(
    connection: sqlite3.Connection,
    settings: Settings,
    *,
    cluster: str | None = None,
    factors: Sequence[str] = (),
    changes: Sequence[Change] = (),
    outliers: Sequence[Outlier] = (),
    since: float | None = float("-inf"),
) -> list[Examined]:
    """Judges all series, or those of a cluster and of some factors; "a,b" are tested together.

    since: time of the first observation that is judged; None: the newest of each series alone.
    """
    known = store.factors(connection)
    clusters = list(dict.fromkeys(name for name, _ in known))
    if cluster is not None and cluster not in clusters:
        raise InputError(f"no cluster '{cluster}'; there are: {', '.join(clusters) or 'none'}")
    names = list(dict.fromkeys(factor for _, factor in known))
    asked = [tuple(part.split(TOGETHER)) for part in factors] or [(name,) for name in names]
    for factor in (one for part in asked for one in part):
        if factor not in names:
            raise InputError(f"no factor '{factor}'; there are: {', '.join(names) or 'none'}")
    found = []
    for one in [cluster] if cluster is not None else clusters:
        for part in asked:
            walks = [
                walk(series, settings, changes, outliers, since)
                for series in store.series(connection, one, part)
            ]
            if walks:
                found.append(Examined(one, part, tuple(walks)))
    return found


def judged(examined: Sequence[Examined], since: float | None) -> list[Finding]:
    """Judgements of each series' newest observation, or of all since a time."""
    return [
        Finding(one.cluster, one.name, walked, judgement)
        for one in examined
        for walked in one.walks
        for judgement in _of(walked, since)
    ]


def alarms(findings: Sequence[Finding], rate: float | None = None) -> list[Finding]:
    """Those that are alarms, the least likely first; with `rate`, by Benjamini and Hochberg instead of by
    confidence."""
    if rate is None:
        chosen = [finding for finding in findings if finding.judgement.alarm]
    else:
        kept = discoveries.accepted([finding.judgement.likelihood for finding in findings], rate)
        chosen = [finding for finding, keep in zip(findings, kept, strict=True) if keep]
    return sorted(chosen, key=lambda finding: finding.judgement.likelihood)


def _of(walked: Walk, since: float | None) -> Iterator[Judgement]:
    for r, found in walked.judgements.items():
        if since is None:
            last = walked.last(r)
            yield from [last] if last else []
        else:
            yield from (one for one in found if walked.series.times[one.index] >= since)
