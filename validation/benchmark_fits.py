"""A machine's MPI software by benchmarks of one and two nodes, and a platform file made of it.

Every number comes from one or two nodes, by a closed form; nothing is searched for.

| number | from |
| --- | --- |
| overheads o, each side | Sendrecv of all processes of a node, short messages: one sent, one received, 2 o |
| `host.memory.latency` L | assumed: 60 ns, a cache line from core to core |
| `host.memory.bandwidth` | ping-pong within a node, its slope |
| `host.memory.total_bandwidth` | Sendrecv of all processes of a node, 4 MiB: what they copy together |
| `nic.latency` | two nodes: ping-pong of the shortest messages, 2 o + 2 nic.latency |
| regimes | two nodes: slope of each range of sizes; its start-up less that of short messages |
| `nic.bandwidth` | two nodes: Alltoall of all processes, 1 MiB: what crosses each NIC |
| `mpi.reduce_rate` | STREAM's Add: two bytes read and one written for each byte of an operand |

The ping-pong of two nodes is HPCC's or that of the Intel MPI Benchmarks; where a campaign has neither,
Sendrecv stands for it. The start-up of a rendezvous is further less the two messages of its handshake.

Overheads are those of busy processes, by their rate, as LogP defines them. A ping-pong of two processes in a
node takes half of that: they poll while they wait, and have the caches to themselves. The presets took their
overheads and NIC latencies from that ping-pong, which `--fit` prints beside each platform.

Start-up A and slope 1/B of a range minimise the squares of the relative errors of A + n/B.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import benchmark_outputs as outputs

CORE_TO_CORE_S = 60e-9
"""A cache line from one core to another of a die: Molka, Hackenberg, Schoene, Nagel, ICPP 2015, Haswell."""

LONGEST = 64 * 1024
"""The longest messages of Sendrecv that count for a regime [B]: longer ones fill the memory."""

FREE_Bps = 1e15
"""A rate that no measurement limits: start-up does not grow with the size."""


@dataclass(frozen=True)
class Machine:
    """A campaign: where its files are, and what its MPI library's documentation says of protocols."""

    name: str
    intel: str
    processes: int
    library: str
    eager_limit: int
    """The longest message that is sent eagerly [B]."""
    memory_eager_limit: int
    short_limit: int = 511
    """The longest short message [B]: where the times of two nodes step up."""
    hpcc: str | None = None
    apart: str | None = None
    """A campaign whose ping-pong of two nodes has one process on each."""
    what: str = ""


MACHINES = (
    Machine(
        "ARCHER", "ARCHER_CrayMPICH774", 24, "mpich", 8191, 8191, hpcc="ARCHER", what="XC30, Aries, 2019"
    ),
    Machine(
        "ARCHER2",
        "ARCHER2_CrayMPICH8015",
        128,
        "mpich",
        16384,
        8191,
        short_limit=255,
        apart="ARCHER2_CrayMPICH8015_pingpong",
        what="Slingshot 10, 2020",
    ),
    Machine(
        "Isambard",
        "Isambard_CrayMPICH776_32cpn",
        32,
        "mpich",
        8191,
        8191,
        what="XC50, Aries, ThunderX2, 2019",
    ),
    Machine(
        "Tesseract", "Tesseract_IMPI181", 24, "mpich", 64000, 32768, short_limit=127, what="Omni-Path, 2019"
    ),
    Machine(
        "Cirrus",
        "Cirrus_IMPI18",
        36,
        "mpich",
        262144,
        32768,
        hpcc="Cirrus/IMPI17",
        what="FDR InfiniBand, Intel MPI, 2019",
    ),
    Machine("Athena", "Athena_IMPI182", 28, "mpich", 64000, 32768, what="Xeons, Intel MPI, 2019"),
    Machine(
        "Fulhame", "Fulhame_OMPI4_32cpn", 32, "openmpi", 8192, 4096, what="EDR InfiniBand, ThunderX2, 2019"
    ),
)


@dataclass(frozen=True)
class Line:
    """Time of a message of n bytes: `start_s + n / rate_Bps`."""

    start_s: float
    rate_Bps: float


