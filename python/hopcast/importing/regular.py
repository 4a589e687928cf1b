"""Graphs that are a fat tree of two levels: leaves with equally many hosts and cables to each spine.

As such a tree a platform has the routing of one: by the host, not by the switch that it hangs on.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from hopcast.importing.fabric import Fabric


@dataclass(frozen=True)
class FatTree:
    """Two levels of switches."""

    leaves: tuple[tuple[str, ...], ...]
    """Hosts of each leaf."""
    spines: int
    cables: int
    """Cables between each leaf and each spine."""
    bandwidth_Bps: float
    """Bandwidth of one of them."""


def fat_tree(network: Fabric) -> FatTree | None:
    """The tree that the network is, if it is one with all rates known."""
    known = set(network.hosts)
    leaves: dict[str, list[str]] = {}
    home: dict[str, str] = {}
    trunks: Counter[tuple[str, str]] = Counter()
    host_rates, rates = set(), set()
    for cable in network.cables:
        first, second = cable.ends if cable.ends[0] in known else cable.ends[::-1]
        if first in known:
            home[first] = second
            host_rates.add(cable.bandwidth_Bps)
        else:
            trunks[cable.ends] += cable.count
            rates.add(cable.bandwidth_Bps)
    for host in network.hosts:
        leaves.setdefault(home[host], []).append(host)
    spines = {end for ends in trunks for end in ends if end not in leaves}
    wanted = {frozenset((leaf, spine)) for leaf in leaves for spine in spines}
    sizes, counts = {len(hosts) for hosts in leaves.values()}, set(trunks.values())
    alike = len(sizes) == len(counts) == len(rates) == len(host_rates) == 1
    if not (alike and len(leaves) > 1 and spines and wanted == {frozenset(ends) for ends in trunks}):
        return None
    (rate,), (count,) = rates, counts
    if rate is None or count > 1024:
        return None
    return FatTree(tuple(tuple(hosts) for hosts in leaves.values()), len(spines), count, rate)
