"""Load and latency of synthetic traffic on an 8-ary 2-cube and a dragonfly of 72 hosts, packet by packet.

Compared: the throughput at which each pattern saturates, as a share of the links' bandwidth, and the
latency without load. Every host sends packets at random times (a Poisson process) whether or not they can
be taken; below saturation each pair of hosts gets what it offers.
Source: Dally and Towles, "Principles and Practices of Interconnection Networks" (2004), chapters 3, 9, 23
and 25; Singh, Dally, Gupta, Towles, "GOAL: a load-balanced adaptive routing algorithm for torus networks"
(ISCA 2003), table 1, for dimension order; Kim, Dally, Scott, Abts, "Technology-driven, highly-scalable
dragonfly topology" (ISCA 2008), section 4.2.
Derivation: a host sends at the rate x b, with b a link's bandwidth. A link on which the routes of the
pattern put the load g (the sum over hosts of the probability that a packet takes it) carries g x b, so x <=
1 / max g. Torus of k = 8, dimension order: uniform traffic loads every link with k/8 = 1; tornado (three to
the right, three up) puts three routes on every link that it uses; bit complement and transpose are counted
out below from the routes, and give the published 1/2 and 1/4. Without load a packet takes hops * 20 ns +
its 64 ns once.
Dragonfly of a = 4 routers in a group, h = 2 global links each: all traffic of a group to the next one
shares one global link between p a = 8 hosts, 1/8 with minimal routes; over a random third group (Valiant)
all links take part, and each packet takes two of them: 1/2. Uniform traffic: at most 1 for the hosts' own
share of global links.
Expected: buffers without limit lose nothing but what a first-in-first-out queue before a crossbar loses
when packets for other outputs stand behind the first (Karol, Hluchyj, Morgan 1987); two thirds of the bound
are usual for one queue for each virtual channel.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import numpy
import pictures
import results
from results import Range, Result

import hopcast

PLATFORMS = Path(__file__).with_name("platforms")
BYTES = 64
BANDWIDTH_BPS = 1e9
PACKET_S = BYTES / BANDWIDTH_BPS
HOP_S = 20e-9
SIDE = 8
STEADY = 0.02
"""Where the delay grows by less, a host gets what it offers [s/s]."""


def grid(pattern):
    """A pattern on coordinates as one on hosts."""

    def target(host, random):
        x, y = pattern(host % SIDE, host // SIDE)
        return x + SIDE * y

    return target


QUEUES = (
    "Dally and Towles 2004: below the bound; 0.59 of it is the least that one queue before a crossbar gives"
)

TORUS = {
    "uniform": lambda host, random: int(random.integers(SIDE * SIDE)),
    "tornado": grid(lambda x, y: ((x + 3) % SIDE, (y + 3) % SIDE)),
    "bit complement": grid(lambda x, y: (SIDE - 1 - x, SIDE - 1 - y)),
    "transpose": grid(lambda x, y: (y, x)),
}
DRAGONFLY = {
    "uniform": lambda host, random: int(random.integers(72)),
    "next group": lambda host, random: (host // 8 + 1) % 9 * 8 + int(random.integers(8)),
}


def greatest_load(pattern) -> float:
    """The load of the fullest link of the torus; equally long ways round count half each."""
    load: Counter = Counter()
    for host in range(SIDE * SIDE):
        x, y = host % SIDE, host // SIDE
        target = pattern(host, None)
        for axis, (at, to) in enumerate(((x, target % SIDE), (y, target // SIDE))):
            up = (to - at) % SIDE
            ways = (
                [(1, up)] if up < SIDE - up else [(-1, SIDE - up)] if up > SIDE - up else [(1, up), (-1, up)]
            )
            line = y if axis == 0 else target % SIDE
            for sign, hops in ways:
                for step in range(hops):
                    load[axis, line, (at + sign * step) % SIDE, sign] += 1 / len(ways)
    return max(load.values())


def measure(
    platform: str, pattern, hosts: int, load: float, packets: int, **overrides
) -> tuple[float, float]:
    """By how much the delay of the worst host's packets grows [s/s], and the mean latency [s]."""
    gap_s = PACKET_S / load

    def program(comm):
        host, receives = divmod(comm.rank, 2)
        random = numpy.random.default_rng((1, host))
        if not receives:
            times = numpy.cumsum(random.exponential(gap_s, packets))
            for time_s in times.tolist():
                to = pattern(host, random)
                if to != host:
                    comm.sleep_until(time_s)
                    comm.isend(time_s, dest=2 * to + 1, nbytes=BYTES)
            for other in range(hosts):
                comm.isend(None, dest=2 * other + 1, nbytes=0, tag=1)
            return None
        status = hopcast.MPI.Status()
        got, ends = [], 0
        while ends < hosts:
            sent_s = comm.recv(status=status)
            if status.Get_tag() == 1:
                ends += 1
            else:
                got.append((status.Get_source(), sent_s, comm.Wtime()))
        return got

    report = hopcast.run(
        PLATFORMS / f"{platform}.toml", program, 2 * hosts, set={"mpi.poll": "1 ns", **overrides}
    )
    got = [packet for part in report.results if part for packet in part]
    end_s = packets * gap_s
    delays = defaultdict(list)
    for source, sent_s, taken_s in got:
        if 0.2 * end_s < sent_s < 0.9 * end_s:
            delays[source].append((sent_s, taken_s - sent_s))
    growth = max(float(numpy.polyfit(*zip(*own, strict=True), 1)[0]) for own in delays.values())
    return growth, float(numpy.mean([delay_s for own in delays.values() for _, delay_s in own]))


