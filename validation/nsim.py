"""The random ring and Bruck's all-to-all of the NSIM study, packet by packet.

Compared: section 5.1, HPCC's random-ring bandwidth on the Endeavor fat tree, with one process and with
eight on a node (Fig. 4), and how much of its traffic stays within nodes (Fig. 5); section 5.2, run time and
memory of Bruck's all-to-all by size of the torus (Figs. 6 and 7). Section 5.3 is nsim_pairwise.py.
Source: Miwa et al., "NSIM: An interconnection network simulator for extreme-scale parallel computers"
(IEICE Trans. Inf. & Syst. E94-D(12), 2011), sections 5.1 and 5.2, Tables 1 to 3.
Derivation: a process sends 2 MB to its left and to its right, and HPCC counts both: over a link of 4 GB/s it
has at most 4 GB/s. Of r processes, p on a node, a neighbour in a random order is on the same node with
probability (p - 1)/(r - 1), which is about a half where r = 2 p, as Fig. 5 says of few processes.
Expected: of Figs. 4, 6 and 7 the text has the shape alone. The bandwidth falls with the nodes, as more of
them share links between switches. With eight processes a node it rises once, from 16 nodes to 32: 16 are on
one switch, whose crossbar is as fast as a link, and of 32 many packets take any idle link up. (With a
crossbar of 8 GB/s both carry a quarter more.) The largest cases are 64 x 32 x 32 for 4 bytes and 16 x 16 x 8
for 1,024 bytes, on eight cores and 32 GB; run times and memory are our own. In Bruck's all-to-all on p = 2^k
nodes each sends k messages of p/2 blocks: of 65,536 nodes each sends 2 MiB, and traffic grows a little faster
than p squared.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy
import pictures
import results
from results import Kind, Range, Result
from run_cache import cached, cost, facts

import hopcast
from hopcast.report import units

KIND = Kind.FORMULA
NO_NULL = "compares rates, and measures the simulation"

GIB = 2**30
RING_BYTES = 2_000_000
ORDERS = 10
PROCESSES = 8
"""Processes of a node of Endeavor: two sockets of four cores."""
SHARE_ORDERS = 30
GROWING = (
    (2, 2, 2),
    (4, 4, 4),
    (8, 8, 4),
    (8, 8, 8),
    (16, 16, 8),
    (16, 16, 16),
    (32, 32, 16),
    (64, 32, 32),
)


def alltoall(sizes: list[int], size: int) -> dict:
    """Bruck's all-to-all of `size` bytes for each pair, on a torus of these sizes."""
    report = hopcast.run(
        "nsim-torus",
        "alltoall",
        int(numpy.prod(sizes)),
        kwargs={"bytes": f"{size} B", "algorithm": "bruck"},
        model="packet",
        threads=2,
        set={"topology.sizes": sizes},
    )
    return facts(report)


def random_ring(nodes: int, processes: int, seed: int, model: str = "packet") -> hopcast.Report:
    """One random order of the processes of these nodes."""
    return hopcast.run(
        "endeavor",
        "random-ring",
        nodes * processes,
        kwargs={"bytes": f"{RING_BYTES} B", "iterations": 1},
        model=model,
        seed=seed,
        ppn=processes,
        set={"host.processes": processes},
    )


def random_ring_Bps(nodes: int, orders: int) -> float:
    """HPCC's bandwidth of a process: the geometric mean over random orders."""
    return mean_Bps([random_ring(nodes, 1, seed) for seed in range(1, orders + 1)])


def mean_Bps(reports: list[hopcast.Report]) -> float:
    """The geometric mean of the bandwidths of a process in these runs."""
    rates = [2 * RING_BYTES / report.makespan_s for report in reports]
    return float(numpy.exp(numpy.mean(numpy.log(rates))))


def share_within_nodes(nodes: int) -> float:
    """Share of the ring's bytes that stay within nodes, the mean over random orders; no model changes it."""
    reports = (random_ring(nodes, PROCESSES, seed, "loggp") for seed in range(1, SHARE_ORDERS + 1))
    return float(numpy.mean([report.node_memory["bytes_share"] for report in reports]))


