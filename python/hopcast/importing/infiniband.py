"""Reader of `ibnetdiscover` text.

Each node is a line `Switch 36 "S-0002c9…" # "description" …` or `Ca 1 "H-0002c9…" # "host HCA-1"`, then its
ports: `[12] "H-0002c9…"[1](guid) # "host HCA-1" lid 7 4xEDR`. A cable stands twice, once at each end.

Source of the format: ibnetdiscover(8), infiniband-diags, section "Topology file format".
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from hopcast.errors import InputError
from hopcast.importing import fabric, link_rates
from hopcast.importing.fabric import Fabric

_NODE = re.compile(r'(Switch|Ca|Rt)\s+(\d+)\s+"([^"]{1,64})"\s*(?:#\s*"([^"]*)")?.*', re.ASCII)
_PORT = re.compile(
    r'\[(\d{1,4})\](?:\[ext[^\]]*\])?(?:\([0-9a-fA-F]+\))?\s+"([^"]{1,64})"\[(\d{1,4})\](.*)', re.ASCII
)
_OTHER = re.compile(r"(?:\w+=\S*|Chassis\b.*|Non-Chassis Nodes|DR path .*)", re.ASCII)
_GENERIC = re.compile(r"(?:MT\d{4,}|localhost|ConnectX|InfiniHost|HCA-?\d*|mlx\d_\d)", re.IGNORECASE)
_AGGREGATION = "Aggregation Node"


@dataclass
class Node:
    """A node and its ports."""

    kind: str
    description: str
    ports: dict[int, tuple[str, int, float | None]] = field(default_factory=dict)
    """Other end's identifier and port, and the rate, by number."""


def is_it(text: str) -> bool:
    """True for a text with a line of a switch or a channel adapter."""
    return re.search(r'^(?:Switch|Ca)\s+\d+\s+"[SH]-', text, re.MULTILINE) is not None


def read(text: str, place: str) -> Fabric:
    """The network."""
    nodes: dict[str, Node] = {}
    current: Node | None = None
    for count, raw in enumerate(text.split("\n"), 1):
        line, at = raw.strip(), f"{place}:{count}"
        if match := _NODE.fullmatch(line):
            if match[3] in nodes:
                raise InputError(f"{at}: node '{match[3]}' stands here for the second time")
            current = nodes[match[3]] = Node(match[1], match[4] or "")
        elif match := _PORT.fullmatch(line):
            if current is None:
                raise InputError(f"{at}: a port before the first node")
            rate = link_rates.WORD.findall(match[4])
            speed = None if not rate else link_rates.infiniband(rate[-1][1], rate[-1][0], at)
            current.ports[int(match[1])] = (match[2], int(match[3]), speed)
        elif line and line[0] != "#" and not _OTHER.fullmatch(line):
            raise InputError(f"{at}: neither a node nor a port of ibnetdiscover: '{line[:60]}'")
    return network(nodes, "ibnetdiscover", place)


def network(nodes: dict[str, Node], origin: str, place: str) -> Fabric:
    """The network of nodes by identifier."""
    found = Fabric(origin)
    missing = sorted({other for node in nodes.values() for other, _, _ in node.ports.values()} - set(nodes))
    if any(not identifier.startswith("H-") for identifier in missing):
        raise InputError(
            f"{place}: cables lead to {len(missing)} nodes that have no lines of their own, the first "
            f"'{missing[0]}': the text was cut"
        )
    if missing:
        found.findings.append(
            f"{len(missing)} adapters have no lines of their own: named by their identifiers"
        )
    extra = {identifier: Node("Ca", "") for identifier in missing}
    names = _names({**nodes, **extra}, found)
    pairs, one_sided = [], 0
    for identifier, node in nodes.items():
        for port, (other, far, rate) in node.ports.items():
            mirror = nodes[other].ports.get(far) if other in nodes else None
            if mirror is not None and mirror[:2] == (identifier, port) and (identifier, port) > (other, far):
                continue  # it stands at its other end
            one_sided += mirror is None and other in nodes
            if identifier in names and other in names:
                pairs.append((names[identifier], names[other], rate or (mirror[2] if mirror else None)))
    if one_sided:
        found.findings.append(f"{one_sided} cables stand at one of their ends only")
    if nameless := sum(rate is None for _, _, rate in pairs):
        found.findings.append(f"{nameless} cables have no word for width and speed")
    hosts = {
        names[key]: None for key, node in {**nodes, **extra}.items() if key in names and node.kind == "Ca"
    }
    found.hosts, found.cables = list(hosts), fabric.gathered(pairs)
    return fabric.settle(found, place)


def _names(nodes: dict[str, Node], found: Fabric) -> dict[str, str]:
    """Adapters have the names of their hosts, which several may share; switches have names of their own."""
    names, switches, skipped = {}, {}, 0
    for identifier, node in nodes.items():
        first = fabric.name(node.description.strip("' ").split(" ")[0])
        if node.kind != "Ca":
            switches[identifier] = (
                fabric.name(node.description.strip("' ")) if node.description else identifier
            )
        elif _AGGREGATION in node.description:
            skipped += 1
        else:
            described = node.description.strip("' ") and not _GENERIC.match(first)
            names[identifier] = first if described else fabric.name(identifier)
    if skipped:
        found.findings.append(f"{skipped} aggregation nodes inside switches are no hosts: left out")
    switches = fabric.unique(switches)
    taken = set(names.values())
    return names | {key: f"{text}@switch" if text in taken else text for key, text in switches.items()}
