"""Readers of maps of Cray's networks.

Aries (XC), links: `X Y GROUP : TILE -> X Y GROUP : TILE` between groups, `X Y : TILE -> X Y : TILE` inside
each group; each link stands once for each direction. Or the interconnect's own list:
`c0-0c0s0a0l00(0:0:0) green -> c0-0c0s6a0l10(0:0:6)`, blue for links between groups.

Gemini (XE) and others, hosts: a line `COUNT COLUMNS`, then `NAME X Y Z SLOT` (or `NAME NUMBER`) each.

Rates of Aries: 5.25 GB/s for each direction of a link inside a group, 4.7 GB/s of one between groups. Source:
Faanes et al., "Cray Cascade: a scalable HPC system based on a Dragonfly network" (SC 2012), section III.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from hopcast.errors import InputError
from hopcast.importing import fabric, texts
from hopcast.importing.fabric import MOST_NODES, Cable, Fabric

LOCAL_BPS, GLOBAL_BPS = 5.25e9, 4.7e9
MOST_HOSTS_OF_A_ROUTER = 64
_LINK = re.compile(r"((?:\d{1,5} ){2,3}): \d{1,3} \d{1,3} -> ((?:\d{1,5} ){2,3}): \d{1,3} \d{1,3}", re.ASCII)
_TILE = r"c\d{1,4}-\d{1,4}c\d{1,2}s\d{1,2}a\d{1,2}l(\d{1,3})\((\d{1,5}):(\d{1,3}):(\d{1,3})\)"
_NAMED = re.compile(
    rf"{_TILE} (green|black|blue|ptile) -> (?:{_TILE}|(unused|ptile|host|processor)\S*)", re.ASCII
)
_HEAD = re.compile(r"(\d{1,8}) (\d{1,2})", re.ASCII)


@dataclass(frozen=True)
class NodeMap:
    """Hosts by coordinates, the slot on their router last; by a number alone where there is one column."""

    hosts: dict[str, tuple[int, ...]]

    @property
    def sizes(self) -> list[int]:
        """Extents of the coordinates."""
        columns = zip(*self.hosts.values(), strict=True)
        return [max(column) + 1 for column in columns]


def is_links(text: str) -> bool:
    """True for a list of Aries links."""
    first = _first(text)
    return bool(_LINK.fullmatch(first) or _NAMED.fullmatch(first))


def is_nodes(text: str) -> bool:
    """True for a map of hosts."""
    return _HEAD.fullmatch(_first(text)) is not None


def read_nodes(text: str, place: str) -> NodeMap:
    """Hosts and where they are."""
    rows = [(count, line.split()) for count, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not rows or len(rows[0][1]) != 2:
        raise InputError(f"{place}:1: not the number of hosts and of columns")
    wanted, columns = (texts.number(word, f"{place}:1", "count", MOST_NODES) for word in rows[0][1])
    if columns < 1 or columns > 8:
        raise InputError(f"{place}:1: {columns} columns instead of 1 to 8")
    hosts: dict[str, tuple[int, ...]] = {}
    taken: dict[tuple[int, ...], str] = {}
    for count, row in rows[1:]:
        at = f"{place}:{count}"
        if len(row) != columns + 1:
            raise InputError(f"{at}: {len(row)} words instead of a name and {columns} numbers")
        where = tuple(texts.number(word, at, "coordinate", MOST_NODES) for word in row[1:])
        if row[0] in hosts or where in taken:
            raise InputError(f"{at}: {row[0]}: the name or the place stands here for the second time")
        hosts[row[0]], taken[where] = where, row[0]
    if len(hosts) != wanted:
        raise InputError(f"{place}: {len(hosts)} hosts, and line 1 says {wanted}: the file was cut")
    if not hosts:
        raise InputError(f"{place}: no hosts")
    return NodeMap(hosts)


def read_links(parts: list[tuple[str, str]], hosts_of_router: int | None) -> Fabric:
    """The network of all lists together: links between groups and those inside."""
    between: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    inside: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    for text, place in parts:
        for count, line in enumerate(text.split("\n"), 1):
            if line.strip():
                _link(line.strip(), f"{place}:{count}", between, inside)
    groups = sorted({end[2] for ends in between for end in ends}) or [0]
    place = " and ".join(place for _, place in parts)
    if not inside:
        raise InputError(f"{place}: links between groups alone: give the file of links inside a group, too")
    spread = [ends for ends in inside if len(ends[0]) == 3]
    spread += [
        ((*first, group), (*second, group)) for first, second in inside if len(first) == 2 for group in groups
    ]
    if len(spread) + len(between) > fabric.MOST_CABLES:
        raise InputError(f"{place}: more than {fabric.MOST_CABLES:,} links")
    found = Fabric("map of Aries links")
    count = 4 if hosts_of_router is None else hosts_of_router
    if hosts_of_router is None:
        found.assumed.append("4 hosts on each router, as Aries has NICs (--hosts-per-router N)")
    found.cables = _cables(spread, LOCAL_BPS, found) + _cables(between, GLOBAL_BPS, found)
    found.assumed.append("5.25 GB/s inside a group, 4.7 GB/s between groups, as published for Aries")
    for router in sorted({end for ends in spread for end in ends}, key=lambda at: at[::-1]):
        for _slot in range(count):
            host = f"nid{len(found.hosts):05}"
            found.hosts.append(host)
            found.cables.append(Cable((host, _name(router)), None))
        if len(found.hosts) > MOST_NODES:
            raise InputError(f"{place}: more than {MOST_NODES:,} hosts")
    return fabric.settle(found, place)


def _link(line: str, at: str, between: list, inside: list) -> None:
    if match := _LINK.fullmatch(line):
        ends = tuple(tuple(int(word) for word in part.split()) for part in match.groups())
        if len(ends[0]) != len(ends[1]):
            raise InputError(f"{at}: coordinates of {len(ends[0])} and of {len(ends[1])} numbers")
        (between if len(ends[0]) == 3 else inside).append(ends)
    elif match := _NAMED.fullmatch(line):
        if match[10]:
            return
        # (group:chassis:slot); a router is (slot, chassis, group), as in the other lists.
        here, there = (tuple(int(match[part + back]) for back in (2, 1, 0)) for part in (2, 7))
        (between if match[5] == "blue" else inside).append((here, there))
    else:
        raise InputError(f"{at}: not a link of an Aries network: '{line[:60]}'")


def _cables(links: list, rate: float, found: Fabric) -> list[Cable]:
    """Cables; both directions of one are two lines."""
    counts: dict[tuple, int] = {}
    for first, second in links:
        counts[(first, second)] = counts.get((first, second), 0) + 1
    one_way = sum(counts.get((second, first)) != count for (first, second), count in counts.items())
    if one_way:
        found.findings.append(
            f"{one_way} pairs of routers do not have as many links back: taken in both directions"
        )
    cables: dict[tuple, int] = {}
    for (first, second), count in counts.items():
        key = (min(first, second), max(first, second))
        cables[key] = max(cables.get(key, 0), count)
    return [Cable((_name(first), _name(second)), rate, count) for (first, second), count in cables.items()]


def _name(router: tuple[int, ...]) -> str:
    return f"({','.join(map(str, router))})"


def _first(text: str) -> str:
    return text.lstrip()[:400].split("\n")[0].strip()