def several_processes(out: Path, quick: bool) -> list[Result]:
    """Figs. 4 and 5 with the processes of the measured machine: eight on each node."""
    nodes = [2, 8] if quick else [2, 4, 8, 16, 32, 64, 128, 256]
    packets = [2, 8] if quick else [2, 4, 8, 16, 32, 64]
    shares = [share_within_nodes(count) for count in nodes]
    runs = [[random_ring(count, PROCESSES, seed) for seed in (1, 2)] for count in packets]
    rates = [mean_Bps(of_count) for of_count in runs]
    figure, axes = pictures.pyplot().subplots(figsize=(7, 4))
    axes.plot(nodes, [share / (1 - share) for share in shares], marker="o")
    axes.set_xscale("log", base=2)
    axes.set(
        xlabel="nodes", ylabel="within nodes / between nodes", title="bytes of the random ring, 8 per node"
    )
    axes.set_ylim(bottom=0)
    pictures.save(figure, out, "nsim_within_nodes")
    figure, axes = pictures.pyplot().subplots(figsize=(7, 4))
    axes.plot(packets, numpy.array(rates) / 1e9, marker="o")
    axes.set_xscale("log", base=2)
    axes.set(xlabel="nodes", ylabel="bandwidth of a process [GB/s]", title="random ring of 8 per node, 2 MB")
    axes.set_ylim(bottom=0)
    pictures.save(figure, out, "nsim_random_ring_of_8")
    compared = []
    for count, of_count, rate in zip(packets, runs, rates, strict=True):
        most = max(4.0 / PROCESSES / (1 - run.node_memory["bytes_share"]) for run in of_count)
        why = "Fig. 4: a process's part of the link, by what leaves the node"
        what = f"random ring of 8 per node, {count} nodes"
        compared.append(Result(what, Range(None, most), rate / 1e9, "GB/s", 0.0, why))
    for count, share in zip(nodes, shares, strict=True):
        ranks = count * PROCESSES
        expected = (PROCESSES - 1) / (ranks - 1)
        # Three deviations of the mean of as many neighbours as are drawn.
        deviation = 3 * (expected * (1 - expected) / (SHARE_ORDERS * ranks)) ** 0.5
        what = f"random ring of 8 per node, {count} nodes, bytes within nodes"
        compared.append(Result(what, expected, share, "", deviation / expected, "(p - 1)/(r - 1), Fig. 5"))
    rises = max(later / before for before, later in pairwise(rates))
    out_of_node = max(
        PROCESSES * mean_Bps([run]) * (1 - run.node_memory["bytes_share"]) for of in runs for run in of
    )
    what = "random ring of 8 per node, the most out of a node"
    compared.append(
        Result(what, Range(None, 4.0), out_of_node / 1e9, "GB/s", 0.0, "Fig. 4: the link's at most")
    )
    what = "random ring of 8 per node, largest step up"
    why = "Figs. 4 and 5: falls with the nodes; 16 are on one switch, of 32 packets choose idle links up"
    compared.append(Result(what, Range(None, 1.0), rises, "", 0.02, why))
    return compared


def ring(out: Path, quick: bool) -> list[Result]:
    """Section 5.1."""
    nodes = [2, 16, 64] if quick else [2, 4, 8, 16, 32, 64, 128, 256]
    rates = [random_ring_Bps(count, 2 if quick else ORDERS) for count in nodes]
    figure, axes = pictures.pyplot().subplots(figsize=(7, 4))
    axes.plot(nodes, numpy.array(rates) / 1e9, marker="o")
    axes.set_xscale("log", base=2)
    axes.set(xlabel="nodes", ylabel="bandwidth of a process [GB/s]", title="random ring on Endeavor, 2 MB")
    axes.set_ylim(bottom=0)
    pictures.save(figure, out, "nsim_random_ring")
    most = Range(None, 4.0)
    compared = [
        Result(f"random ring, {count} nodes", most, rate / 1e9, "GB/s", 0.0, "Fig. 4: the link's at most")
        for count, rate in zip(nodes, rates, strict=True)
    ]
    compared.append(Result("random ring, 2 nodes", 4.0, rates[0] / 1e9, "GB/s", 0.03, "alone on its links"))
    rises = max(later / before for before, later in pairwise(rates))
    why = "Fig. 4: falls with the nodes"
    compared.append(Result("random ring, largest step up", Range(None, 1.0), rises, "", 0.02, why))
    return compared


def bruck(out: Path, quick: bool) -> list[Result]:
    """Section 5.2."""
    figure, (upper, lower) = pictures.pyplot().subplots(2, 1, figsize=(7, 6), sharex=True)
    compared = []
    for size, last in (
        (4, (8, 8, 8) if quick else (64, 32, 32)),
        (1024, (8, 8, 4) if quick else (16, 16, 8)),
    ):
        runs = []
        for sizes in GROWING[: GROWING.index(last) + 1]:
            name = "x".join(map(str, sizes))
            one = cached(out, f"nsim-bruck-{name}-{size}", alltoall, list(sizes), size)
            runs.append(one)
            what = f"Bruck's all-to-all of {size} B on {name}: memory"
            memory = one["peak_rss_B"] / GIB
            why = f"Table 2; predicts {units.seconds(one['makespan_s'])} in {cost(one)}"
            compared.append(Result(what, Range(None, 32.0), memory, "GiB", 0.0, why))
        nodes = [one["ranks"] for one in runs]
        upper.plot(nodes, [one["cpu_s"] for one in runs], marker="o", label=f"{size} B")
        lower.plot(nodes, [one["peak_rss_B"] / 2**20 for one in runs], marker="o", label=f"{size} B")
    upper.set(xscale="log", yscale="log", ylabel="CPU time [s]", title="Bruck's all-to-all on nsim-torus")
    lower.set(xscale="log", yscale="log", xlabel="nodes", ylabel="memory [MiB]")
    upper.legend()
    pictures.save(figure, out, "nsim_bruck")
    return compared


def compare(out: Path, quick: bool) -> list[Result]:
    """Sections 5.1 and 5.2."""
    return ring(out, quick) + several_processes(out, quick) + bruck(out, quick)


if __name__ == "__main__":
    results.main(compare, __doc__)
