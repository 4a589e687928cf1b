"""Latency on Hopper's Gemini network, of single messages and of MPI_Allreduce.

Compared: the end-to-end delay of a 4-byte message from one MPI process to all others, each on a node of its
own (published: all within 1.27 to 4.07 us); and the time of MPI_Allreduce by number of ranks and size
(published: logarithmic in the ranks; superlinear where many ranks and long vectors congest the network).
Source: Ahmed et al., "An Integrated Interconnection Network Model for Large-Scale Performance Prediction"
(SIGSIM-PADS 2016), section 6, Figs. 6 and 7. Of Fig. 7 the text gives the shape alone, no numbers.
Expected: the delay lies between 1.27 us and 3.88 us plus 1 ns for the 4 bytes (the platform has the paper's
link delays: 24 hops at most); the paper's longest, 4.07 us, has 0.19 us more, from its simulated packets in
queues. Packet by packet the longest is 6 ns more, those of a header. The paper ran on 6,384 nodes; here it
is all 6,528 places of the torus. The fit over log2(ranks) is not perfect: a step of recursive doubling
takes longer the farther the partner is, and nodes in order of their numbers lie in x first. Longer vectors
take steps where MPICH changes its algorithm: above 2 KiB, while there is a number for each rank, to one
that sends each byte only twice.
"""

from __future__ import annotations

from pathlib import Path

import null_model
import numpy
import pictures
import results
from results import Kind, Range, Result

import hopcast

KIND = Kind.PUBLISHED

HOPPER = Path(__file__).parent / "platforms" / "hopper-2016.toml"
"""The platform of the paper, whose messages cost no processor's time."""
NODES = 6_528
SPACING_S = 20e-6
"""Messages are sent so far apart that none meets another [s]."""
SMALL = ("8 B", "64 B", "512 B")
LARGE = ("4 KiB", "64 KiB", "1 MiB")
IN_PACKETS = "64 KiB"
"""The size that is run packet by packet, too: 1 MiB on 4,096 ranks takes a billion packet-hops."""


def delays_s(nodes: int, model: str) -> numpy.ndarray:
    """The delay of a 4-byte message from rank 0 to each other rank, one rank per node [s]."""

    def program(comm):
        if comm.rank > 0:
            comm.recv(source=0)
            return comm.Wtime() - comm.rank * SPACING_S
        for dest in range(1, comm.size):
            comm.sleep_until(dest * SPACING_S)
            comm.send(nbytes=4, dest=dest)
        return None

    report = hopcast.run(HOPPER, program, nodes, ppn=1, model=null_model.model(model))
    return numpy.array(report.results[1:])


def allreduce_s(ranks: int, size: str, model: str) -> float:
    """The time of one MPI_Allreduce, one rank per node [s]."""
    report = hopcast.run(HOPPER, "allreduce", ranks, kwargs={"bytes": size}, ppn=1, model=model)
    return report.makespan_s


def fit(ranks: list[int], times_s: list[float]) -> tuple[float, float]:
    """The slope [s] of the line through times over log2(ranks), and R² of the fit."""
    steps = numpy.log2(ranks)
    slope, start = numpy.polyfit(steps, times_s, 1)
    rest = numpy.array(times_s) - (slope * steps + start)
    return float(slope), float(1 - rest.var() / numpy.var(times_s))


def plot_delays(delays: numpy.ndarray, out: Path) -> None:
    """Fig. 6."""
    figure, axes = pictures.pyplot().subplots(figsize=(7, 4))
    hop = 0.10875
    axes.hist(delays * 1e6, bins=1.27 + hop * (numpy.arange(27) - 0.5))  # a bin for each number of hops
    for bound in (1.27, 4.07):
        axes.axvline(bound, linestyle="--", color="black")
    axes.set(
        xlabel="end-to-end delay [µs]",
        ylabel="messages",
        title="4 bytes from one node of Hopper to all others",
    )
    pictures.save(figure, out, "gemini_latency_histogram")


def plot_allreduce(ranks: list[int], times_s: dict[str, list[float]], out: Path) -> None:
    """Fig. 7."""
    figure, axes = pictures.pyplot().subplots(figsize=(7, 4))
    for size, times in times_s.items():
        axes.plot(ranks, numpy.array(times) * 1e6, marker="o", label=size)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set(xlabel="ranks, one per node", ylabel="MPI_Allreduce [µs]", title="MPI_Allreduce on Hopper")
    axes.legend()
    pictures.save(figure, out, "gemini_latency_allreduce")


def compare(out: Path, quick: bool) -> list[Result]:
    """Figs. 6 and 7."""
    delays, in_packets = (delays_s(NODES, model) * 1e6 for model in ("flow", "packet"))
    window = Range(1.27, 4.07)
    figure_6 = "Fig. 6"
    compared = [
        Result("shortest delay of 4 bytes", window, delays.min(), "µs", 0.0, figure_6),
        Result(
            "longest delay of 4 bytes", window, delays.max(), "µs", 0.0, f"{figure_6}; 24 hops, no queues"
        ),
        Result(
            "longest, by the link delays",
            3.88,
            delays.max(),
            "µs",
            0.001,
            "section 6: 2 x 635 + 24 x 108.75 ns",
        ),
        Result("the same, in packets", 3.88, in_packets.max(), "µs", 0.01, "no queues either; with a header"),
    ]
    plot_delays(delays / 1e6, out)
    ranks = [2**power for power in range(1, 9 if quick else 13)]
    times = {
        size: [allreduce_s(count, size, null_model.model("flow")) for count in ranks]
        for size in (*SMALL, *LARGE)
    }
    results.show(
        "MPI_Allreduce [µs] by ranks",
        ["bytes", *map(str, ranks)],
        [[size, *(f"{1e6 * time:.4g}" for time in row)] for size, row in times.items()],
    )
    for size in SMALL:
        slope, r_squared = fit(ranks, times[size])
        why = f"Fig. 7: logarithmic; {1e6 * slope:.3g} µs for each doubling"
        compared.append(
            Result(f"R² of allreduce over log2(ranks), {size}", Range(low=0.95), r_squared, "", 0.0, why)
        )
    for size, model in ((LARGE[-1], "flow"), (IN_PACKETS, "flow"), (IN_PACKETS, "packet")):
        network = null_model.model(model)
        time = allreduce_s(ranks[-1], size, network) if model == "packet" else times[size][-1]
        congested = null_model.ratio(time, allreduce_s(ranks[-1], size, "postal"))
        what = f"allreduce {size} on {ranks[-1]:,}, {model}: slowed by"
        why = f"Fig. 7: congestion adds to large ones; {1e6 * time:.4g} µs, over postal"
        compared.append(Result(what, Range(low=1.0), congested, "", 0.0, why))
    plot_allreduce(ranks, times, out)
    return compared


if __name__ == "__main__":
    results.main(compare, __doc__)
