"""Load and latency of synthetic traffic on an 8-ary 2-cube and a dragonfly of 72 hosts, packet by packet.

Compared: what the fullest link carries when each host sends one unit, the throughput at which each pattern
saturates, as a share of the links' bandwidth, and the latency without load. Every host sends packets at
random times (a Poisson process) whether or not they can be taken; below saturation each pair of hosts gets
what it offers.
Source: Dally and Towles, "Principles and Practices of Interconnection Networks" (2004), chapters 3, 9, 23
and 25; Singh, Dally, Gupta, Towles, "GOAL: a load-balanced adaptive routing algorithm for torus networks"
(ISCA 2003), table 1, for dimension order; Kim, Dally, Scott, Abts, "Technology-driven, highly-scalable
dragonfly topology" (ISCA 2008), section 4.2; Karol, Hluchyj, Morgan, "Input versus output queueing on a
space-division packet switch" (IEEE Trans. Commun. 35(12), 1987), table 1.
Derivation: a host sends at the rate x b, with b a link's bandwidth. A link on which the routes of the
pattern put the load g (the sum over hosts of the probability that a packet takes it) carries g x b, so x <=
1 / max g. Torus of k = 8, dimension order: uniform traffic loads every link with k/8 = 1; tornado (three to
the right, three up) puts three routes on every link that it uses; bit complement and transpose are counted
out below from the routes, and give the published 1/2 and 1/4: loads of 2 and 4. Half round a ring transpose
has two equally short ways, of which a pair of hosts takes one: 4 where they meet, 3.5 where they share alike.
Dragonfly of a = 4 routers in a group, h = 2 global links each: all traffic of a group to the next one
shares one global link between p a = 8 hosts, 1/8 with minimal routes; over a random third group (Valiant)
all links take part, and each packet takes two of them: 1/2. Uniform traffic: 8 of 9 packets leave their
group, over one of its 8 global links: 8/9 of a unit on each; its hosts' own links, with 1, are the limit.
Without load a packet takes hops * 20 ns + its 64 ns once: the postal model's time for the same packets.
Expected: the loads of links, the bounds and the latency are exact, up to what random numbers leave. For
where a network saturates theory has a bracket and no value. Above, the bound: with any buffers and routers.
Below, 0.586 of it: so much of a link remains where first-in-first-out queues stand before a crossbar,
packets for other outputs wait behind the first, and each goes to any of many outputs alike (Karol et al.:
0.75 with two inputs, 0.655 with four, 0.586 without limit). Routers here have such queues, with a few
inputs, and traffic that goes straight on more often than not. Buffers have no limit: what finite ones cost
comes on top.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import numpy
import pictures
import results
from results import Kind, Range, Result

import hopcast

KIND = Kind.FORMULA
NO_NULL = "compares loads of links, which an infinite network does not have"

PLATFORMS = Path(__file__).with_name("platforms")
BYTES = 64
BANDWIDTH_BPS = 1e9
PACKET_S = BYTES / BANDWIDTH_BPS
HOP_S = 20e-9
SIDE = 8
STEADY = 0.02
"""Growth of the delay below which a host gets what it offers [s/s]."""


def grid(pattern):
    """A pattern on coordinates as one on hosts."""

    def target(host, random):
        x, y = pattern(host % SIDE, host // SIDE)
        return x + SIDE * y

    return target


QUEUES = "the bound at most; 0.586 of it (Karol et al.) at least"
LEAST = 0.586
"""Share of a link that is used, with queues before a crossbar (Karol et al. 1987, table 1)."""

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


def simulate(platform: str, pattern, hosts: int, load: float, packets: int, model: str, **overrides):
    """Sends `packets` of each host at `load`: the report, with who sent what when and had it when [s]."""
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
        PLATFORMS / f"{platform}.toml",
        program,
        2 * hosts,
        model=model,
        set={"mpi.poll": "1 ns", **overrides},
    )
    return report, [packet for part in report.results if part for packet in part]


def measure(
    platform: str, pattern, hosts: int, load: float, packets: int, **overrides
) -> tuple[float, float]:
    """By how much the delay of the worst host's packets grows [s/s], and the mean latency [s]."""
    _, got = simulate(platform, pattern, hosts, load, packets, "packet", **overrides)
    end_s = packets * PACKET_S / load
    delays = defaultdict(list)
    for source, sent_s, taken_s in got:
        if 0.2 * end_s < sent_s < 0.9 * end_s:
            delays[source].append((sent_s, taken_s - sent_s))
    growth = max(float(numpy.polyfit(*zip(*own, strict=True), 1)[0]) for own in delays.values())
    return growth, float(numpy.mean([delay_s for own in delays.values() for _, delay_s in own]))


