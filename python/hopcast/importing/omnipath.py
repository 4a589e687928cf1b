"""Reader of Omni-Path topologies in XML: `opareport -o topology -x` and `-o links -x`, `opaxlattopology`.

A `Link` has a `Rate` such as `100g`, and two `Port`s with `NodeGUID`, `PortNum`, `NodeType` (`FI` for a
host's interface, `SW` for a switch) and `NodeDesc` such as `host hfi1_0`. Files of a plan have no GUIDs: then
the description is the name.
"""

from __future__ import annotations

from xml.etree.ElementTree import Element

from hopcast.errors import InputError
from hopcast.importing import fabric, link_rates
from hopcast.importing.fabric import Fabric

_HOSTS = ("FI", "HFI", "CA")
_SWITCHES = ("SW",)


def is_it(root: Element) -> bool:
    """True for XML with links of two ports."""
    return any(len(link.findall("Port")) == 2 for link in root.iter("Link"))


def read(root: Element, place: str) -> Fabric:
    """The network."""
    found = Fabric("Omni-Path topology")
    hosts: dict[str, None] = {}
    switches: dict[str, str] = {}
    cables: list[tuple[tuple[str, str], tuple[str, str], float | None]] = []
    seen: set[frozenset[tuple[str, str]]] = set()
    for count, link in enumerate(root.iter("Link"), 1):
        at = f"{place}: link {count}"
        ports = link.findall("Port")
        if len(ports) != 2:
            raise InputError(f"{at}: {len(ports)} ports instead of 2")
        first, second = (_end(port, at, hosts, switches) for port in ports)
        numbered = frozenset(
            (end[1], port.findtext("PortNum", "").strip())
            for end, port in zip((first, second), ports, strict=True)
        )
        if numbered in seen and all(number for _, number in numbered):
            continue  # reports list a link at both of its ends
        seen.add(numbered)
        word = link.findtext("Rate", "").strip()
        cables.append((first, second, link_rates.omni_path(word, at) if word else None))
    names = fabric.unique(switches)
    taken = set(hosts)
    names = {key: f"{text}@switch" if text in taken else text for key, text in names.items()}

    def node(end: tuple[str, str]) -> str:
        return names[end[1]] if end[0] == "switch" else end[1]

    pairs = [(node(first), node(second), rate) for first, second, rate in cables]
    if nameless := sum(rate is None for *_, rate in cables):
        found.findings.append(f"{nameless} links have no Rate")
    found.hosts, found.cables = list(hosts), fabric.gathered(pairs)
    return fabric.settle(found, place)


def _end(port: Element, at: str, hosts: dict[str, None], switches: dict[str, str]) -> tuple[str, str]:
    description = port.findtext("NodeDesc", "").strip()
    kind = port.findtext("NodeType", "").strip().upper()
    identifier = port.findtext("NodeGUID", "").strip() or description
    if not identifier:
        raise InputError(f"{at}: a port without NodeGUID and NodeDesc")
    if kind in _HOSTS:
        host = fabric.name((description or identifier).split(" ")[0])
        hosts[host] = None
        return "host", host
    if kind in _SWITCHES:
        switches[identifier] = fabric.name(f"{description or identifier}")
        return "switch", identifier
    known = ", ".join((*_HOSTS, *_SWITCHES))
    raise InputError(f"{at}: unknown NodeType '{kind[:40]}'; known: {known}")