@dataclass(frozen=True)
class Fit:
    """Parameters that one and two nodes determine."""

    overhead_s: float
    ping_pong_overhead_s: float
    """By the ping-pong within a node, its start-up less the memory's latency: 2 o + L. Presets have it."""
    one_way_s: float
    """Time of the shortest message between two nodes."""
    memory_Bps: float
    memory_total_Bps: float
    short: Line
    eager: Line
    rendezvous: Line
    nic_Bps: float
    reduce_Bps: float | None

    @property
    def nic_latency_s(self) -> float:
        """Latency of a NIC, with the path's: half of the shortest message's, less the processes'."""
        return max(0.0, (self.one_way_s - 2 * self.overhead_s) / 2)

    def added_s(self, line: Line) -> float:
        """Time that a regime adds to that of the shortest messages; a rendezvous less its two messages."""
        handshake = 2 * self.one_way_s if line is self.rendezvous else 0.0
        return max(0.0, line.start_s - self.short.start_s - handshake)


def line(times: Mapping[int, float], low: int, high: int) -> Line:
    """The line through the times of messages of `low` to `high` bytes, by least relative squares."""
    points = [(size, time) for size, time in times.items() if low <= size <= high]
    weights = [1 / time**2 for _, time in points]
    total = sum(weights)
    size = sum(w * n for w, (n, _) in zip(weights, points, strict=True)) / total
    mean = sum(w * t for w, (_, t) in zip(weights, points, strict=True)) / total
    over = sum(w * (n - size) * (t - mean) for w, (n, t) in zip(weights, points, strict=True))
    under = sum(w * (n - size) ** 2 for w, (n, _) in zip(weights, points, strict=True))
    slope = over / under if under else 0.0
    if slope <= 0:
        return Line(mean, FREE_Bps)
    return Line(max(0.0, mean - slope * size), 1 / slope)


