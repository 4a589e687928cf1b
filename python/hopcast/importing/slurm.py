"""Reader of Slurm's `topology.conf`: trees of switches, and blocks.

Lines `SwitchName=s0 Nodes=tux[0-3,12] LinkSpeed=900`, `SwitchName=top Switches=s[0-2]`,
`BlockName=b1 Nodes=…`. The file serves to place jobs: it says neither rates (`LinkSpeed` is
a number without a unit) nor how many cables lead up, and a top switch often stands for many.

Source of the format: topology.conf(5), Slurm 24.11.
"""

from __future__ import annotations

import re

from hopcast.errors import InputError
from hopcast.importing.fabric import MOST_NODES, MOST_PARALLEL, Cable, Fabric, name, settle

_KEYS = {
    "switchname": "SwitchName",
    "blockname": "BlockName",
    "nodes": "Nodes",
    "switches": "Switches",
    "linkspeed": "LinkSpeed",
    "blocksizes": "BlockSizes",
}
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)
_BRACKETS = re.compile(r"([^\[\]]*)\[([^\[\]]*)\](.*)")


def is_it(text: str) -> bool:
    """True for a text with a line of a switch or block."""
    return re.search(r"^\s*(?:SwitchName|BlockName)\s*=", text, re.MULTILINE | re.IGNORECASE) is not None


def read(text: str, place: str, uplinks: int | None = None) -> Fabric:
    """The network; a switch has `uplinks` cables to the one above, by default one for each host below."""
    switches: dict[str, tuple[list[str], list[str]]] = {}
    blocks = False
    for count, line in _lines(text):
        at = f"{place}:{count}"
        keys = _assignments(line, at)
        if "BlockSizes" in keys:
            continue
        own = keys.get("SwitchName") or keys.get("BlockName")
        if own is None:
            raise InputError(f"{at}: neither SwitchName nor BlockName: '{line[:60]}'")
        blocks |= "BlockName" in keys
        below = [hostlist(keys.get(key, ""), at) for key in ("Nodes", "Switches")]
        for switch in hostlist(own, at):
            if switch in switches:
                raise InputError(f"{at}: '{switch}' stands here for the second time")
            switches[switch] = (below[0], below[1])
    return network(Fabric("Slurm's topology.conf"), switches, uplinks, place, blocks=blocks)


def network(
    found: Fabric,
    switches: dict[str, tuple[list[str], list[str]]],
    uplinks: int | None,
    place: str,
    *,
    blocks: bool,
) -> Fabric:
    """The network of switches, or blocks, with the hosts and the switches below each."""
    if blocks:
        switches["between_blocks"] = ([], list(switches))
        found.assumed.append("blocks hang on one switch, as the file does not say how they are connected")
    _connect(found, switches, uplinks, place)
    return settle(found, place)


def hostlist(text: str, place: str) -> list[str]:
    """Names of an expression such as `tux[0-3,12],login`, in its order."""
    names: list[str] = []
    for part in re.split(r",(?![^\[]*\])", text):
        if part.strip():
            names += _expanded(part.strip(), place, MOST_NODES - len(names))
    return names


def _expanded(part: str, place: str, room: int) -> list[str]:
    match = _BRACKETS.fullmatch(part)
    if match is None:
        if "[" in part or "]" in part:
            raise InputError(f"{place}: '{part[:40]}': a bracket without its other")
        return [part]
    tails = _expanded(match[3], place, room) if match[3] else [""]
    numbers: list[str] = []
    for piece in match[2].split(","):
        span = _RANGE.fullmatch(piece.strip())
        if span is None:
            raise InputError(f"{place}: '{piece[:40]}' is not a number or a range such as 0-3")
        first, last = int(span[1]), int(span[2] or span[1])
        if last < first or (last - first + 1 + len(numbers)) * len(tails) > room:
            raise InputError(f"{place}: '{part[:40]}': a falling range, or more than {MOST_NODES:,} names")
        numbers += [f"{value:0{len(span[1])}d}" for value in range(first, last + 1)]
    return [f"{match[1]}{value}{tail}" for value in numbers for tail in tails]


def _lines(text: str) -> list[tuple[int, str]]:
    """Numbered lines without comments, those that go on after a backslash put together."""
    found: list[tuple[int, str]] = []
    open_line = False
    for count, raw in enumerate(text.split("\n"), 1):
        line = raw.split("#")[0].strip()
        more = line.endswith("\\")
        line = line.rstrip("\\").strip()
        if open_line:
            found[-1] = (found[-1][0], f"{found[-1][1]} {line}")
        elif line:
            found.append((count, line))
        open_line = more and bool(found)
    return found


def _assignments(line: str, at: str) -> dict[str, str]:
    keys: dict[str, str] = {}
    for word in line.split():
        key, equals, value = word.partition("=")
        known = _KEYS.get(key.lower())
        if known is None or not equals:
            raise InputError(
                f"{at}: '{word[:40]}': unknown; known: {', '.join(f'{key}=' for key in _KEYS.values())}"
            )
        keys[known] = value
    return keys


def _connect(
    found: Fabric, switches: dict[str, tuple[list[str], list[str]]], uplinks: int | None, place: str
) -> None:
    names = {switch: name(switch) for switch in switches}
    parents: dict[str, str] = {}
    homes: dict[str, str] = {}
    for switch, (nodes, children) in switches.items():
        for node in nodes:
            homes.setdefault(name(node), switch)
        for child in children:
            if child not in switches:
                raise InputError(f"{place}: switch '{switch}' names '{child[:40]}', which has no line")
            if child in parents:
                found.findings.append(
                    f"switch {child} has two above it: the first, {parents[child]}, is taken"
                )
            parents.setdefault(child, switch)
    below = dict.fromkeys(switches, 0)
    for home in homes.values():
        at: str | None = home
        steps = 0
        while at is not None:
            below[at] += 1
            steps += 1
            at = parents.get(at)
            if steps > len(switches):
                raise InputError(f"{place}: switch '{home}' is above itself")
    taken = set(homes)
    names = {switch: f"{text}@switch" if text in taken else text for switch, text in names.items()}
    found.hosts = list(homes)
    found.cables = [Cable((host, names[home]), None) for host, home in homes.items()]
    for child, parent in parents.items():
        count = below[child] if uplinks is None else uplinks
        if count:
            found.cables.append(Cable((names[child], names[parent]), None, min(count, MOST_PARALLEL)))
    if parents and uplinks is None:
        found.assumed.append("as many cables lead up from a switch as hosts are below it (--uplinks N)")
