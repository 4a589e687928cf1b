"""The platform file of what was read, and the files beside it."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

from hopcast.calibrate import quantities
from hopcast.errors import InputError
from hopcast.importing import regular
from hopcast.importing.cray import NodeMap
from hopcast.importing.fabric import MOST_PARALLEL, Fabric
from hopcast.importing.lstopo import Host
from hopcast.importing.measured import Measured
from hopcast.importing.regular import FatTree

ASSUMED_LINK_LATENCY = "100 ns"
"""One switch of InfiniBand, Omni-Path or Aries, as their makers publish (90 to 130 ns)."""
ASSUMED_NIC_LATENCY = "500 ns"
"""Half of the least time of a small RDMA write between two hosts, about 1 µs."""
ASSUMED_MEMORY = ("200 ns", "8 GB/s")
ASSUMED_FLOP_RATE = "10 Gflop/s"
_GEMINI = (
    "lanes = [2, 1, 2]",
    '[link]\nbandwidth = "4.6875 GB/s"\nlatency = "108.75 ns"\npacket_payload = "64 B"\npacket_wire = "96 B"',
    '[nic]\nbandwidth = "10.105 GB/s"\nlatency = "350 ns"\norder = "in-turn"',
)
"""As in the preset `hopper`, which has the sources."""


@dataclass(frozen=True)
class Given:
    """Values that the user gives, in words of platform files."""

    name: str
    link_bandwidth: str | None = None
    link_latency: str | None = None
    nic_latency: str | None = None
    flop_rate: str | None = None
    processes: int | None = None
    library: str | None = None


@dataclass
class Import:
    """A platform file in the making."""

    given: Given
    sources: tuple[str, ...]
    network: Fabric | None = None
    node_map: NodeMap | None = None
    host: Host | None = None
    measured: Measured | None = None
    findings: list[str] = field(default_factory=list)
    assumed: list[str] = field(default_factory=list)


def files(made: Import, out: Path) -> dict[Path, str]:
    """Texts by place: the platform file, and the list of cables or the map of hosts."""
    if made.network is None and made.node_map is None:
        raise InputError('no network among the sources: give one, or a network of your own as kind = "graph"')
    beside, network = _network(made, out)
    sections = [*network, *_host(made), *_mpi(made), *_compute(made)]
    return {**beside, out: "\n\n".join([_head(made), *sections]) + "\n"}


def rates(network: Fabric) -> tuple[dict[float | None, int], dict[float | None, int]]:
    """Numbers of cables by their rate: of hosts, and between routers."""
    hosts = set(network.hosts)
    counts: tuple[Counter, Counter] = (Counter(), Counter())
    for cable in network.cables:
        counts[0 if hosts.intersection(cable.ends) else 1][cable.bandwidth_Bps] += cable.count
    return counts


def rate(bytes_per_second: float) -> str:
    """As platform files write it."""
    return f"{1e-9 * bytes_per_second:.9g} GB/s"


def _network(made: Import, out: Path) -> tuple[dict[Path, str], list[str]]:
    if made.network is None:
        assert made.node_map is not None, "there is a network or a map"
        place = out.with_suffix(".hosts")
        rows = "".join(f"{host} {' '.join(map(str, at))}\n" for host, at in made.node_map.hosts.items())
        return {place: rows}, _from_map(made, made.node_map, place.name)
    network, given = made.network, made.given
    made.findings += network.findings
    made.assumed += network.assumed
    at_hosts, between = rates(network)
    unknown = None in at_hosts or None in between
    if unknown and given.link_bandwidth is None:
        raise InputError(
            f"{network.origin} does not say the rates of {_missing(at_hosts, between)}: give "
            '--link-bandwidth "12.5 GB/s"'
        )
    if not unknown and given.link_bandwidth is not None:
        raise InputError(f"--link-bandwidth: {network.origin} says the rates of all links itself")
    if given.link_bandwidth is not None:
        own = _rate_of(given.link_bandwidth)
        network.cables = [
            replace(cable, bandwidth_Bps=cable.bandwidth_Bps or own) for cable in network.cables
        ]
        at_hosts, between = rates(network)
    usual = max((count, value) for value, count in at_hosts.items() if value is not None)[1]
    place = out.with_suffix(".edges")
    latency = _or_assumed(
        made, given.link_latency, "link latency", ASSUMED_LINK_LATENCY, "a switch", "--link-latency"
    )
    nic = [f'bandwidth = "{rate(usual)}"', f'latency = "{_nic_latency(made)}"']
    if network.nics > 1:
        nic.append(f"count = {network.nics}")
    if tree := regular.fat_tree(network):
        return _fat_tree(tree, out, "\n".join(["[nic]", *nic]), latency)
    return {place: _edges(network)}, [
        f'[topology]\nkind = "graph"\nfile = {_quoted(place.name)}',
        f'[link]\nlatency = "{latency}"',
        "\n".join(["[nic]", *nic]),
    ]


def _fat_tree(tree: FatTree, out: Path, nic: str, latency: str) -> tuple[dict[Path, str], list[str]]:
    """Sections of a regular tree; hosts are numbered leaf by leaf."""
    place = out.with_suffix(".hosts")
    hosts = [host for leaf in tree.leaves for host in leaf]
    rows = "".join(f"{host} {number}\n" for number, host in enumerate(hosts))
    topology = [
        "[topology]    # every leaf of the graph has as many hosts, and as many cables to each spine",
        'kind = "fat-tree"',
        f"m = [{len(tree.leaves[0])}, {len(tree.leaves)}]",
        f"w = [1, {tree.spines}]",
        f"lanes = {tree.cables}",
    ]
    link = f'[link]\nbandwidth = "{rate(tree.bandwidth_Bps)}"\nlatency = "{latency}"'
    return {place: rows}, ["\n".join(topology), link, nic, f"[hosts]\nmap = {_quoted(place.name)}"]


def _rate_of(text: str) -> float:
    """Bytes per second of a rate in bytes or bits."""
    match = re.fullmatch(r"\s*(\d+\.?\d*)\s*([kMGT]?)bit/s\s*", text, re.ASCII)
    if match:
        return quantities.rate(f"{match[1]} {match[2]}B/s", "--link-bandwidth") / 8
    return quantities.rate(text, "--link-bandwidth")


def _missing(at_hosts: dict, between: dict) -> str:
    kinds = ("hosts' links", at_hosts), ("links between switches", between)
    return " and ".join(name for name, counts in kinds if None in counts)


def _nic_latency(made: Import) -> str:
    if made.given.nic_latency is None and made.measured is not None and made.measured.nic_latency is not None:
        made.findings.append(
            "measured latencies are taken for those of two hosts on one switch; each further switch adds the "
            "link's latency"
        )
        return made.measured.nic_latency
    return _or_assumed(
        made, made.given.nic_latency, "NIC latency", ASSUMED_NIC_LATENCY, "a host's link", "--nic-latency"
    )


def _from_map(made: Import, node_map: NodeMap, place: str) -> list[str]:
    given, sizes = made.given, node_map.sizes
    hosts = f"[hosts]\nmap = {_quoted(place)}"
    if len(sizes) == 1:
        if given.link_bandwidth is None:
            raise InputError(
                "a map of numbers says nothing of the network: give --link-bandwidth for a crossbar"
            )
        if given.link_latency is not None:
            raise InputError("--link-latency: a crossbar has no links between routers: give --nic-latency")
        made.assumed.append("a crossbar of all hosts, as the map has numbers alone")
        nic = f'[nic]\nbandwidth = "{given.link_bandwidth}"\nlatency = "{_nic_latency(made)}"'
        return [f'[topology]\nkind = "crossbar"\nhosts = {sizes[0]}', nic, hosts]
    topology = f'[topology]\nkind = "torus"\nsizes = {sizes[:-1]}\nhosts_per_router = {sizes[-1]}'
    places = 1
    for size in sizes:
        places *= size
    if places > 1 << 24:
        raise InputError(f"the map's coordinates span {places:,} places: one of them is wrong")
    if places != len(node_map.hosts):
        made.findings.append(
            f"{places - len(node_map.hosts)} of {places} places of the torus are not in the map"
        )
    own = (given.link_bandwidth, given.link_latency, given.nic_latency)
    if len(sizes) == 4 and own == (None, None, None):
        made.assumed.append("links and NICs of Gemini, as published: a map of X, Y, Z and slot has no rates")
        return [f"{topology}\n{_GEMINI[0]}", *_GEMINI[1:], hosts]
    if given.link_bandwidth is None:
        raise InputError(
            'a map of coordinates does not say the rates of links: give --link-bandwidth "12.5 GB/s"'
        )
    latency = _or_assumed(
        made, given.link_latency, "link latency", ASSUMED_LINK_LATENCY, "a router", "--link-latency"
    )
    link = f'[link]\nbandwidth = "{given.link_bandwidth}"\nlatency = "{latency}"'
    nic = f'[nic]\nbandwidth = "{given.link_bandwidth}"\nlatency = "{_nic_latency(made)}"'
    return [topology, link, nic, hosts]


def _edges(network: Fabric) -> str:
    lines = [f"# Imported by `hopcast platform import`: {network.origin}."]
    for start in range(0, len(network.hosts), 16):
        lines.append(f"host {' '.join(network.hosts[start : start + 16])}")
    for cable in network.cables:
        line, left = f"{' '.join(cable.ends)} {rate(cable.bandwidth_Bps or 0.0)}", cable.count
        while left > MOST_PARALLEL:
            lines.append(f"{line} x{MOST_PARALLEL}")
            left -= MOST_PARALLEL
        lines.append(f"{line} x{left}" if left > 1 else line)
    return "\n".join(lines) + "\n"


def _host(made: Import) -> list[str]:
    given, host = made.given, made.host
    lines = ["[host]"]
    if given.processes is not None:
        lines.append(f"processes = {given.processes}    # as given")
    elif host is not None:
        lines.append(f"processes = {host.cores}    # cores, {host.threads} hardware threads")
    else:
        made.assumed.append("1 process a host (--processes N, or the host's lstopo XML)")
        lines.append("processes = 1    # assumed")
    if host is not None:
        groups = host.numa_nodes if host.numa_nodes > host.sockets else host.sockets
        if (given.processes or host.cores) % groups == 0:
            lines.append(
                f"sockets = {groups}    # of {host.sockets} sockets and {host.numa_nodes} NUMA nodes"
            )
        lines += [f"# {line}" for line in (host.processor, ", ".join(host.caches)) if line]
        if host.memory_bytes:
            lines.append(f"# {host.memory_bytes / 2**30:.4g} GiB of memory")
    if made.measured is not None:
        if host is None and made.measured.sockets is not None:
            lines.append(f"sockets = {made.measured.sockets}    # as measured, for host.levels")
        if made.measured.socket_order is not None:
            lines.append(f'socket_order = "{made.measured.socket_order}"    # as measured, for host.levels')
    sections = ["\n".join(lines)]
    if made.measured is None or not made.measured.has("host.memory"):
        latency, bandwidth = ASSUMED_MEMORY
        made.assumed.append(f"messages within a host: {latency}, {bandwidth} (measure: hopcast calibrate)")
        sections.append(f'[host.memory]    # assumed\nlatency = "{latency}"\nbandwidth = "{bandwidth}"')
    return sections


def _mpi(made: Import) -> list[str]:
    if made.measured is not None:
        kept = [body for name, body in made.measured.sections if name.split(".")[0] != "compute"]
        return kept
    made.assumed.append("MPI's software costs no time beside its protocol (measure: hopcast calibrate)")
    library = (
        f'library = "{made.given.library}"' if made.given.library else 'library = "openmpi"    # assumed'
    )
    if made.given.library is None:
        made.assumed.append("Open MPI's algorithms of collectives (--library)")
    return [
        f'[mpi]\n{library}\nunmeasured = "the time of MPI\'s software was not measured: it counts as zero"'
    ]


def _compute(made: Import) -> list[str]:
    given = made.given.flop_rate
    if given is None and made.measured is not None:
        kept = [body for name, body in made.measured.sections if name.split(".")[0] == "compute"]
        if kept:
            return kept
    if given is None:
        made.assumed.append(f"{ASSUMED_FLOP_RATE} of a process (--flop-rate)")
        return [f'[compute]\nflop_rate = "{ASSUMED_FLOP_RATE}"    # assumed']
    return [f'[compute]\nflop_rate = "{given}"    # as given']


def _head(made: Import) -> str:
    lines = [f"# Imported by `hopcast platform import` from {', '.join(made.sources)}."]
    if made.measured is not None:
        lines.append(f"# Costs of MPI are those of {made.measured.source}.")
    lines += [f"# assumed: {text}" for text in made.assumed]
    lines += [f"# note: {text}" for text in made.findings]
    lines += [
        "",
        f"name = {_quoted(made.given.name)}",
        f"source = {_quoted('imported: ' + ', '.join(made.sources))}",
    ]
    if made.assumed:
        lines.append(
            f"note = {_quoted('not in the imported files, but assumed: ' + '; '.join(made.assumed))}"
        )
    return "\n".join(lines)


def _or_assumed(made: Import, value: str | None, name: str, default: str, per: str, flag: str) -> str:
    if value is not None:
        return value
    made.assumed.append(f"{name} {default} for {per} ({flag})")
    return default


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
