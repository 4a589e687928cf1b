"""Fit of a generative model to daily calibrations of processors, by moments.

    μ_p  mean of the days of processor p
    μ    mean of the μ_p             Σ_S  covariance of the μ_p, divisor P - 1
    Σ_T  covariance of all observations less their μ_p, divisor n - 1

As published. Two small biases: Σ_T is too small by P/n, since P means were taken off (4 % of 64 processors
with 23 days), and Σ_S holds a share 1/days of Σ_T.

Source: Cornebize, thesis, Université Grenoble Alpes 2021, 4.2.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from hopcast import tabular
from hopcast.cluster.model import PRODUCT, SPREAD, START_UP, TERMS, ClusterModel, Kind
from hopcast.errors import InputError

COLUMNS = {
    "mnk": PRODUCT,
    "mn": "M*N",
    "mk": "M*K",
    "nk": "N*K",
    "intercept": START_UP,
    "mnk_residual": SPREAD,
    "mn_residual": "deviation M*N",
    "mk_residual": "deviation M*K",
    "nk_residual": "deviation N*K",
    "intercept_residual": "deviation 1",
}
"""Columns of the thesis's calibrations, and the terms of a platform's table that they are."""
HOST, SOCKET = ("host", "node"), ("socket", "cpu")


@dataclass(frozen=True)
class Observations:
    """Coefficients of processors, a row for each processor and day."""

    terms: tuple[str, ...]
    processors: tuple[tuple[str, str], ...]
    """Host and socket of each row."""
    values: np.ndarray
    """Coefficients by row and term [s]."""
    source: str

    def where(self, mask: Sequence[bool] | np.ndarray) -> Observations:
        """The rows of a mask."""
        chosen = np.asarray(mask, bool)
        kept = tuple(one for one, keep in zip(self.processors, chosen, strict=True) if keep)
        return replace(self, processors=kept, values=self.values[chosen])

    def means(self) -> tuple[list[tuple[str, str]], np.ndarray, np.ndarray]:
        """Processors in order, their means, and the number in that order of each row's."""
        order = list(dict.fromkeys(self.processors))
        numbers = {one: number for number, one in enumerate(order)}
        places = np.array([numbers[one] for one in self.processors], int)
        counts = np.bincount(places, minlength=len(order))
        sums = np.zeros((len(order), self.values.shape[1]))
        np.add.at(sums, places, self.values)
        return order, sums / counts[:, None], places


def read(places: Sequence[Path], terms: Sequence[str] = TERMS) -> Observations:
    """Rows of CSV or Parquet files with a column of hosts, perhaps one of sockets, and one for each term."""
    processors: list[tuple[str, str]] = []
    values: list[list[float]] = []
    for place in places:
        rows = tabular.rows(place)
        names = {COLUMNS.get(name, name): name for name in rows[0]}
        host, socket = (next((name for name in known if name in rows[0]), None) for known in (HOST, SOCKET))
        missing = [term for term in terms if term not in names]
        if host is None or missing:
            wanted = "host" if host is None else missing[0]
            raise InputError(f"{place}: no column '{wanted}'; columns: {', '.join(rows[0])}")
        for number, row in enumerate(rows, 1):
            where = f"{place}: row {number}"
            processors.append((row[host], row[socket] if socket else "0"))
            values.append([tabular.number(row, names[term], where) for term in terms])
    source = ", ".join(place.name for place in places)
    return Observations(tuple(terms), tuple(processors), np.array(values), source)


def fit(data: Observations, kinds: Mapping[str, Sequence[str]] | None = None) -> ClusterModel:
    """Model of one kind, or of the kinds that name some hosts and one, `normal`, of all others."""
    hosts = dict.fromkeys(host for host, _ in data.processors)
    named = {host: name for name, some in (kinds or {}).items() for host in some}
    if unknown := [host for host in named if host not in hosts]:
        raise InputError(f"no host '{unknown[0]}' in {data.source}; hosts: {', '.join(hosts)}")
    rest = "normal" if kinds else "all"
    groups: dict[str, list[str]] = {}
    for host in hosts:
        groups.setdefault(named.get(host, rest), []).append(host)
    sockets = len({socket for _, socket in data.processors})
    found = []
    for name, some in groups.items():
        chosen = data.where([host in some for host, _ in data.processors])
        found.append(_kind(name, chosen))
    days = np.bincount(data.means()[2])
    between = f"{days.min()}" if days.min() == days.max() else f"{days.min()} to {days.max()}"
    source = f"{data.source}: {len(days)} processors, {between} days each"
    return ClusterModel(data.terms, sockets, tuple(found), source)


def _kind(name: str, data: Observations) -> Kind:
    processors, means, places = data.means()
    left = data.values - means[places]
    if len(processors) < 2 or len(left) <= len(processors):
        raise InputError(
            f"kind '{name}': {len(processors)} processors with {len(left)} observations: at least two "
            "processors, and "
            "several days of some, are wanted to tell space from time"
        )
    hosts = len({host for host, _ in processors})
    return Kind(name, hosts, means.mean(axis=0), np.cov(means.T, ddof=1), left.T @ left / (len(left) - 1))
