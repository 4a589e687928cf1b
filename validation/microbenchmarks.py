"""Intel MPI Benchmarks and HPCC's rings on seven machines: fitted on two nodes, predicted on four and eight.

The outputs are those that the machines' owners published (see benchmark_outputs.py). Overheads, memory and
the NIC come from one and two nodes (benchmark_fits.py says which from what), and `--fit` prints them as
platform files; four and eight nodes are predicted, and nothing is tuned on them. A null model stands beside
each: the same machine with a network of infinite speed, whose error says how much the network contributes.

All nodes are on one switch here: which nodes a job had is not published. Disagreement is expected where (1)
the machine's MPI library takes other algorithms than MPICH or Open MPI, (2) nodes lay far apart or shared
their links with other jobs (ARCHER's Sendrecv takes three times as long on four nodes as on two), (3) many
short messages meet at a NIC, whose rate of messages the default model does not limit, (4) ranks of a node
that copy share its memory in another way than evenly.

Run it as `python validation/microbenchmarks.py [--quick] [--fit]`: quick takes one machine, four nodes and
short messages.
"""

from __future__ import annotations

import hashlib
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median

import benchmark_fits as fits
import benchmark_outputs as outputs
import results
from kept import kept
from recordings import Absent
from results import Result

import hopcast
from hopcast import MPI

SIZES = (8, 1024, 16384, 65536)
BENCHMARKS = ("Sendrecv", "Allreduce", "Allgather", "Alltoall")
MOST_BYTES = 1 << 29
"""Of an all-to-all together: larger ones take minutes to simulate, and are left out."""
MOST_PAIRS = 90_000
"""Pairs of ranks of an all-to-all; ARCHER2's have up to a million, and are left out."""
RING_BYTES = {"latency": 8, "bandwidth": 2_000_000}
"""HPCC's, which takes the better of two ways to exchange."""
ORDERS = 3
"""Random rings whose mean counts; HPCC has 30."""
INFINITE = {"nic.bandwidth": "infinite", "nic.latency": "0 ns"}


@dataclass(frozen=True)
class Row:
    """One benchmark at one size."""

    machine: str
    benchmark: str
    nodes: int
    size: int
    measured_s: float
    predicted_s: float
    null_s: float

    @property
    def error(self) -> float:
        """Of the prediction."""
        return self.predicted_s / self.measured_s - 1

    @property
    def null_error(self) -> float:
        """Of the network of infinite speed."""
        return self.null_s / self.measured_s - 1


def repetitions(what: str, size: int) -> int:
    """More of what only settles when ranks that are far apart have met."""
    if what in ("Sendrecv", "latency"):
        return 100 if size <= 1024 else 10
    return 2 if size <= 1024 else 1


def timed(comm, step: Callable[[], None], loops: int) -> float:
    """The mean time of a step, as the Intel MPI Benchmarks take it [s]."""
    comm.barrier()
    start = comm.Wtime()
    for _ in range(loops):
        step()
    return (comm.Wtime() - start) / loops


def step(comm, benchmark: str, size: int) -> Callable[[], None]:
    """One iteration of a benchmark of the Intel MPI Benchmarks."""
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    return {
        "Sendrecv": lambda: comm.sendrecv(nbytes=size, dest=right, source=left),
        "Allgather": lambda: comm.allgather(nbytes=size),
        "Allreduce": lambda: comm.allreduce(nbytes=size),
        "Alltoall": lambda: comm.alltoall(nbytes=size),
    }[benchmark]


def suite(comm, cells: list[tuple[str, int]]) -> list[float]:
    """All cells, one after the other."""
    return [timed(comm, step(comm, what, size), repetitions(what, size)) for what, size in cells]


def ring_s(comm, order: list[int], size: int, loops: int) -> float:
    """HPCC's ring: both directions, by Sendrecv or at once; half of the better time [s]."""
    here = order.index(comm.rank)
    right, left = order[(here + 1) % comm.size], order[here - 1]

    def exchange():
        comm.sendrecv(nbytes=size, dest=right, source=left)
        comm.sendrecv(nbytes=size, dest=left, source=right)

    def at_once():
        receives = [comm.irecv(source=left), comm.irecv(source=right)]
        sends = [comm.isend(nbytes=size, dest=right), comm.isend(nbytes=size, dest=left)]
        MPI.Request.waitall(receives + sends)

    return min(comm.allreduce(timed(comm, way, loops), MPI.MAX) for way in (exchange, at_once)) / 2


def rings(comm) -> dict[str, float]:
    """HPCC's rings, natural and random, of short and long messages."""
    found = {}
    for kind, size in RING_BYTES.items():
        loops = repetitions(kind, size)
        found[f"natural ring, {kind}"] = ring_s(comm, list(range(comm.size)), size, loops)
        draws = [random.Random(seed).sample(range(comm.size), comm.size) for seed in range(ORDERS)]
        found[f"random ring, {kind}"] = mean(ring_s(comm, order, size, loops) for order in draws)
    return found


def simulated_s(file: str, ranks: int, per_node: int, cells: list, null: bool) -> dict[str, list[float]]:
    """The times of the cells [s]; of HPCC's rings without any."""
    changed = INFINITE if null else {}
    program, args = (suite, (cells,)) if cells else (rings, ())
    told = hopcast.run(file, program, ranks, args=args, ppn=per_node, set=changed).results
    return {"times": [mean(times) for times in zip(*told, strict=True)]} if cells else {"rings": told[0]}


def both(out: Path, name: str, *args) -> tuple[dict, dict]:
    """The prediction and the null model's, kept for the same platform file."""
    name += f"-{hashlib.sha256(Path(args[0]).read_bytes()).hexdigest()[:8]}"
    return kept(out, name, simulated_s, *args, False), kept(out, f"{name}-null", simulated_s, *args, True)


