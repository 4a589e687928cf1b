"""Pairwise all-to-all on the 16 x 16 x 8 torus of the NSIM study, and its traffic over time.

Compared: the predicted time of section 5.3, 166.7 ms for a message size that the paper leaves out; and the
peaks of Figs. 8 and 9, throughput by direction and latency over time.
Source: Miwa et al., "NSIM: An interconnection network simulator for extreme-scale parallel computers"
(IEICE Trans. Inf. & Syst. E94-D(12), 2011), section 5.3 and Table 3.
Derivation: with p nodes, a power of two, the partner in step m = 1 .. p - 1 is rank XOR m, so along each
axis of k nodes the coordinates of a pair differ by XOR with the same bits q of m. In a ring, node a sends
over min(d, k - d) links, d = (a XOR q) - a mod k, to the nearer side. The mean over a goes into each
direction alike, except for q = k/2: then all d = k/2, "every message goes to the same direction in the
axis", and each of its links carries k/2 messages while the opposite direction is idle. Rank x + X y + X Y z
puts that at Y Z steps for x, one at a time; at X Z steps for y, in Z stretches of X; and at X Y steps for
z, in one stretch: peaks of one direction, bottoms of the other, Y Z, Z and 1 of them.
Steps are found in time by what all links together had carried after each. Nobody waits for others between
steps, so that some nodes are ahead, and peaks are lower and wider than the steps alone would have them.
Expected: the published time lies between those of two round sizes. With all nodes in step, each pair's n
bytes, with 32 for each packet of 2,016, take the sum over steps of the greatest load of a link, 4.37 on
average, over 4 GB/s: 75 ms for 32 KiB and 149 ms for 64 KiB. Nodes that are ahead send over links that
others still need, and messages of different steps wait for each other: hopcast's times are above that, by
more for longer messages, as buffers hold four packets. The paper tells nothing of its MPI that would decide
between the sizes: how many sends a process has under way, and from which size on messages wait for their
receiver, here 64 KiB. Traffic over time is shown of 64 KiB.
"""

from __future__ import annotations

from pathlib import Path

import numpy
import pictures
import results
from results import Kind, Range, Result
from run_cache import cached, facts, speed

import hopcast

KIND = Kind.PUBLISHED
NO_NULL = "compares traffic over time, which an infinite network does not have"

PUBLISHED_S = 0.1667
SHOWN = 64
"""The size of which traffic over time is shown [KiB]."""
DIRECTIONS = [axis + sign for axis in "xyz" for sign in "+-"]


def run(sizes: list[int], kib: int) -> dict:
    """The all-to-all of `kib` KiB for each pair, and by period what links carried and latency was."""
    report = hopcast.run(
        "nsim-torus",
        "alltoall",
        int(numpy.prod(sizes)),
        kwargs={"bytes": f"{kib} KiB", "algorithm": "pairwise"},
        model="packet",
        threads=1,  # two only help where two cores are free
        set={
            "topology.sizes": sizes,
            "statistics.detail": "classes",
            "statistics.period": "5 us",
            "statistics.periods": 8192,
        },
    )
    traffic = report.tables["class_periods"].to_pydict()
    latency = report.tables["latency_periods"].to_pydict()
    period_s = round(min(latency["end_s"][0], traffic["end_s"][0]), 9)
    carried = numpy.zeros((len(DIRECTIONS), round(max(traffic["end_s"]) / period_s) + 1))
    for begin_s, direction, size in zip(traffic["begin_s"], traffic["class"], traffic["bytes"], strict=True):
        if direction in DIRECTIONS:
            carried[DIRECTIONS.index(direction), round(begin_s / period_s)] += size
    mean_s = numpy.interp(period_s * numpy.arange(carried.shape[1]), latency["begin_s"], latency["mean_s"])
    periods = {"period_s": period_s, "carried_B": carried.tolist(), "latency_s": mean_s.tolist()}
    return facts(report) | periods


def ring_hops(nodes: int, bits: int) -> tuple[float, float]:
    """Hops up and down a ring, the mean over its nodes, from each node a to a XOR `bits`."""
    ways = [((node ^ bits) - node) % nodes for node in range(nodes)]
    up = sum(way for way in ways if way <= nodes - way)
    return up / nodes, sum(nodes - way for way in ways if way > nodes - way) / nodes


