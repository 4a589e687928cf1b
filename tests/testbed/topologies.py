"""Networks of the testbed: switches, links between them, and the switch of each host."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass


@dataclass(frozen=True)
class Network:
    """A graph of switches; links between them may be slower than those of hosts."""

    switches: int
    links: tuple[tuple[int, int], ...]
    """Pairs of switches."""
    switch_of: tuple[int, ...]
    """Switch of each host."""

    def next_switches(self, switch: int) -> list[int]:
        """For each switch, the neighbour through which a shortest way leads there; of several the first."""
        first = {switch: switch}
        waiting = deque([switch])
        while waiting:
            here = waiting.popleft()
            for there in self.neighbours(here):
                if there not in first:
                    first[there] = there if here == switch else first[here]
                    waiting.append(there)
        return [first[other] for other in range(self.switches)]

    def neighbours(self, switch: int) -> list[int]:
        """Switches that a link leads to, in the order of their numbers."""
        ends = [pair for pair in self.links if switch in pair]
        return sorted(one + other - switch for one, other in ends)


def star(hosts: int) -> Network:
    """All hosts on one switch."""
    return Network(1, (), (0,) * hosts)


def tree(hosts: int) -> Network:
    """Two switches with half of the hosts each, joined by a third: its links are the bottleneck."""
    return Network(3, ((0, 2), (1, 2)), tuple(host * 2 // hosts for host in range(hosts)))


def ring(hosts: int) -> Network:
    """A switch for each host, in a ring."""
    return Network(hosts, tuple((host, (host + 1) % hosts) for host in range(hosts)), tuple(range(hosts)))


TOPOLOGIES = {"star": star, "tree": tree, "ring": ring}
