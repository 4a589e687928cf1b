"""Rank maps that keep what talks much together: the communication graph cut into hosts by METIS.

Vertices are ranks, weights of edges are the bytes of both directions between two ranks. METIS cuts the graph
into as many parts as hosts, by recursive bisection, so that neighbouring parts lie near each other in the
order; hosts hold `per_host` ranks at most: where METIS has put too many on one, those that lose the least
move. Parts become hosts in that order, or, where some hosts are further from each other, by their distances
(distances.py); ranks become slots of a host in their own. The maps are compared with others by simulation:
fewer bytes between hosts, on shorter ways, are not always less time.

Source: Karypis, Kumar, "A fast and high quality multilevel scheme for partitioning irregular graphs", SIAM J.
Sci. Comput. 20, 1998; rank reordering by partitioning: Träff, "Implementing the MPI process topology
mechanism", SC 2002.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hopcast.errors import InputError
from hopcast.questions import distances

if TYPE_CHECKING:
    from hopcast.outcome import Report
    from hopcast.request import RunRequest

METIS, DISTANCE = "metis", "distance"
OTHERS = ("linear", "cyclic")
"""Placements that a map is compared with."""
WEIGHT_MOST = 1_000_000
"""Largest weight of an edge for METIS, whose sums are 32 bits wide."""


@dataclass(frozen=True)
class Tried:
    """A placement that was simulated."""

    name: str
    hosts: tuple[int, ...]
    """Host of each rank."""
    makespan_s: float
    between_B: float
    """Bytes between hosts."""
    distance_s: float | None
    """Mean distance of the bytes between hosts: time of an empty message on their way [s]."""


def traffic(report: Report) -> np.ndarray:
    """Bytes between each two ranks, both directions together."""
    table = report.table("matrix")
    if len(table) and max(table["ranks_per_bin"].to_pylist()) > 1:
        raise InputError(
            f"place: the matrix of {report.ranks:,} ranks is kept for groups of ranks: at most 1,024 ranks "
            "can be placed"
        )
    bytes_ = np.zeros((report.ranks, report.ranks))
    source, destination = (table[name].to_numpy() for name in ("source", "destination"))
    np.add.at(bytes_, (source, destination), table["bytes"].to_numpy())
    np.fill_diagonal(bytes_, 0)
    return bytes_ + bytes_.T


def partition(bytes_: np.ndarray, hosts: int, per_host: int, seed: int = 1) -> np.ndarray:
    """Part of each rank, 0 to hosts - 1, with at most `per_host` ranks in one."""
    ranks = len(bytes_)
    if hosts * per_host < ranks:
        raise InputError(f"place: {ranks} ranks on {hosts} hosts with {per_host} slots each: too few")
    if hosts == 1 or not bytes_.any():
        return np.arange(ranks) // per_host
    import pymetis

    weights = np.ceil(bytes_ / bytes_.max() * WEIGHT_MOST).astype(int)
    first, neighbours, edges = [0], [], []
    for row in weights:
        near = np.flatnonzero(row)
        neighbours += near.tolist()
        edges += row[near].tolist()
        first.append(len(neighbours))
    _, parts = pymetis.part_graph(
        hosts,
        pymetis.CSRAdjacency(first, neighbours),
        eweights=edges,
        recursive=True,
        options=pymetis.Options(seed=seed),
    )
    return _within_capacity(np.array(parts), bytes_, hosts, per_host)


def between_hosts(bytes_: np.ndarray, hosts: Sequence[int] | np.ndarray) -> float:
    """Bytes between ranks on different hosts."""
    places = np.asarray(hosts)
    return float(bytes_[places[:, None] != places[None, :]].sum() / 2)


@dataclass(frozen=True)
class Compared:
    """Placements that were simulated, the quickest first."""

    asked: str
    """Name of the request's own."""
    tried: tuple[Tried, ...]
    note: str = ""
    """Reason why there is no map of our own; empty where there is one."""


