"""The graph of a network: hosts, routers, and cables between them, as a source says."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from hopcast.errors import InputError

MOST_NODES = 1_000_000
MOST_CABLES = 8_000_000
MOST_PARALLEL = 1024
"""Parallel links between two nodes that a platform file can say."""
_NOT_IN_NAMES = re.compile(r"[^\w.:+/()@-]+")


@dataclass(frozen=True)
class Cable:
    """Parallel cables between two nodes, both directions."""

    ends: tuple[str, str]
    bandwidth_Bps: float | None
    """Bandwidth of one of them; None where the source does not say it."""
    count: int = 1


@dataclass
class Fabric:
    """Names in the order of the source."""

    origin: str
    """Format of the source, for people."""
    hosts: list[str] = field(default_factory=list)
    cables: list[Cable] = field(default_factory=list)
    nics: int = 1
    """Cables of each host to its router."""
    findings: list[str] = field(default_factory=list)
    """Remarks about what was left out."""
    assumed: list[str] = field(default_factory=list)
    """Properties that the source does not say, with what was taken."""

    @property
    def routers(self) -> list[str]:
        """Nodes that are not hosts, in the order of cables."""
        hosts = set(self.hosts)
        return list(dict.fromkeys(end for cable in self.cables for end in cable.ends if end not in hosts))


def name(text: str) -> str:
    """Name that a list of cables can hold."""
    cut = _NOT_IN_NAMES.sub("_", text.strip())[:80].strip("_")
    return f"{cut}_" if cut in ("host", "") else cut


def unique(wanted: dict[str, str]) -> dict[str, str]:
    """Names of nodes by their identifiers; names that several have get the identifier's end."""
    counts = Counter(wanted.values())
    return {key: f"{text}@{name(key)}" if counts[text] > 1 else text for key, text in wanted.items()}


def gathered(pairs: Iterable[tuple[str, str, float | None]]) -> list[Cable]:
    """Cables with parallel ones counted; each physical cable is given once."""
    counts: dict[tuple[str, str, float | None], int] = {}
    for first, second, rate in pairs:
        key = (first, second, rate) if first <= second else (second, first, rate)
        counts[key] = counts.get(key, 0) + 1
        if len(counts) > MOST_CABLES:
            raise InputError(f"more than {MOST_CABLES:,} cables")
    return [Cable((first, second), rate, count) for (first, second, rate), count in counts.items()]


def settle(fabric: Fabric, place: str) -> Fabric:
    """The fabric as a platform can have it: connected, and every host on one router."""
    if len(fabric.hosts) > MOST_NODES:
        raise InputError(f"{place}: more than {MOST_NODES:,} hosts")
    fabric.cables = [cable for cable in fabric.cables if cable.ends[0] != cable.ends[1]]
    _one_router_for_each_host(fabric)
    _largest_part(fabric)
    _without_dead_ends(fabric)
    if not fabric.hosts:
        raise InputError(f"{place}: {fabric.origin}: no host that hangs on a switch")
    return fabric


def _one_router_for_each_host(fabric: Fabric) -> None:
    hosts = set(fabric.hosts)
    ways: dict[str, list[Cable]] = {host: [] for host in fabric.hosts}
    kept, between_hosts = [], 0
    for cable in fabric.cables:
        at = [end for end in cable.ends if end in hosts]
        if len(at) == 2:
            between_hosts += 1
        elif at:
            ways[at[0]].append(cable)
        else:
            kept.append(cable)
    if between_hosts:
        fabric.findings.append(f"{between_hosts} cables between two hosts are left out: hosts do not route")
    lonely = [host for host, found in ways.items() if not found]
    if lonely:
        fabric.findings.append(
            f"{len(lonely)} hosts without a cable to a switch are left out: {_few(lonely)}"
        )
    counts = {sum(cable.count for cable in found) for found in ways.values() if found}
    alike = len(counts) == 1 and all(len(found) == 1 for found in ways.values() if found)
    fabric.nics = min(counts.pop(), 64) if alike else 1
    several = [host for host, found in ways.items() if sum(cable.count for cable in found) > 1]
    if several and not alike:
        fabric.findings.append(
            f"{len(several)} hosts have several cables, not all to one switch or not all alike: the first of "
            f"each is taken: {_few(several)}"
        )
    fabric.hosts = [host for host in fabric.hosts if ways[host]]
    first = [ways[host][0] for host in fabric.hosts]
    fabric.cables = [Cable(cable.ends, cable.bandwidth_Bps) for cable in first] + kept


def _largest_part(fabric: Fabric) -> None:
    """Keeps the connected part with most hosts."""
    near: dict[str, list[str]] = {}
    for cable in fabric.cables:
        for here, there in (cable.ends, cable.ends[::-1]):
            near.setdefault(here, []).append(there)
    part: dict[str, int] = {}
    for start in near:
        if start in part:
            continue
        part[start], waiting = len(part), [start]
        while waiting:
            for node in near[waiting.pop()]:
                if node not in part:
                    part[node] = part[start]
                    waiting.append(node)
    sizes = Counter(part[host] for host in fabric.hosts)
    if len(sizes) < 2:
        largest = next(iter(sizes), None)
    else:
        largest = min(sizes, key=lambda number: (-sizes[number], number))
        fabric.findings.append(
            f"{len(sizes)} parts are not connected with each other; the largest is taken, "
            f"{len(fabric.hosts) - sizes[largest]} hosts are left out"
        )
    fabric.hosts = [host for host in fabric.hosts if part[host] == largest]
    fabric.cables = [cable for cable in fabric.cables if part[cable.ends[0]] == largest]


def _without_dead_ends(fabric: Fabric) -> None:
    """Leaves out routers that lead nowhere, again and again."""
    hosts = set(fabric.hosts)
    dropped: set[str] = set()
    near: dict[str, set[str]] = {}
    for cable in fabric.cables:
        for here, there in (cable.ends, cable.ends[::-1]):
            near.setdefault(here, set()).add(there)
    waiting = [node for node, others in near.items() if node not in hosts and len(others) < 2]
    while waiting:
        node = waiting.pop()
        if node in dropped or any(other in hosts for other in near[node]):
            continue
        dropped.add(node)
        for other in near[node]:
            near[other].discard(node)
            if other not in hosts and len(near[other]) < 2:
                waiting.append(other)
    if dropped:
        fabric.findings.append(f"{len(dropped)} switches that lead to no host are left out")
        fabric.cables = [cable for cable in fabric.cables if not dropped.intersection(cable.ends)]


def _few(names: list[str]) -> str:
    return ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
