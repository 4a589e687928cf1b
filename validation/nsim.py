"""The random ring and Bruck's all-to-all of the NSIM study, packet by packet.

Compared: section 5.1, HPCC's random-ring bandwidth on the Endeavor fat tree (Fig. 4); section 5.2, run time
and memory of Bruck's all-to-all by size of the torus (Figs. 6 and 7). Section 5.3 is nsim_pairwise.py.
Source: Miwa et al., "NSIM: An interconnection network simulator for extreme-scale parallel computers"
(IEICE Trans. Inf. & Syst. E94-D(12), 2011), sections 5.1 and 5.2, Tables 1 to 3.
Derivation: a process sends 2 MB to its left and to its right, and HPCC counts both: over a link of 4 GB/s it
has at most 4 GB/s.
Expected: of Figs. 4, 6 and 7 the text has the shape alone. The bandwidth falls with the nodes, as more of
them share links between switches. The largest cases are 64 x 32 x 32 for 4 bytes and 16 x 16 x 8 for 1,024
bytes, on eight cores and 32 GB; run times and memory are our own. In Bruck's all-to-all on p = 2^k nodes
each sends k messages of p/2 blocks: of 65,536 nodes each sends 2 MiB, and traffic grows a little faster
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

KIND = Kind.FORMULA
NO_NULL = "compares rates, and measures the simulation"

GIB = 2**30
RING_BYTES = 2_000_000
ORDERS = 10
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


def random_ring_Bps(nodes: int, orders: int) -> float:
    """HPCC's bandwidth of a process: the geometric mean over random orders."""
    rates = []
    for seed in range(1, orders + 1):
        report = hopcast.run(
            "endeavor",
            "random-ring",
            nodes,
            kwargs={"bytes": f"{RING_BYTES} B", "iterations": 1},
            model="packet",
            seed=seed,
        )
        rates.append(2 * RING_BYTES / report.makespan_s)
    return float(numpy.exp(numpy.mean(numpy.log(rates))))


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
            compared.append(Result(what, Range(None, 32.0), memory, "GiB", 0.0, f"Table 2; {cost(one)}"))
        nodes = [one["ranks"] for one in runs]
        upper.plot(nodes, [one["wall_s"] for one in runs], marker="o", label=f"{size} B")
        lower.plot(nodes, [one["peak_rss_B"] / 2**20 for one in runs], marker="o", label=f"{size} B")
    upper.set(xscale="log", yscale="log", ylabel="run time [s]", title="Bruck's all-to-all on nsim-torus")
    lower.set(xscale="log", yscale="log", xlabel="nodes", ylabel="memory [MiB]")
    upper.legend()
    pictures.save(figure, out, "nsim_bruck")
    return compared


def compare(out: Path, quick: bool) -> list[Result]:
    """Sections 5.1 and 5.2."""
    return ring(out, quick) + bruck(out, quick)


if __name__ == "__main__":
    results.main(compare, __doc__)
