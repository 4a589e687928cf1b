"""The experiments of the NSIM study, packet by packet.

Compared: section 5.3, pairwise all-to-all on the 16 x 16 x 8 torus of Table 3, predicted there at 166.7 ms
for a message size that the paper leaves out; section 5.1, HPCC's random-ring bandwidth on the Endeavor fat
tree (Fig. 4); section 5.2, run time and memory of Bruck's all-to-all by size of the torus (Figs. 6 and 7).
Source: Miwa et al., "NSIM: An interconnection network simulator for extreme-scale parallel computers"
(IEICE Trans. Inf. & Syst. E94-D(12), 2011), sections 5.1 to 5.3, Tables 1 and 3.
Expected: the time of the all-to-all grows with the message; 166.7 ms lies between two of the sizes. In a
phase in which all pairs are half an axis apart, every link of that axis carries size/4 messages in each
direction, as many as any pattern can put there. Of Figs. 4, 6 and 7 the text has the shape alone: the
bandwidth falls with the nodes, and the largest cases are 64 x 32 x 32 for 4 bytes and 16 x 16 x 8 for 1,024
bytes; so rates and memory are our own.
"""

from __future__ import annotations

from pathlib import Path

import numpy
import pictures
import results
from results import Range, Result

import hopcast

PUBLISHED_S = 0.1667
KIB = 1024
RING_BYTES = 2_000_000
ORDERS = 10


def alltoall(sizes: tuple[int, int, int], size: int, algorithm: str):
    """An all-to-all of `size` bytes for each pair, on a torus of these sizes."""
    return hopcast.run(
        "nsim-torus",
        "alltoall",
        int(numpy.prod(sizes)),
        kwargs={"bytes": f"{size} B", "algorithm": algorithm},
        model="packet",
        set={"topology.sizes": list(sizes)},
    )


def random_ring_Bps(nodes: int, orders: int) -> float:
    """HPCC's bandwidth of a process: the geometric mean over random orders of what it sends and receives."""
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


def pairwise(quick: bool) -> list[Result]:
    """Section 5.3."""
    sizes = (8, 8, 4) if quick else (16, 16, 8)
    times_s = {}
    for kib in (16, 32) if quick else (16, 32, 64, 128):
        times_s[kib] = alltoall(sizes, kib * KIB, "pairwise").makespan_s
    name = "x".join(map(str, sizes))
    compared = [
        Result(f"all-to-all of {kib} KiB, {name}", 1e3 * PUBLISHED_S, 1e3 * time_s, "ms", None, "section 5.3")
        for kib, time_s in times_s.items()
    ]
    if not quick:
        window = Range(1e3 * times_s[32], 1e3 * times_s[64])
        why = "the published time lies between ours for 32 and 64 KiB"
        compared.append(Result("published time", window, 1e3 * PUBLISHED_S, "ms", 0.0, why))
    return compared


def ring(out: Path, quick: bool) -> list[Result]:
    """Section 5.1."""
    nodes = [2, 16, 64] if quick else [2, 4, 8, 16, 32, 64, 128, 256]
    rates = [random_ring_Bps(count, 2 if quick else ORDERS) for count in nodes]
    figure, axes = pictures.pyplot().subplots(figsize=(7, 4))
    axes.plot(nodes, numpy.array(rates) / 1e9, marker="o")
    axes.set_xscale("log", base=2)
    axes.set(xlabel="nodes", ylabel="bandwidth of a process [GB/s]", title="random ring on Endeavor, 2 MB")
    pictures.save(figure, out, "nsim_random_ring")
    # What a process sends and receives at once, over links of 4 GB/s each way.
    most = Range(None, 8.0)
    return [
        Result(f"random ring, {count} nodes", most, rate / 1e9, "GB/s", 0.0, "Fig. 4: falls with the nodes")
        for count, rate in zip(nodes, rates, strict=True)
    ] + [
        Result("random ring, most nodes by least", Range(None, 1.0), rates[-1] / rates[0], "", 0.0, "Fig. 4")
    ]


def bruck(out: Path, quick: bool) -> list[Result]:
    """Section 5.2."""
    largest = [(8, 8, 8), (8, 8, 4)] if quick else [(64, 32, 32), (16, 16, 8)]
    growing = [
        (2, 2, 2),
        (4, 4, 4),
        (8, 8, 4),
        (8, 8, 8),
        (16, 16, 8),
        (16, 16, 16),
        (32, 32, 16),
        (64, 32, 32),
    ]
    figure, (upper, lower) = pictures.pyplot().subplots(2, 1, figsize=(7, 6), sharex=True)
    compared = []
    for size, last in zip((4, 1024), largest, strict=True):
        cases = growing[: growing.index(last) + 1]
        reports = [alltoall(sizes, size, "bruck") for sizes in cases]
        nodes = [report.summary["ranks"] for report in reports]
        upper.plot(nodes, [report.summary["wall_s"] for report in reports], marker="o", label=f"{size} B")
        memory = [report.summary["peak_rss_B"] / 2**20 for report in reports]
        lower.plot(nodes, memory, marker="o", label=f"{size} B")
        what = f"Bruck's all-to-all of {size} B on {nodes[-1]} nodes"
        wall_s, rate = reports[-1].summary["wall_s"], reports[-1].summary["packet_hops"]
        speed = f"{wall_s:.3g} s at {rate / wall_s / 1e6:.1f} million packet-hops/s"
        why = f"the study's machine had 32 GiB; {speed}"
        compared.append(Result(f"{what}: memory", Range(None, 32 * KIB), memory[-1], "MiB", 0.0, why))
    upper.set(xscale="log", yscale="log", ylabel="run time [s]", title="Bruck's all-to-all on nsim-torus")
    lower.set(xscale="log", yscale="log", xlabel="nodes", ylabel="memory [MiB]")
    upper.legend()
    pictures.save(figure, out, "nsim_bruck")
    return compared


def compare(out: Path, quick: bool) -> list[Result]:
    """Sections 5.3, 5.1 and 5.2."""
    return pairwise(quick) + ring(out, quick) + bruck(out, quick)


if __name__ == "__main__":
    results.main(compare, __doc__)
