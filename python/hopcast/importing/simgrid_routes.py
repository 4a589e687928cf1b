"""Hosts and links of SimGrid's platform files: one `<cluster>`, or hosts whose routes meet in one switch."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element

from hopcast.errors import InputError
from hopcast.importing import texts
from hopcast.importing.fabric import MOST_NODES
from hopcast.importing.simgrid_units import bandwidth, speed, time

_CLUSTER = {"id", "prefix", "suffix", "radical", "speed", "power", "core", "bw", "lat", "bb_bw", "bb_lat"}
_CLUSTER |= {"loopback_bw", "loopback_lat", "topology", "topo_parameters", "sharing_policy", "router_id"}
_ZONES = ("ASroute", "zoneRoute", "bypassRoute", "bypassASroute", "bypassZoneRoute", "cabinet", "peer")


@dataclass(frozen=True)
class Loopback:
    """The link of a host to itself."""

    latency_s: float
    bandwidth_Bps: float
    is_shared: bool
    """True where all its messages share the bandwidth."""
    is_default: bool = False
    """True where the file says nothing of it."""


@dataclass
class Cluster:
    """Equal hosts with one link each."""

    hosts: list[str]
    speed: float
    """Floating-point operations per second of a core."""
    cores: int
    bandwidth_Bps: float
    latency_s: float
    """Half of the latency between two hosts of one switch."""
    loopback: Loopback
    kind: str = "FLAT"
    parameters: tuple[tuple[int, ...], ...] = ()
    """Parameters of the topology, as the file has them."""
    names: str | None = None
    """Pattern of the names of hosts."""
    unsaid: list[str] = field(default_factory=list)


def read(root: Element, place: str, default: Loopback) -> Cluster:
    """The cluster of a file; default: the loopback of hosts without one."""
    clusters = list(root.iter("cluster"))
    hosts = list(root.iter("host"))
    if len(clusters) > 1 or (clusters and hosts):
        raise InputError(
            f"{place}: {len(clusters)} clusters and {len(hosts)} hosts beside them: a platform is one "
            "cluster, or hosts with routes: cut the file to one of them"
        )
    if not clusters and not hosts:
        raise InputError(f"{place}: neither a <cluster> nor a <host>")
    found = _cluster(clusters[0], place, default) if clusters else _hosts(root, hosts, place, default)
    dynamic = [
        f"<{element.tag} {name}>"
        for element in root.iter()
        for name in element.attrib
        if name.endswith("_file") or element.tag.startswith("trace")
    ]
    beside = [tag for tag in _ZONES if root.find(f".//{tag}") is not None]
    properties = Counter(
        prop.get("id", "") for tag in ("cluster", "host", "link") for at in root.iter(tag) for prop in at
    )
    for what, names in (
        ("changes over time", list(dict.fromkeys(dynamic))),
        ("further zones and routes", beside),
        ("properties of hosts and links", list(properties)),
    ):
        if names:
            found.unsaid.append(f"{what}: {', '.join(names[:8])}{', …' if len(names) > 8 else ''}")
    return found


def _cluster(node: Element, place: str, default: Loopback) -> Cluster:
    at = f"{place}: cluster '{node.get('id', '')[:40]}'"

    def want(name: str, other: str = "") -> str:
        value = node.get(name, node.get(other))
        if value is None:
            raise InputError(f"{at}: no {name}")
        return value

    numbers, spans = _radical(want("radical"), at)
    prefix, suffix = want("prefix"), want("suffix")
    unsaid = [f"{name} = {value}" for name, value in node.items() if name not in _CLUSTER]
    unsaid = [f"attributes of the cluster: {', '.join(unsaid)}"] if unsaid else []
    sharing = node.get("sharing_policy", "SPLITDUPLEX").upper()
    if sharing not in ("SPLITDUPLEX", "FULLDUPLEX"):
        unsaid.append(f"sharing_policy {sharing}: each direction of a link has its bandwidth here")
    latency = time(want("lat"), f"{at}: lat")
    if "bb_bw" in node.attrib or "bb_lat" in node.attrib:
        back, wide = (
            time(node.get("bb_lat", "0"), f"{at}: bb_lat"),
            node.get("bb_bw", ""),
        )
        latency += back / 2
        unsaid.append(f"backbone of {wide or 'no bandwidth'}, which all share: its latency alone is counted")
    loopback = default
    if "loopback_bw" in node.attrib or "loopback_lat" in node.attrib:
        loopback = Loopback(
            time(node.get("loopback_lat", "0"), f"{at}: loopback_lat"),
            bandwidth(want("loopback_bw"), f"{at}: loopback_bw"),
            is_shared=False,
        )
    kind = node.get("topology", "FLAT").upper()
    parameters = _parameters(node.get("topo_parameters", ""), at)
    wanted = {"FLAT": 0, "FAT_TREE": 4, "TORUS": 1, "DRAGONFLY": 4}
    if kind not in wanted or (wanted[kind] and len(parameters) != wanted[kind]):
        raise InputError(
            f"{at}: topology '{kind[:40]}' with {len(parameters)} parts of topo_parameters; known: "
            "FLAT, FAT_TREE (4 parts), TORUS (1), DRAGONFLY (4)"
        )
    pattern = " ".join(f"{prefix}{{{first}..{last}}}{suffix}" for first, last in spans)
    return Cluster(
        [f"{prefix}{number}{suffix}" for number in numbers],
        speed(want("speed", "power"), f"{at}: speed"),
        texts.number(node.get("core", "1").strip(), at, "core", 65535) or 1,
        bandwidth(want("bw"), f"{at}: bw"),
        latency,
        loopback,
        kind,
        parameters,
        None if set(prefix + suffix) & set("{} #\t") else pattern,
        unsaid,
    )


def _radical(text: str, at: str) -> tuple[list[int], list[tuple[int, int]]]:
    """Numbers of hosts, of a text such as "0-31,40"."""
    spans = []
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        low = texts.number(first.strip(), at, "radical")
        high = texts.number((last or first).strip(), at, "radical")
        spans.append((low, high))
        if high < low or sum(b - a + 1 for a, b in spans) > MOST_NODES:
            raise InputError(
                f"{at}: radical '{text[:40]}': a falling range, or more than {MOST_NODES:,} hosts"
            )
    return [number for low, high in spans for number in range(low, high + 1)], spans


def _parameters(text: str, at: str) -> tuple[tuple[int, ...], ...]:
    parts = [part for part in text.replace(" ", "").split(";") if part]
    return tuple(
        tuple(texts.number(word, at, "topo_parameters", MOST_NODES) for word in part.split(","))
        for part in parts
    )


@dataclass(frozen=True)
class _Link:
    bandwidth_Bps: float
    latency_s: float
    policy: str


def _hosts(root: Element, nodes: list[Element], place: str, default: Loopback) -> Cluster:
    """Hosts of a zone with full routing: routes are the source's link, others, and the target's."""
    links = {
        node.get("id", ""): _Link(
            bandwidth(node.get("bandwidth", ""), f"{place}: link '{node.get('id', '')[:40]}'"),
            time(node.get("latency", "0"), f"{place}: link '{node.get('id', '')[:40]}'"),
            node.get("sharing_policy", "SHARED").upper(),
        )
        for node in root.iter("link")
    }
    names = [node.get("id", "") for node in nodes]
    known = set(names)
    ends: dict[str, set[str]] = {"first": set(), "last": set()}
    homes: dict[tuple[str, str], set[str]] = {}
    costs: Counter[tuple[float, float]] = Counter()
    loops: Counter[Loopback] = Counter()
    for source, target, passed in _routes(root, place):
        if source not in known or target not in known:
            raise InputError(f"{place}: a route from '{source[:40]}' to '{target[:40]}': one is no host")
        if missing := [name for name in passed if name not in links]:
            raise InputError(f"{place}: a route by link '{missing[0][:40]}', which the file does not have")
        way = [links[name] for name in passed]
        if not way:
            raise InputError(f"{place}: the route from '{source[:40]}' to '{target[:40]}' has no link")
        narrow, far = min(link.bandwidth_Bps for link in way), sum(link.latency_s for link in way)
        if source == target:
            loops[Loopback(far, narrow, any(link.policy != "FATPIPE" for link in way))] += 1
            continue
        costs[(narrow, far)] += 1
        for kind, host, name in (("first", source, passed[0]), ("last", target, passed[-1])):
            homes.setdefault((kind, name), set()).add(host)
            ends[kind].add(host)
    if len(names) > 1 and not costs:
        raise InputError(f"{place}: {len(names)} hosts and no route between two of them")
    if shared := [name for (_, name), hosts in homes.items() if len(hosts) > 1]:
        raise InputError(
            f"{place}: link '{shared[0][:40]}' is the first or last of several hosts: only hosts with a link "
            "of their own to one switch can be told"
        )
    own = {name for _, name in homes}
    return _alike(names, nodes, costs, loops, links, own, place, default)


def _routes(root: Element, place: str) -> Iterator[tuple[str, str, list[str]]]:
    """Routes with their links, there and back where they are symmetrical."""
    for node in root.iter("route"):
        source, target = node.get("src", ""), node.get("dst", "")
        passed = [part.get("id", "") for part in node.iter("link_ctn")]
        yield source, target, passed
        if source != target and node.get("symmetrical", "YES").upper() == "YES":
            yield target, source, passed[::-1]


def _alike(
    names: list[str],
    nodes: list[Element],
    costs: Counter[tuple[float, float]],
    loops: Counter[Loopback],
    links: dict[str, _Link],
    own: set[str],
    place: str,
    default: Loopback,
) -> Cluster:
    """The usual host and route; differences among them are unsaid."""
    unsaid = []
    speeds = Counter(speed(node.get("speed", node.get("power", "")), f"{place}: host") for node in nodes)
    cores = Counter(texts.number(node.get("core", "1"), place, "core", 65535) or 1 for node in nodes)
    (usual_speed, _), (usual_cores, _) = speeds.most_common(1)[0], cores.most_common(1)[0]
    (narrow, far), _ = costs.most_common(1)[0] if costs else ((math.inf, 0.0), 0)
    loop = loops.most_common(1)[0][0] if loops else default
    for what, counts in (
        ("speeds of hosts", speeds),
        ("cores", cores),
        ("routes", costs),
        ("loopbacks", loops),
    ):
        if len(counts) > 1:
            unsaid.append(f"{len(counts)} different {what}: the most frequent is taken for all")
    if math.isinf(narrow):
        raise InputError(f"{place}: one host and no route: the rate of its link is not known")
    between = {links[name].policy for name in own}
    policies = sorted(between - {"SHARED", "SPLITDUPLEX", "FULLDUPLEX"})
    if policies:
        unsaid.append(f"sharing policies {', '.join(policies)} of links between hosts")
    missing = len(names) * (len(names) - 1) - sum(costs.values())
    if missing > 0:
        unsaid.append(f"{missing} pairs of hosts without a route: all are on one switch here")
    return Cluster(names, usual_speed, usual_cores, narrow, far / 2, loop, unsaid=unsaid)