def intel_rows(
    out: Path, root: Path, machine: fits.Machine, nodes: int, file: Path, sizes: tuple[int, ...]
) -> Iterator[Row]:
    """The Intel MPI Benchmarks of a machine."""
    found = [one for one in outputs.intel(root, machine.intel) if one.nodes == nodes]
    measured = {
        (one.benchmark, size): one.time_s[size]
        for one in found
        for size in sizes
        if one.benchmark in BENCHMARKS and size in one.time_s
        if not one.benchmark.startswith("All") or one.ranks * size * one.ranks <= MOST_BYTES
        if one.benchmark != "Alltoall" or one.ranks**2 <= MOST_PAIRS
    }
    cells = sorted(measured)
    ranks = nodes * machine.processes
    name = f"imb-{machine.name}-{nodes}-{len(cells)}"
    predicted, null = both(out, name, str(file), ranks, machine.processes, cells)
    for cell, ours, without in zip(cells, predicted["times"], null["times"], strict=True):
        benchmark, size = cell
        yield Row(machine.name, benchmark, nodes, size, measured[cell], ours, without)


def hpcc_rows(out: Path, root: Path, machine: fits.Machine, nodes: int, file: Path) -> Iterator[Row]:
    """HPCC's rings of a machine, with one process on each node and with all."""
    for run in outputs.hpcc(root, machine.hpcc) if machine.hpcc else []:
        per_node = run.ranks // run.nodes
        if run.nodes != nodes or per_node not in (1, machine.processes):
            continue
        name = f"rings-{machine.name}-{nodes}-{per_node}"
        predicted, null = both(out, name, str(file), run.ranks, per_node, [])
        long = RING_BYTES["bandwidth"]
        measured = {
            "natural ring, latency": run.natural_s,
            "random ring, latency": run.random_s,
            "natural ring, bandwidth": long / run.natural_Bps,
            "random ring, bandwidth": long / run.random_Bps,
        }
        for what, time in measured.items():
            label = f"{what.split(',')[0]}, {per_node} a node"
            size = RING_BYTES[what.split(", ")[1]]
            yield Row(machine.name, label, nodes, size, time, predicted["rings"][what], null["rings"][what])


def rows(out: Path, quick: bool) -> list[Row]:
    """All predictions."""
    root = outputs.folder(out)
    machines = fits.MACHINES[:1] if quick else fits.MACHINES
    found: list[Row] = []
    for machine in machines:
        file = out.resolve() / "microbenchmarks" / f"{machine.name.lower()}.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(fits.toml(machine, fits.fit(root, machine), 8))
        for nodes in (4,) if quick else (4, 8):
            sizes = SIZES[:2] if quick else SIZES
            found += intel_rows(out, root, machine, nodes, file, sizes)
            if not quick:
                found += hpcc_rows(out, root, machine, nodes, file)
    return found


def summary(found: list[Row]) -> list[Result]:
    """How many predictions there are, how far off, and how far the null model."""
    worst = max(
        found, key=lambda row: max(row.predicted_s, row.measured_s) / min(row.predicted_s, row.measured_s)
    )
    where = f"{worst.machine}, {worst.benchmark}, {worst.nodes} nodes, {worst.size} B"
    halves = sum(abs(row.error) <= 0.3 for row in found) / len(found)
    compared = [
        Result("predictions", len(found), len(found), "", 0.0, "each beside a measurement, none fitted"),
        Result(
            "median of absolute errors",
            0.0,
            median(abs(row.error) for row in found),
            "",
            None,
            "the goal is 0",
        ),
        Result(
            "the same, network of infinite speed",
            0.0,
            median(abs(row.null_error) for row in found),
            "",
            None,
            "what remains without a network",
        ),
        Result("within 30 %", 1.0, halves, "", None, "share of the predictions"),
        Result("the worst, over its measurement", 1.0, worst.predicted_s / worst.measured_s, "", None, where),
    ]
    for machine in dict.fromkeys(row.machine for row in found):
        own = [abs(row.error) for row in found if row.machine == machine]
        null = [abs(row.null_error) for row in found if row.machine == machine]
        why = f"{len(own)} predictions; infinite network: {median(null):.3g}; the worst {max(own):.3g}"
        compared.append(Result(f"{machine}: median error", 0.0, median(own), "", None, why))
    return compared


def show(found: list[Row]) -> None:
    """Prints every prediction."""
    head = ["machine, benchmark", "nodes", "bytes", "measured", "predicted", "error", "infinite network"]
    cells = [
        [
            f"{row.machine} {row.benchmark}",
            str(row.nodes),
            str(row.size),
            f"{1e6 * row.measured_s:.4g} µs",
            f"{1e6 * row.predicted_s:.4g} µs",
            results.error_text(row.error),
            results.error_text(row.null_error),
        ]
        for row in found
    ]
    results.show("Predicted from two nodes", head, cells)


def compare(out: Path, quick: bool) -> list[Result]:
    """Every prediction in a table of its own; what they say together."""
    found = rows(out, quick)
    show(found)
    return summary(found)


def print_fits(out: Path) -> None:
    """The platform files that were made of two nodes."""
    root = outputs.folder(out)
    for machine in fits.MACHINES:
        print(fits.toml(machine, fits.fit(root, machine), 8))
    for one in fits.PING_PONGS:
        print(fits.described(root, one))


if __name__ == "__main__":
    if "--fit" in sys.argv:
        try:
            print_fits(results.OUT)
        except Absent as absent:
            print(absent)
    else:
        results.main(compare, __doc__)