def expected(sizes: list[int]) -> tuple[numpy.ndarray, numpy.ndarray]:
    """By direction and step: hops of a message, and whether pairs are half the axis apart."""
    steps = numpy.arange(1, numpy.prod(sizes))
    hops, half, stride = [], [], 1
    for nodes in sizes:
        bits = steps // stride % nodes
        ways = numpy.array([ring_hops(nodes, way) for way in range(nodes)])
        hops += [ways[bits, 0], ways[bits, 1]]
        half += [bits == nodes // 2] * 2
        stride *= nodes
    return numpy.array(hops), numpy.array(half)


def by_step(run: dict, hops: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]:
    """End of each step [s], rate of each direction in it [B/s], and the latency in it [s]."""
    carried = numpy.array(run["carried_B"])
    ends_s = run["period_s"] * numpy.arange(carried.shape[1] + 1)
    total = numpy.concatenate([[0.0], numpy.cumsum(carried.sum(axis=0))])
    share = numpy.concatenate([[0.0], numpy.cumsum(hops.sum(axis=0))])
    at_s = numpy.interp(share / share[-1], total / total[-1], ends_s)
    sums = [numpy.concatenate([[0.0], numpy.cumsum(row)]) for row in carried]
    rates = [numpy.diff(numpy.interp(at_s, ends_s, row)) / numpy.diff(at_s) for row in sums]
    middle_s = (at_s[1:] + at_s[:-1]) / 2
    latency_s = numpy.interp(middle_s, ends_s[:-1] + run["period_s"] / 2, run["latency_s"])
    return at_s, numpy.array(rates), latency_s


def stretches(half: numpy.ndarray) -> list[numpy.ndarray]:
    """The steps of each stretch of steps in which pairs are half an axis apart."""
    at = numpy.flatnonzero(half)
    return numpy.split(at, numpy.flatnonzero(numpy.diff(at) > 1) + 1)


def peaks(sizes: list[int], run: dict) -> list[Result]:
    """Steps in which directions carry most, and least."""
    hops, half = expected(sizes)
    at_s, rates, latency_s = by_step(run, hops)
    published = [sizes[1] * sizes[2], sizes[2], 1]
    compared = []
    for number, direction in enumerate(DIRECTIONS):
        axis, mean = number // 2, rates[number].mean()
        rises = direction[1] == "+"
        found = [
            stretch for stretch in stretches(half[number]) if (rates[number][stretch].mean() > mean) == rises
        ]
        ratio = rates[number][half[number]].mean() / rates[number][~half[number]].mean()
        # Stretches of one step, along x, are blurred by nodes that are some steps ahead.
        allowed = 0.0 if axis > 0 else None
        what = f"{direction}, {'peaks' if rises else 'bottoms'} at half the axis"
        first = numpy.flatnonzero(half[number])[0] + 1
        why = f"Fig. 8: the first at step {first}; throughput {ratio:.2f} of the mean elsewhere"
        compared.append(Result(what, float(published[axis]), float(len(found)), "", allowed, why))
        carried_B = rates[number] * numpy.diff(at_s)
        least = None if direction == "x-" else 0.0
        together = numpy.corrcoef(carried_B, hops[number])[0, 1]
        why = "1: what it carries in each step is as the partners' distances say"
        compared.append(
            Result(f"{direction}, correlation with the distances", Range(0.5), together, "", least, why)
        )
    for axis, name in enumerate("xyz"):
        at_half = half[2 * axis]
        ratio = latency_s[at_half].mean() / latency_s[~at_half].mean()
        why = "Fig. 9: it rises at the same times"
        compared.append(Result(f"latency at half of {name} over elsewhere", Range(1.0), ratio, "", 0.0, why))
    return compared


def plot(sizes: list[int], kib: int, run: dict, out: Path) -> None:
    """Figs. 8 and 9, with the steps in which pairs are half an axis apart in grey."""
    hops, half = expected(sizes)
    at_s, _, _ = by_step(run, hops)
    links = numpy.prod(sizes)
    carried = numpy.array(run["carried_B"])
    times = 1e3 * run["period_s"] * (numpy.arange(carried.shape[1]) + 0.5)
    figure, panels = pictures.pyplot().subplots(4, 1, figsize=(11, 11), sharex=True)
    for axis, panel in enumerate(panels[:3]):
        for number in (2 * axis, 2 * axis + 1):
            rate = carried[number] / run["period_s"] / links / 1e9
            panel.plot(times, rate, linewidth=0.5, label=DIRECTIONS[number])
        for stretch in stretches(half[2 * axis]):
            panel.axvspan(1e3 * at_s[stretch[0]], 1e3 * at_s[stretch[-1] + 1], color="0.85")
        panel.set(ylabel="throughput of a link [GB/s]", ylim=(0, 4))
        panel.legend(loc="upper right")
    panels[3].plot(times, 1e6 * numpy.array(run["latency_s"]), linewidth=0.5, color="black")
    panels[3].set(ylabel="latency of a message [µs]", xlabel="time [ms]")
    name = " x ".join(map(str, sizes))
    panels[0].set_title(f"Pairwise all-to-all of {kib} KiB on {name}; grey: partners half the axis apart")
    pictures.save(figure, out, "nsim_pairwise")


def compare(out: Path, quick: bool) -> list[Result]:
    """Section 5.3, for four sizes of message."""
    sizes = [8, 8, 4] if quick else [16, 16, 8]
    name = "x".join(map(str, sizes))
    runs = {
        kib: cached(out, f"nsim-pairwise-{name}-{kib}", run, sizes, kib)
        for kib in ((SHOWN, 16) if quick else (SHOWN, 16, 32, 128))
    }
    compared = []
    for kib, one in sorted(runs.items()):
        why = f"section 5.3, size not given; {speed(one)}"
        what = f"all-to-all of {kib} KiB, {name}"
        compared.append(Result(what, 1e3 * PUBLISHED_S, 1e3 * one["makespan_s"], "ms", None, why))
    if not quick:
        window = Range(1e3 * runs[32]["makespan_s"], 1e3 * runs[64]["makespan_s"])
        why = "the paper's time lies between ours for 32 and 64 KiB"
        compared.append(Result("published time", window, 1e3 * PUBLISHED_S, "ms", 0.0, why))
        why = "section 5.3: 24 minutes on eight cores for 166.7 ms; here on one"
        compared.append(Result(f"{SHOWN} KiB, CPU time", 1440.0, runs[SHOWN]["cpu_s"], "s", None, why))
        memory = runs[SHOWN]["peak_rss_B"] / 2**30
        why = "Table 2: what the study's machine had"
        compared.append(Result(f"{SHOWN} KiB, memory", Range(None, 32.0), memory, "GiB", 0.0, why))
    plot(sizes, SHOWN, runs[SHOWN], out)
    return compared + peaks(sizes, runs[SHOWN])


if __name__ == "__main__":
    results.main(compare, __doc__)