def unloaded(platform: str, pattern, hosts: int, quick: bool, **overrides) -> tuple[dict, float, float]:
    """Load of the links of each class, the mean and the most, and the latency [s], ours and postal's."""
    packets, latency_s = 100 if quick else 400, {}
    for model in ("postal", "packet"):
        report, got = simulate(platform, pattern, hosts, 0.005, packets, model, **overrides)
        latency_s[model] = float(numpy.mean([taken_s - sent_s for _, sent_s, taken_s in got]))
    loads = defaultdict(list)
    links = report.links.table().to_pydict()
    for kind, size in zip(links["class"], links["bytes"], strict=True):
        loads[kind].append(size / (packets * BYTES))
    found = {kind: (sum(of_kind) / len(of_kind), max(of_kind)) for kind, of_kind in loads.items()}
    return found, latency_s["packet"], latency_s["postal"]


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


def torus_load(name: str, published: float, loads: dict) -> Result:
    """Load of the fullest link; for uniform traffic, to which all are alike, the mean of links."""
    directions = [loads[kind] for kind in ("x+", "x-", "y+", "y-") if kind in loads]
    if name == "uniform":
        mean = sum(mean for mean, _ in directions) / len(directions)
        return Result("torus, uniform: load of a link", published, mean, "", 0.03, "k/8; mean of all links")
    most = max(most for _, most in directions)
    return Result(f"torus, {name}: load of the fullest link", published, most, "", 0.015, "GOAL, table 1")


def dragonfly_load(label: str, loads: dict) -> Result:
    """Load of global links."""
    mean, most = loads["global"]
    if label == "next group, minimal":
        return Result(f"dragonfly, {label}: load of a global link", 8.0, most, "", 0.015, "p a; the fullest")
    published = 8 / 9 if "minimal" in label else 2.0
    why = "mean of all; 8/9 leave the group" if "minimal" in label else "mean of all; twice"
    return Result(f"dragonfly, {label}: load of a global link", published, mean, "", 0.03, why)


def latency(label: str, postal_s: float, ours_s: float) -> Result:
    """Without load."""
    why = "postal, without load; ours at 0.005 of a link"
    return Result(f"{label}: latency", postal_s * 1e9, ours_s * 1e9, "ns", 0.01, why)


def compare(out: Path, quick: bool) -> list[Result]:
    """Both networks."""
    published = {"uniform": 1.0, "tornado": 1 / 3, "bit complement": 0.5, "transpose": 0.25}
    compared, curves = [], {}
    for name, pattern in TORUS.items():
        loads, ours_s, postal_s = unloaded("torus-8x8", pattern, SIDE * SIDE, quick)
        compared.append(torus_load(name, 1 / published[name], loads))
        compared.append(latency(f"torus, {name}", postal_s, ours_s))
        if name != "uniform":
            bound = 1 / greatest_load(pattern)
            why = "GOAL, table 1; counted here" + (
                "; ties shared out: 3.5, not 4" if name == "transpose" else ""
            )
            allowed = None if name == "transpose" else 0.01
            compared.append(Result(f"torus, {name}: bound", published[name], bound, "", allowed, why))
        curves[name] = curve("torus-8x8", pattern, SIDE * SIDE, published[name], quick)
        window = Range(LEAST * published[name], published[name])
        compared.append(Result(f"torus, {name}: saturates", window, curves[name][2], "", 0.0, QUEUES))
    plot(curves, "saturation_torus", "8-ary 2-cube, dimension order", out)
    flies = {}
    for routing, name, bound in (
        ("minimal", "uniform", 1.0),
        ("minimal", "next group", 1 / 8),
        ("valiant", "next group", 1 / 2),
    ):
        label = f"{name}, {routing}"
        overrides = {"routing.kind": routing}
        loads, ours_s, postal_s = unloaded("dragonfly-72", DRAGONFLY[name], 72, quick, **overrides)
        compared.append(dragonfly_load(label, loads))
        if routing == "minimal":
            compared.append(latency(f"dragonfly, {label}", postal_s, ours_s))
        flies[label] = curve("dragonfly-72", DRAGONFLY[name], 72, bound, quick, **overrides)
        window = Range(LEAST * bound, bound)
        source = "Kim et al. 2008, 4.2: 1/(a h)" if bound == 1 / 8 else "Kim et al. 2008, 4.2"
        compared.append(Result(f"dragonfly, {label}: saturates", window, flies[label][2], "", 0.0, source))
    plot(flies, "saturation_dragonfly", "dragonfly of 72 hosts", out)
    return compared


if __name__ == "__main__":
    results.main(compare, __doc__)