def compare(request: RunRequest, seed: int = 1) -> Compared:
    """The request's placement, the usual ones, METIS's, and that one mapped by distance, simulated."""
    from hopcast.api import run

    first = run(request)
    asked = str(first.placement)
    bytes_ = traffic(first)
    reports = {asked: first}
    reports |= {name: run(request.changed(placement=name)) for name in OTHERS if name != asked}
    used = {name: _hosts(report) for name, report in reports.items()}
    per_host = int(np.bincount(used["linear"]).max())
    available = np.unique(used["linear"])
    far = distances.between(request, available)
    number = {int(host): place for place, host in enumerate(available)}
    parts = np.arange(len(bytes_)) if per_host == 1 else partition(bytes_, len(available), per_host, seed)
    maps = {} if per_host == 1 else {METIS: parts}
    note = ""
    if not distances.are_equal(far):
        maps[DISTANCE] = distances.mapped(parts, bytes_, far, seed)
    elif per_host == 1:
        note = "one rank a host, and all hosts equally far from each other: every map is the same"
    for name, chosen in maps.items():
        used[name] = available[chosen]
        reports[name] = run(request.changed(placement=used[name].tolist(), ppn=None))
    tried = [
        Tried(
            name,
            tuple(hosts.tolist()),
            reports[name].makespan_s,
            between_hosts(bytes_, hosts),
            _mean_distance_s(bytes_, hosts, number, far),
        )
        for name, hosts in used.items()
    ]
    return Compared(asked, tuple(sorted(tried, key=lambda one: one.makespan_s)), note)


def _mean_distance_s(
    bytes_: np.ndarray, hosts: np.ndarray, number: Mapping[int, int], far: np.ndarray
) -> float | None:
    """Mean over the bytes between hosts of their distance; None on hosts whose distances are not known."""
    if any(int(host) not in number for host in hosts):
        return None
    moved = between_hosts(bytes_, hosts)
    places = np.array([number[int(host)] for host in hosts])
    return distances.cost(bytes_, places, far) / moved if moved else 0.0


def placement_file(hosts: Sequence[int]) -> str:
    """The map as a file for `hopcast run --placement`: a line with the host's number for each rank."""
    return "# host of each rank, in their order\n" + "".join(f"{host}\n" for host in hosts)


def rank_file(hosts: Sequence[int], names: str, first: int) -> str:
    """The map as a rank file of Open MPI: `mpiexec --rankfile FILE`."""
    slots: dict[int, int] = {}
    lines = []
    for rank, host in enumerate(hosts):
        slot = slots.get(host, 0)
        slots[host] = slot + 1
        lines.append(f"rank {rank}={names.format(host + first)} slot={slot}\n")
    return "".join(lines)


def host_list(hosts: Sequence[int], names: str, first: int) -> str:
    """A line with the host's name for each rank: `mpiexec -f FILE` of MPICH, $SLURM_HOSTFILE of `srun -m
    arbitrary`."""
    return "".join(f"{names.format(host + first)}\n" for host in hosts)


def _hosts(report: Report) -> np.ndarray:
    table = report.table("ranks")
    order = np.argsort(table["rank"].to_numpy(), kind="stable")
    return table["host"].to_numpy()[order].astype(int)


def _within_capacity(parts: np.ndarray, bytes_: np.ndarray, hosts: int, per_host: int) -> np.ndarray:
    """Moves ranks from parts that hold too many to others with room, each time the one that loses the
    least."""
    parts = parts.copy()
    counts = np.bincount(parts, minlength=hosts)
    while (counts > per_host).any():
        towards = np.zeros((len(parts), hosts))
        for part in range(hosts):
            towards[:, part] = bytes_[:, parts == part].sum(axis=1)
        room = np.flatnonzero(counts < per_host)
        movable = np.flatnonzero(counts[parts] > per_host)
        losses = towards[movable, parts[movable]][:, None] - towards[np.ix_(movable, room)]
        rank, target = np.unravel_index(int(losses.argmin()), losses.shape)
        counts[parts[movable[rank]]] -= 1
        parts[movable[rank]] = room[target]
        counts[room[target]] += 1
    return parts