def fit(root: Path, machine: Machine) -> Fit:
    """The fit of a machine, from its files of one and two nodes alone."""
    series = {(one.benchmark, one.nodes): one for one in outputs.intel(root, machine.intel) if one.nodes <= 2}
    within = series["PingPong", 1].time_s
    memory = line(within, 0, 1 << 20)
    shared = series["Sendrecv", 1]
    overhead = line(shared.time_s, 1, machine.short_limit).start_s / 2
    longest = max(shared.time_s)
    if machine.apart:
        (between,) = [one for one in outputs.intel(root, machine.apart) if one.nodes == 2]
    else:
        between = series["Sendrecv", 2]
    crossing = series["Alltoall", 2]
    rings = outputs.hpcc(root, machine.hpcc) if machine.hpcc else []
    add = [run.add_Bps for run in rings if run.nodes == 2 and run.ranks > 2]
    # Sendrecv has the memory's contention in it; a ping-pong of two processes has not.
    top = max(between.time_s) if machine.apart else max(LONGEST, 4 * machine.eager_limit)
    short = line(between.time_s, 1, machine.short_limit)
    alone = [run.ping_pong_s for run in rings if (run.nodes, run.ranks) == (2, 2)]
    return Fit(
        overhead_s=overhead,
        ping_pong_overhead_s=max(0.0, (memory.start_s - CORE_TO_CORE_S) / 2),
        one_way_s=alone[0] if alone else short.start_s,
        memory_Bps=memory.rate_Bps,
        memory_total_Bps=shared.ranks * longest / shared.time_s[longest],
        short=short,
        eager=line(between.time_s, machine.short_limit + 1, min(machine.eager_limit, LONGEST)),
        rendezvous=line(between.time_s, min(machine.eager_limit, LONGEST // 2) + 1, top),
        nic_Bps=crossing.ranks**2 / 4 * (1 << 20) / crossing.time_s[1 << 20],
        reduce_Bps=add[0] / 3 if add else None,
    )


def number(value: float, unit: str, scale: float) -> str:
    """A quantity of a platform file."""
    return f'"{value / scale:.4g} {unit}"' if value < FREE_Bps else '"infinite"'


def toml(machine: Machine, found: Fit, hosts: int) -> str:
    """A platform of `hosts` nodes on one switch, with what was found."""

    def regime(name: str, line: Line, up_to: int | None) -> str:
        limit = f'up_to = "{up_to} B"\n' if up_to else ""
        return (
            f'\n[[mpi.regimes]]\nname = "{name}"\n{limit}'
            f"send_overhead = {number(found.overhead_s, 'ns', 1e-9)}\n"
            f"receive_overhead = {number(found.overhead_s, 'ns', 1e-9)}\n"
            f"latency = {number(found.added_s(line), 'ns', 1e-9)}\n"
            f"process_rate = {number(line.rate_Bps, 'GB/s', 1e9)}\n"
        )

    reduce = f"reduce_rate = {number(found.reduce_Bps, 'GB/s', 1e9)}\n" if found.reduce_Bps else ""
    return (
        f'name = "{machine.name.lower()}"\nsummary = "{machine.what}: {hosts} nodes on one switch"\n'
        f'\n[topology]\nkind = "crossbar"\nhosts = {hosts}\n'
        f"\n[host]\nprocesses = {machine.processes}\n"
        f"\n[host.memory]\nlatency = {number(CORE_TO_CORE_S, 'ns', 1e-9)}\n"
        f"bandwidth = {number(found.memory_Bps, 'GB/s', 1e9)}\n"
        f"total_bandwidth = {number(found.memory_total_Bps, 'GB/s', 1e9)}\n"
        f"\n[nic]\nbandwidth = {number(found.nic_Bps, 'GB/s', 1e9)}\n"
        f"latency = {number(found.nic_latency_s, 'ns', 1e-9)}\n"
        f'\n[mpi]\nlibrary = "{machine.library}"\neager_limit = "{machine.eager_limit} B"\n'
        f'memory_eager_limit = "{machine.memory_eager_limit} B"\n{reduce}'
        + regime("short", found.short, machine.short_limit)
        + regime("eager", found.eager, machine.eager_limit)
        + regime("rendezvous", found.rendezvous, None)
        + '\n[compute]\nflop_rate = "1 Gflop/s"   # not used\n'
    )


@dataclass(frozen=True)
class PingPong:
    """A ping-pong of one process on each of two nodes, and where its protocols change [B]."""

    name: str
    what: str
    limits: tuple[int, ...]


PING_PONGS = (
    PingPong("Summit", "EDR InfiniBand, Spectrum MPI, 2020", (32, 512, 2048)),
    PingPong("Stampede", "FDR InfiniBand, MVAPICH2, 2017", (150, 17420)),
    PingPong("Taurus", "10 Gbit/s Ethernet, TCP, Open MPI, 2016", (1420, 65536)),
)


def ping_pong(root: Path, one: PingPong) -> tuple[dict[int, float], float]:
    """Its one-way times [s] by size [B], and the time of a short send [s]."""
    if one.name == "Summit":
        pairs = outputs.ping_pongs(root, "summit/ping_pong.315486.out")
        within, between = pairs[0, 1], pairs[0, 6]
        return between, (within[8] - CORE_TO_CORE_S) / 2
    files = {
        "Stampede": "stampede_17_06_01-1714/calibration/testplatform",
        "Taurus": "taurus_26_07_2016/calibration/taurus-2016-06-09--1",
    }
    return outputs.calibration(root, files[one.name])


def described(root: Path, one: PingPong) -> str:
    """The lines of a ping-pong's ranges, as text."""
    times, overhead = ping_pong(root, one)
    bounds = (0, *one.limits, max(times))
    lines = [f"# {one.name}: {one.what}", f"# a short send takes {1e9 * overhead:.0f} ns"]
    for low, high in pairwise(bounds):
        found = line(times, low + 1, high)
        rate = number(found.rate_Bps, "GB/s", 1e9)
        lines.append(f"# {low + 1} to {high} B: {1e6 * found.start_s:.3g} us and {rate}")
    return "\n".join(lines) + "\n"
