"""Parts of a host that its ranks share: caches, NUMA domains, sockets; and the pairs that measure each.

Every rank tells the parts that it is bound in (`machine.c`). A part that divides the ranks of the first host
into several groups, of several ranks each, is a level of a platform: from the innermost outwards, each group
of one level lies in one of the next. Two ranks of a group that no smaller group holds measure its messages;
as many such pairs as there are, all at once, measure what they have together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

HOST = "host"
"""Name of what holds all ranks of a host: messages that no level holds."""
NIC = "nic"
"""Name of what ranks of two hosts have between them."""
PAIRS_MOST = 64
"""Pairs that `nodecomm` takes by name."""
_NAMES = ("socket", "numa", "L3", "L2")
"""Names by which a part is called that has several: the first of these."""

Group = tuple[int, ...]


@dataclass(frozen=True)
class Part:
    """A level inside hosts, or the host, with the ranks that measure it."""

    name: str
    processes: int
    """Ranks of a group."""
    partner: int
    """Rank that answers rank 0."""
    pairs: tuple[tuple[int, int], ...]
    """Ranks that exchange messages at once; each once."""


def find(ranks: Sequence[Mapping]) -> tuple[list[Part], list[str]]:
    """Parts of the first host from the innermost outwards, the host last; and why others are none.

    ranks: facts of all ranks. No part where rank 0 is alone on its host.
    """
    here = [place for place, rank in enumerate(ranks) if rank["host_number"] == ranks[0]["host_number"]]
    if len(here) < 2:
        return [], []
    groups, findings = _groups(ranks, here)
    parts = []
    inner: list[Group] = [(rank,) for rank in here]
    for name, outer in [*groups.items(), (HOST, [tuple(here)])]:
        own = outer[0]
        within = [group for group in inner if group[0] in own]
        half = len(within) // 2
        sides = ([rank for group in side for rank in group] for side in (within[:half], within[half:]))
        parts.append(Part(name, len(own), within[1][0], tuple(zip(*sides, strict=False))))
        inner = outer
    return parts, findings


def between(ranks: Sequence[Mapping]) -> Part | None:
    """Pairs of the first host's ranks and the next host's; None where all are on one."""
    first = ranks[0]["host_number"]
    other = next((rank["host_number"] for rank in ranks if rank["host_number"] != first), None)
    if other is None:
        return None
    sides = [
        [place for place, rank in enumerate(ranks) if rank["host_number"] == host] for host in (first, other)
    ]
    return Part(NIC, len(sides[0]), sides[1][0], tuple(zip(*sides, strict=False)))


def _groups(ranks: Sequence[Mapping], here: Sequence[int]) -> tuple[dict[str, list[Group]], list[str]]:
    """Groups of each level, the one of rank 0 first, from the innermost outwards."""
    named: dict[tuple[Group, ...], str] = {}
    findings = []
    names = {name for rank in here for name in ranks[rank].get("parts", {})}
    for name in sorted(names, key=lambda one: (one not in _NAMES, _NAMES.index(one) if one in _NAMES else 0)):
        numbers = [ranks[rank]["parts"].get(name) for rank in here]
        if None in numbers:
            findings.append(
                f"some ranks of {ranks[0]['host']} may run in several parts of kind '{name}', or in none: "
                "bind ranks to cores to measure it as a level"
            )
            continue
        groups = _by_number(here, numbers)
        sizes = {len(group) for group in groups}
        if len(groups) == 1 or sizes == {1}:
            continue  # the host itself, or no two ranks in one
        if len(sizes) > 1:
            findings.append(
                f"parts of kind '{name}' of {ranks[0]['host']} hold {min(sizes)} to {max(sizes)} of its "
                "ranks: start as many in each to measure it as a level"
            )
            continue
        named.setdefault(tuple(groups), name)
    levels: dict[str, list[Group]] = {}
    last: list[Group] = [(rank,) for rank in here]
    for several, name in sorted(named.items(), key=lambda item: -len(item[0])):
        if all(any(set(inner) <= set(group) for group in several) for inner in last):
            last = list(several)
            levels[name] = last
        else:
            findings.append(f"parts of kind '{name}' cut through smaller ones: not measured as a level")
    return levels, findings


def _by_number(here: Sequence[int], numbers: Sequence[int]) -> list[Group]:
    found: dict[int, list[int]] = {}
    for rank, number in zip(here, numbers, strict=True):
        found.setdefault(number, []).append(rank)
    return [tuple(group) for group in found.values()]
