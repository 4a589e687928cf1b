"""The platform file of what a platform of SimGrid says.

One message of n bytes between hosts takes in SMPI, with the latency L of its path,

    os(n) + lat-factor L + n / (min(bw-factor, 1) bw) + or(n)

and neither os nor or where its sender waits for its receive. In a platform file that is

    send_overhead + (latencies of the path + latency) + n / min(process_rate, nic.bandwidth)
    + receive_overhead

with two empty messages before it above the eager limit, where SMPI's have no cost of their own: the latency
is less by theirs. Empty messages are a regime by themselves, since SMPI adds nothing to them.

A factor multiplies the latency of a path, and a regime adds the same to all paths: as much as all ranges
share is in the links, the rest is that of the longest path.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from pathlib import Path

from hopcast.calibrate.smpi_factors import Factors
from hopcast.errors import InputError
from hopcast.importing.fabric import name
from hopcast.importing.platform_text import ASSUMED_FLOP_RATE, Given
from hopcast.importing.simgrid_routes import Cluster
from hopcast.importing.smpi import Smpi, at

LEAST_SPEED = 1e6
"""Speeds below are placeholders: computing is timed on the machine that simulates, or injected."""


@dataclass(frozen=True)
class Part:
    """Messages of one cost: above a size, up to another; the last part is endless."""

    above: float
    up_to: float
    factors: Factors
    is_detached: bool
    is_eager: bool
    latency_s: float
    """Rest of the formula for latency, beside the handshake; below zero where that takes longer."""

    @property
    def end(self) -> str:
        """Its longest message, in words."""
        return "the longest" if math.isinf(self.up_to) else f"{self.up_to:.0f} B"


@dataclass
class Made:
    """Texts of the import, and what is said of them."""

    files: dict[Path, str] = field(default_factory=dict)
    findings: list[str] = field(default_factory=list)
    assumed: list[str] = field(default_factory=list)


def make(smpi: Smpi, given: Given, source: str, out: Path) -> Made:
    """The platform file of an XML file named `source`, and the names of its hosts where they need a file."""
    made = Made(findings=[f"no key says it: {text}" for text in smpi.unsaid])
    cluster = smpi.cluster
    network, hops = _network(cluster, made)
    path_s = (2 * (cluster.kind != "TORUS") + hops) * cluster.latency_s
    if 0 < smpi.window_bytes < 2 * path_s * cluster.bandwidth_Bps:
        made.findings.append(
            "no key says it: network/TCP-gamma bounds a message at "
            f"{_rate(smpi.window_bytes / 2 / path_s)} on the longest path"
        )
    parts = _parts(smpi, smpi.ranges, path_s, "between hosts", made)
    share = _share(parts, path_s, alike=not hops)
    latency = _time(share * cluster.latency_s)
    bandwidth = _rate(cluster.bandwidth_Bps)
    near = _parts(smpi, smpi.memory, cluster.loopback.latency_s, "within a host", made)
    sections = [*network]
    if hops:
        sections.append(f'[link]\nbandwidth = "{bandwidth}"\nlatency = "{latency}"')
    if cluster.kind == "TORUS":
        latency, bandwidth = "0 ns", "infinite"
    nic = [f'[nic]\nbandwidth = "{bandwidth}"', f'latency = "{latency}"']
    if cluster.kind == "FAT_TREE" and cluster.parameters[3][0] > 1:
        nic.append(f"count = {cluster.parameters[3][0]}")
    sections += [
        f"[host]\nprocesses = {given.processes or cluster.cores}",
        *_memory(cluster, near, made),
        "\n".join(nic),
        _mpi(smpi, given, _limit(parts), _limit(near), made),
        *_regimes(parts, path_s, share, cluster, made),
        *(
            f'[[mpi.functions]]\nfunction = "{function}"\ntime = "{_time(smpi.calls[name])}"'
            for name, function in (("iprobe", "MPI_Iprobe"), ("wtime", "MPI_Wtime"))
            if name in smpi.calls
        ),
        _compute(cluster, given, made),
        _hosts(cluster, out, made),
    ]
    made.files[out] = "\n\n".join([_head(given, source, made), *sections]) + "\n"
    return made


def _parts(smpi: Smpi, ranges: list[Factors], path_s: float, where: str, made: Made) -> list[Part]:
    """Parts of all sizes; empty messages are the first one."""
    edges = [0.0, *smpi.limits(), math.inf]
    costs = [(up_to, at(ranges, min(up_to, 2.0**62))) for up_to in edges[1:]]
    eager, handshake = float(smpi.async_limit), 2 * path_s
    for up_to, factors in costs:
        if eager < up_to <= smpi.detached_limit and factors.latency_factor * path_s < handshake:
            eager = up_to
    if eager > smpi.async_limit:
        made.findings.append(
            f"{where}: messages of {smpi.async_limit + 1} B to {eager:.0f} B leave before their receive is "
            "there; SMPI's wait for it, but their latency leaves no time for a handshake"
        )
    parts = [Part(0.0, 0.0, at([], 0.0), True, True, path_s)]
    for above, (up_to, factors) in zip(edges, costs, strict=False):
        left = factors.latency_factor * path_s - (0.0 if up_to <= eager else handshake)
        parts.append(Part(above, up_to, factors, up_to <= smpi.detached_limit, up_to <= eager, left))
    above_one = [part for part in parts if part.factors.bandwidth_factor > 1 + 1e-9]
    if above_one:
        factors_text = ", ".join(dict.fromkeys(f"{part.factors.bandwidth_factor:.4g}" for part in above_one))
        made.findings.append(
            f"{where}: bw-factors above 1 ({factors_text}), from {above_one[0].above:.0f} B on: the link's "
            "bandwidth bounds them, as in SMPI"
        )
    return parts


def _limit(parts: list[Part]) -> float:
    return max(part.up_to for part in parts if part.is_eager)


def _share(parts: list[Part], path_s: float, *, alike: bool) -> float:
    """Share of the paths' latency that stands on links; alike: all paths have the same.

    Where they differ, a part that would leave nothing for them does not count: it takes longer instead.
    """
    left = [max(part.latency_s, 0.0) for part in parts if alike or part.latency_s >= 0]
    return min(left) / path_s if path_s else 0.0


def _regimes(parts: list[Part], path_s: float, share: float, cluster: Cluster, made: Made) -> list[str]:
    """Sections of messages between hosts."""
    rests = [part.latency_s - share * path_s for part in parts]
    if cluster.kind != "FLAT" and max(rests) > 1e-15:
        made.findings.append(
            f"between hosts: up to {_about(max(rests))} of latency, by size, stands beside that of the "
            "links, as lat-factor makes it on the longest path: on shorter ones SMPI has less"
        )
    rows: list[tuple[Part, list[str]]] = []
    for part in parts:
        factors, rest = part.factors, part.latency_s - share * path_s
        if rest < -1e-15:
            made.findings.append(
                f"between hosts: messages above {part.above:.0f} B, up to {part.end}, take {_about(-rest)} "
                "longer than SMPI says: the handshake of two empty messages is longer than their latency"
            )
        none = (0.0, 0.0)
        lines = [
            f'send_overhead = "{_linear(factors.send if part.is_detached else none)}"',
            f'isend_overhead = "{_linear(factors.isend)}"',
            f'receive_overhead = "{_linear(factors.receive if part.is_detached else none)}"',
            f'latency = "{_time(max(rest, 0.0))}"',
        ]
        if factors.bandwidth_factor < 1:
            lines.append(f'process_rate = "{_rate(factors.bandwidth_factor * cluster.bandwidth_Bps)}"')
        rows.append((part, lines))
    return [
        "\n".join(["[[mpi.regimes]]", f'name = "{_name(part)}"', *_up_to(part), *lines])
        for part, lines in _merged(rows)
    ]


def _memory(cluster: Cluster, parts: list[Part], made: Made) -> list[str]:
    """Sections of messages within a host."""
    loop = cluster.loopback
    if loop.is_default:
        made.assumed.append("messages within a host: SimGrid's loopback, 10 GB/s without latency")
    rows: list[tuple[Part, list[str]]] = []
    for part in parts:
        if part.latency_s < -1e-15:
            made.findings.append(
                f"within a host: messages above {part.above:.0f} B, up to {part.end}, take "
                f"{_about(-part.latency_s)} longer than SMPI says, for the handshake of two empty messages"
            )
        rate = min(part.factors.bandwidth_factor, 1.0) * loop.bandwidth_Bps
        lines = [f'latency = "{_time(max(part.latency_s, 0.0))}"', f'bandwidth = "{_rate(rate)}"']
        rows.append((part, lines))
    *inner, (_, last) = _merged(rows)
    if loop.is_shared:
        last.append(f'total_bandwidth = "{_rate(loop.bandwidth_Bps)}"')
    return [
        "\n".join(["[host.memory]", *last]),
        *("\n".join(["[[host.memory.regimes]]", *_up_to(part), *lines]) for part, lines in inner),
    ]


def _merged(rows: list[tuple[Part, list[str]]]) -> list[tuple[Part, list[str]]]:
    """Neighbours that cost the same as one; what is eager stays apart, for its name."""
    found: list[tuple[Part, list[str]]] = []
    for part, lines in rows:
        if found and found[-1][1] == lines and found[-1][0].is_eager == part.is_eager:
            found.pop()
        found.append((part, lines))
    return found


def _up_to(part: Part) -> list[str]:
    return [] if math.isinf(part.up_to) else [f'up_to = "{part.up_to:.0f} B"']


def _name(part: Part) -> str:
    kind = "eager" if part.is_eager else "detached" if part.is_detached else "rendezvous"
    if part.up_to == 0:
        return "empty"
    return kind if math.isinf(part.up_to) else f"{kind} to {part.up_to:.0f}"


def _mpi(smpi: Smpi, given: Given, eager: float, near: float, made: Made) -> str:
    library = given.library or smpi.library
    if library is None:
        made.assumed.append("Open MPI's algorithms of collectives (--library)")
    lines = [
        "[mpi]",
        f'library = "{library or "openmpi"}"' + ("" if library else "    # assumed"),
        f'eager_limit = "{eager:.0f} B"    # shorter than smpi/async-small-thresh',
        f'memory_eager_limit = "{near:.0f} B"',
        f'detached_limit = "{smpi.detached_limit} B"    # shorter than smpi/send-is-detached-thresh',
    ]
    if "test" in smpi.calls:
        lines.append(f'poll = "{_time(smpi.calls["test"])}"    # smpi/test')
    for call in ("test", "iprobe"):
        if call not in smpi.calls:
            made.findings.append(
                f"smpi/{call} is not set, or 0: SimGrid's default is 100 us, here it is that of mpi.poll"
            )
    return "\n".join(lines)


def _compute(cluster: Cluster, given: Given, made: Made) -> str:
    if given.flop_rate is not None:
        return f'[compute]\nflop_rate = "{given.flop_rate}"    # as given'
    if cluster.speed < LEAST_SPEED:
        made.findings.append(
            f"speed {cluster.speed:g} flop/s is a placeholder: SMPI times computing on the machine that "
            "simulates, or a program says it"
        )
        made.assumed.append(f"{ASSUMED_FLOP_RATE} of a process (--flop-rate)")
        return f'[compute]\nflop_rate = "{ASSUMED_FLOP_RATE}"    # assumed'
    return f'[compute]\nflop_rate = "{cluster.speed:.12g} flop/s"    # speed'


def _hosts(cluster: Cluster, out: Path, made: Made) -> str:
    if cluster.names is not None:
        return f"[hosts]\nnames = {json.dumps(cluster.names)}"
    place = out.with_suffix(".hosts")
    made.files[place] = "".join(f"{name(host)} {number}\n" for number, host in enumerate(cluster.hosts))
    return f"[hosts]\nmap = {json.dumps(place.name)}"


def _network(cluster: Cluster, made: Made) -> tuple[list[str], int]:
    """The topology, and links between routers on the longest path."""
    count, parameters = len(cluster.hosts), cluster.parameters
    if cluster.kind == "FLAT":
        return [f'[topology]\nkind = "crossbar"\nhosts = {count}'], 0
    hosts, lines, hops = {"FAT_TREE": _fat_tree, "TORUS": _torus, "DRAGONFLY": _dragonfly}[cluster.kind](
        parameters, cluster, made
    )
    if hosts != count:
        raise InputError(f"topo_parameters make {hosts} hosts of {cluster.kind}, and radical names {count}")
    return ["\n".join(["[topology]", *lines])], hops


def _fat_tree(parameters: tuple[tuple[int, ...], ...], cluster: Cluster, made: Made):
    (levels,), down, up, lanes = parameters[0][:1], *parameters[1:]
    if not len(down) == len(up) == len(lanes) == levels or 0 in (*down, *up, *lanes):
        raise InputError(
            f"topo_parameters: {levels} levels, and lists of {len(down)}, {len(up)}, {len(lanes)}"
        )
    if up[0] != 1:
        raise InputError(f"topo_parameters: a host with {up[0]} switches: one is all that can be told")
    lines = ['kind = "fat-tree"', f"m = {list(down)}", f"w = {list(up)}"]
    if levels > 1:
        lines.append(f"lanes = {list(lanes[1:])}")
    return math.prod(down), lines, 2 * (levels - 1)


def _torus(parameters: tuple[tuple[int, ...], ...], cluster: Cluster, made: Made):
    (sizes,) = parameters
    made.findings.append(
        "hosts are the torus's routers: a host's link to its router takes no time and has no limit"
    )
    hops = sum(size // 2 for size in sizes)
    return math.prod(sizes), ['kind = "torus"', f"sizes = {list(sizes)}"], hops


def _dragonfly(parameters: tuple[tuple[int, ...], ...], cluster: Cluster, made: Made):
    if [len(part) for part in parameters] != [2, 2, 2, 1]:
        raise InputError("topo_parameters of a dragonfly: groups,links; chassis,links; routers,links; nodes")
    (groups, blue), (chassis, black), (routers, green), (nodes,) = parameters
    if 0 in (groups, blue, chassis, black, routers, green, nodes):
        raise InputError("topo_parameters of a dragonfly: a number of 0")
    rate = cluster.bandwidth_Bps
    made.findings.append(
        "dragonfly: parallel links of SimGrid are one link of their sum; global links lie on other routers "
        "of a group than SimGrid's"
    )
    lines = [
        'kind = "dragonfly"',
        f"groups = {groups}",
        f"routers_per_group = {chassis * routers}",
        f"rows = {chassis}",
        f"hosts_per_router = {nodes}",
        f"global_links_per_router = {max(1, math.ceil((groups - 1) / (chassis * routers)))}",
        *(["global_links_per_pair = 1"] if groups > 1 else []),
        f'local_bandwidth = "{_rate(green * rate)}"',
        *([f'column_bandwidth = "{_rate(black * rate)}"'] if chassis > 1 else []),
        f'global_bandwidth = "{_rate(blue * rate)}"',
    ]
    within = (routers > 1) + (chassis > 1)
    return groups * chassis * routers * nodes, lines, 2 * within + 1 if groups > 1 else within


def _head(given: Given, source: str, made: Made) -> str:
    lines = [
        f"# Imported by `hopcast platform import` from {source}, a platform of SimGrid with SMPI's costs.",
        *(f"# assumed: {text}" for text in made.assumed),
        *(f"# note: {text}" for text in made.findings),
        "",
        f"name = {json.dumps(given.name, ensure_ascii=False)}",
        f"source = {json.dumps(f'imported: {source}', ensure_ascii=False)}",
    ]
    if made.assumed:
        note = f"not in the imported file, but assumed: {'; '.join(made.assumed)}"
        lines.append(f"note = {json.dumps(note, ensure_ascii=False)}")
    return "\n".join(lines)


def _linear(line: tuple[float, float]) -> str:
    start, slope = line
    return _time(start) + (f" + {1e12 * slope:.9g} ps/B" if slope > 0 else "")


def _time(seconds: float) -> str:
    return f"{1e9 * seconds:.9g} ns"


def _about(seconds: float) -> str:
    """A time for people."""
    return f"{1e6 * seconds:.4g} us"


def _rate(bytes_per_second: float) -> str:
    return f"{1e-9 * bytes_per_second:.12g} GB/s"
