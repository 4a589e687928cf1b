"""Intel MPI Benchmarks and HPCC's rings on seven machines: fitted on two nodes, predicted on four and eight.

The outputs are those that the machines' owners published (see benchmark_outputs.py). Overheads, memory and
the NIC come from one and two nodes (benchmark_fits.py says which from what), and `--fit` prints them as
platform files; four and eight nodes are predicted, and nothing is tuned on them. How much the network
contributes shows beside the same machine with a network of infinite speed (`all.py microbenchmarks`).

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
from pathlib import Path
from statistics import mean

import benchmark_fits as fits
import benchmark_outputs as outputs
import null_model
import results
from recordings import Absent
from results import Kind, Result
from run_cache import cached

import hopcast
from hopcast import MPI

SIZES = (8, 1024, 16384, 65536)
BENCHMARKS = ("Sendrecv", "Allreduce", "Allgather", "Alltoall")
MOST_BYTES = 1 << 29
"""Limit of the bytes of an all-to-all together: larger ones take minutes to simulate, and are left out."""
MOST_PAIRS = 90_000
"""Pairs of ranks of an all-to-all; ARCHER2's have up to a million, and are left out."""
RING_BYTES = {"latency": 8, "bandwidth": 2_000_000}
"""HPCC's, which takes the better of two ways to exchange."""
ORDERS = 3
"""Random rings whose mean counts; HPCC has 30."""
KIND = Kind.MEASURED


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


def simulated_s(file: str, ranks: int, per_node: int, cells: list) -> dict[str, list[float]]:
    """The times of the cells [s]; of HPCC's rings without any."""
    program, args = (suite, (cells,)) if cells else (rings, ())
    told = hopcast.run(file, program, ranks, args=args, ppn=per_node, model=null_model.model("flow")).results
    return {"times": [mean(times) for times in zip(*told, strict=True)]} if cells else {"rings": told[0]}


def predicted(out: Path, name: str, file: Path, *args) -> dict:
    """Times that are simulated on a platform file, kept for the same file."""
    digest = hashlib.sha256(file.read_bytes()).hexdigest()[:8]
    return cached(out, f"{name}-{digest}", simulated_s, str(file), *args)


def row(what: str, nodes: int, size: int, measured_s: float, ours_s: float, why: str) -> Result:
    """A prediction beside its measurement, without a claim how near it comes."""
    return Result(f"{what}, {nodes} nodes, {size:,} B", 1e6 * measured_s, 1e6 * ours_s, "µs", None, why)


def intel_rows(
    out: Path, root: Path, machine: fits.Machine, nodes: int, file: Path, sizes: tuple[int, ...]
) -> Iterator[Result]:
    """The Intel MPI Benchmarks of a machine."""
    measured = {
        (one.benchmark, size): one.time_s[size]
        for one in outputs.intel(root, machine.intel)
        for size in sizes
        if one.nodes == nodes and one.benchmark in BENCHMARKS and size in one.time_s
        if not one.benchmark.startswith("All") or one.ranks * size * one.ranks <= MOST_BYTES
        if one.benchmark != "Alltoall" or one.ranks**2 <= MOST_PAIRS
    }
    cells = sorted(measured)
    args = (nodes * machine.processes, machine.processes, cells)
    ours = predicted(out, f"imb-{machine.name}-{nodes}-{len(cells)}", file, *args)["times"]
    for (benchmark, size), ours_s in zip(cells, ours, strict=True):
        what = f"{machine.name}, {benchmark}"
        yield row(what, nodes, size, measured[benchmark, size], ours_s, f"IMB; {machine.what}")


def hpcc_rows(out: Path, root: Path, machine: fits.Machine, nodes: int, file: Path) -> Iterator[Result]:
    """HPCC's rings of a machine, with one process on each node and with all."""
    for run in outputs.hpcc(root, machine.hpcc) if machine.hpcc else []:
        per_node = run.ranks // run.nodes
        if run.nodes != nodes or per_node not in (1, machine.processes):
            continue
        ours = predicted(out, f"rings-{machine.name}-{nodes}-{per_node}", file, run.ranks, per_node, [])
        long = RING_BYTES["bandwidth"]
        measured = {
            "natural ring, latency": run.natural_s,
            "random ring, latency": run.random_s,
            "natural ring, bandwidth": long / run.natural_Bps,
            "random ring, bandwidth": long / run.random_Bps,
        }
        for name, time_s in measured.items():
            kind, size = name.split(", ")
            what = f"{machine.name}, {kind}, {per_node} a node"
            why = f"HPCC; {machine.what.split(',')[0]}, 2017"
            yield row(what, nodes, RING_BYTES[size], time_s, ours["rings"][name], why)


def predictions(out: Path, quick: bool) -> list[Result]:
    """All predictions beside their measurements."""
    root = outputs.folder(out)
    found: list[Result] = []
    for machine in fits.MACHINES[:1] if quick else fits.MACHINES:
        file = out.resolve() / "microbenchmarks" / f"{machine.name.lower()}.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(fits.toml(machine, fits.fit(root, machine), 8))
        for nodes in (4,) if quick else (4, 8):
            found += intel_rows(out, root, machine, nodes, file, SIZES[:2] if quick else SIZES)
            if not quick:
                found += hpcc_rows(out, root, machine, nodes, file)
    return found


def compare(out: Path, quick: bool) -> list[Result]:
    """Every prediction, and that none is missing."""
    found = predictions(out, quick)
    count = len(found)
    held = Result(
        "predictions with a value", count, sum(one.ours > 0 for one in found), "", 0.0, "", Kind.OWN
    )
    return [*found, held]


def print_fits(out: Path) -> None:
    """The platform files that were made of two nodes."""
    root = outputs.folder(out)
    for machine in fits.MACHINES:
        found = fits.fit(root, machine)
        print(f"# by a ping-pong within a node: overheads of {1e9 * found.ping_pong_overhead_s:.0f} ns")
        print(fits.toml(machine, found, 8))
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