def curve(platform: str, pattern, hosts: int, bound: float, quick: bool, **overrides):
    """Loads, latencies, and the highest load at which every host still gets what it offers."""
    shares = (0.1, 0.6, 1.2) if quick else (0.05, 0.2, 0.4, 0.6, 0.7, 0.8, 0.9, 0.95, 1.1)
    packets = 1000 if quick else 1500
    loads, latencies, sustained = [], [], 0.0
    for share in shares:
        load = share * bound
        growth, latency_s = measure(platform, pattern, hosts, load, packets, **overrides)
        loads.append(load)
        latencies.append(latency_s)
        if growth < STEADY:
            sustained = load
    return loads, latencies, sustained


def plot(curves, name: str, title: str, out: Path) -> None:
    """Latency over load."""
    figure, axes = pictures.pyplot().subplots(figsize=(7, 4))
    for label, (loads, latencies, _) in curves.items():
        axes.plot(loads, numpy.array(latencies) * 1e9, marker="o", label=label)
    axes.set_yscale("log")
    axes.set(xlabel="offered load, share of a link's bandwidth", ylabel="mean latency [ns]", title=title)
    axes.legend()
    pictures.save(figure, out, name)


def compare(out: Path, quick: bool) -> list[Result]:
    """Both networks."""
    published = {"uniform": 1.0, "tornado": 1 / 3, "bit complement": 0.5, "transpose": 0.25}
    compared, curves = [], {}
    for name, pattern in TORUS.items():
        if name != "uniform":
            bound = 1 / greatest_load(pattern)
            why = "GOAL, table 1; counted here" + (
                "; ties shared out: 3.5, not 4" if name == "transpose" else ""
            )
            allowed = None if name == "transpose" else 0.01
            compared.append(Result(f"torus, {name}: bound", published[name], bound, "", allowed, why))
        curves[name] = curve("torus-8x8", pattern, SIDE * SIDE, published[name], quick)
        window = Range(0.59 * published[name], published[name])
        compared.append(Result(f"torus, {name}: saturates", window, curves[name][2], "", 0.0, QUEUES))
    plot(curves, "saturation_torus", "8-ary 2-cube, dimension order", out)
    hops = numpy.mean([min((to - at) % 8, (at - to) % 8) for at in range(8) for to in range(8)]) * 2 * 64 / 63
    least = (hops + 2) * HOP_S + PACKET_S
    first = curves["uniform"][1][0]
    compared.append(
        Result(
            "torus, uniform: latency", least * 1e9, first * 1e9, "ns", 0.12, "without load; ours at the least"
        )
    )
    flies = {}
    for routing, name, bound in (
        ("minimal", "uniform", 1.0),
        ("minimal", "next group", 1 / 8),
        ("valiant", "next group", 1 / 2),
    ):
        label = f"{name}, {routing}"
        flies[label] = curve("dragonfly-72", DRAGONFLY[name], 72, bound, quick, **{"routing.kind": routing})
        window = Range(0.59 * bound, bound)
        source = "Kim et al. 2008, 4.2: 1/(a h)" if bound == 1 / 8 else "Kim et al. 2008, 4.2"
        compared.append(Result(f"dragonfly, {label}: saturates", window, flies[label][2], "", 0.0, source))
    plot(flies, "saturation_dragonfly", "dragonfly of 72 hosts", out)
    return compared


if __name__ == "__main__":
    results.main(compare, __doc__)
