"""Speed of `hopcast run` as a matrix, kind and unkind cases alike: model x workload x platform x placement.

Run it as `python bench/matrix.py [--quick] [--models flow,packet] [--only TEXT] [--json FILE]`. Each cell is
one `hopcast run` in a process of its own. Its rate is messages per second of CPU time of that whole command,
Python's start and set-up included, since that is what a user waits for. The headlines are the geometric mean
and the worst cell of each model. A workload that moves few messages has a poor rate whatever the simulator
does; that is what it costs. It asserts nothing: machines are noisy, so compare two builds side by side in one
session.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import geometric_mean as mean

import rates

HOPCAST = (sys.executable, "-m", "hopcast")
MODELS = {"infinite": 0, "postal": 0, "max-rate": 0, "loggp": 0, "flow": 1, "packet": 2}
"""Place of each model's iterations: models without links cost much the same."""


@dataclass(frozen=True)
class Workload:
    """One row of the matrix."""

    name: str
    ranks: int
    quick_ranks: int
    pattern: str
    """Pattern with its arguments."""
    iterations: tuple[int, ...]
    """Iterations of models without links, of `flow` and of `packet`: for a second or more of work in each."""
    placements: tuple[str, ...] = ("linear",)
    platforms: tuple[str, ...] = ("torus", "fat-tree", "dragonfly")

    def arguments(self, model: str, quick: bool) -> str:
        """Arguments of `hopcast run` behind the platform."""
        ranks, iterations = self.ranks, self.iterations[MODELS[model]]
        if quick:
            ranks, iterations = self.quick_ranks, 1
        return f"-n {ranks} {self.pattern} --iterations {iterations}"


PLATFORMS = {
    "torus": "nsim-torus --set topology.sizes=[8,8,16] --ppn 1",
    "fat-tree": "mustang --ppn 1",
    "dragonfly": "aries --ppn 1",
    "hopper": "hopper --ppn 1",
    "idle torus": "nsim-torus --set topology.sizes=[64,32,32] --ppn 1",
}
"""Presets by the kind of their network: some 1,000 hosts. `hopper`, with adaptive routes and packets of
64 bytes, has 6,528; the idle one has 65,536, of which few work."""

BOTH = ("linear", "random")
PAIRWISE, LINEAR = "--algorithm pairwise", "--algorithm linear"
WORKLOADS = (
    Workload("halo 8 B", 512, 64, "halo3d --bytes 8B", (300, 100, 60), BOTH),
    Workload("halo 7 kB", 512, 64, "halo3d --bytes 7kB", (300, 30, 6), BOTH, ("hopper",)),
    Workload("halo 64 KiB", 512, 64, "halo3d --bytes 64KiB", (300, 15, 6), BOTH),
    Workload("all-to-all pairwise 1 KiB", 256, 32, f"alltoall --bytes 1KiB {PAIRWISE}", (20, 5, 5)),
    Workload(
        "all-to-all linear 1 KiB",
        256,
        32,
        f"alltoall --bytes 1KiB {LINEAR}",
        (20, 5, 5),
        BOTH,
        ("torus", "fat-tree", "dragonfly", "hopper"),
    ),
    Workload("all-to-all linear 64 KiB", 64, 16, f"alltoall --bytes 64KiB {LINEAR}", (300, 10, 3)),
    Workload("allreduce ring 1 MiB", 256, 16, "allreduce --bytes 1MiB --algorithm ring", (16, 4, 2)),
    Workload(
        "allreduce doubling 8 B",
        512,
        64,
        "allreduce --bytes 8B --algorithm recursive-doubling",
        (300, 80, 50),
        BOTH,
    ),
    Workload("incast 64 KiB", 512, 32, "incast --bytes 64KiB", (2_000, 80, 5)),
    Workload(
        "large idle network",
        2,
        2,
        "pingpong --bytes 8B",
        (200_000, 100_000, 60_000),
        platforms=("idle torus",),
    ),
    Workload("long simulated time", 64, 64, "halo3d --bytes 8B --compute 1s", (3_000, 800, 400)),
)


@dataclass(frozen=True)
class Cell:
    """One run of the matrix."""

    model: str
    workload: str
    platform: str
    placement: str
    arguments: str

    @property
    def name(self) -> str:
        """Name of the cell, without its model."""
        return f"{self.workload}, {self.platform}, {self.placement}"


@dataclass(frozen=True)
class Measured:
    """Result of a cell."""

    cell: Cell
    messages: int
    events: int
    cpu_s: float
    """CPU time of the whole command [s]."""
    memory_B: int
    makespan_s: float
    packet_hops: int

    @property
    def rate(self) -> float:
        """Messages per second of CPU time."""
        return self.messages / self.cpu_s

    @property
    def hop_rate(self) -> float:
        """Packet-hops per second of CPU time; 0 of models without packets."""
        return self.packet_hops / self.cpu_s


def cells(models: tuple[str, ...], quick: bool, only: str) -> list[Cell]:
    """The cells of the matrix whose model and name contain `only`."""
    found = []
    for model, row in itertools.product(models, WORKLOADS):
        for platform, placement in itertools.product(row.platforms, row.placements):
            words = f"{PLATFORMS[platform]} --model {model} --placement {placement}"
            arguments = f"{words} {row.arguments(model, quick)}"
            found.append(Cell(model, row.name, platform, placement, arguments))
    return [cell for cell in found if only in f"{cell.model}, {cell.name}"]


def measure(cell: Cell) -> Measured:
    """Runs a cell."""
    command = [*HOPCAST, "run", *cell.arguments.split(), "--json"]
    with tempfile.TemporaryFile("w+") as printed, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, stdout=printed, stderr=errors)
        # Waited for by hand, since only this tells the time of this one process.
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        if process.returncode != 0:
            raise SystemExit(f"{' '.join(command)} failed:\n{errors.read()}")
        printed.seek(0)
        report = json.load(printed)
    cpu_s = used.ru_utime + used.ru_stime
    counts = (report["messages"], report["events"])
    return Measured(cell, *counts, cpu_s, report["peak_rss_B"], report["makespan_s"], report["packet_hops"])


def headlines(measured: list[Measured]) -> list[str]:
    """For each model: geometric mean of its rates, its worst and its best cell, how many are far below."""
    lines = []
    for model in dict.fromkeys(one.cell.model for one in measured):
        own = [one for one in measured if one.cell.model == model]
        worst, best = (choose(own, key=lambda one: one.rate) for choose in (min, max))
        poor = sum(one.rate < best.rate / 4 for one in own)
        lines.append(
            f"{model}: {mean(one.rate for one in own):,.0f} messages/s (geometric mean, cells: {len(own)}), "
            f"worst {worst.rate:,.0f} ({worst.cell.name}), best {best.rate:,.0f}; "
            f"below a quarter of the best: {poor}"
        )
        if all(one.packet_hops for one in own):
            worst, best = (choose(own, key=lambda one: one.hop_rate) for choose in (min, max))
            lines.append(
                f"{model}, by hops: {mean(one.hop_rate for one in own):,.0f} packet-hops/s, "
                f"worst {worst.hop_rate:,.0f} ({worst.cell.name}), best {best.hop_rate:,.0f}"
            )
    return lines


def main() -> None:
    """Runs the chosen cells, and prints one line for each and the headlines."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small forms of all workloads: a minute or two")
    parser.add_argument("--models", default=",".join(MODELS), help="models, with commas")
    parser.add_argument("--only", default="", help="cells whose model and name contain this")
    parser.add_argument("--json", type=Path, help="write all results here, too")
    options = parser.parse_args()
    if unknown := [model for model in options.models.split(",") if model not in MODELS]:
        parser.error(f"unknown model '{unknown[0]}'; known: {', '.join(MODELS)}")
    chosen = cells(tuple(options.models.split(",")), options.quick, options.only)
    if not chosen:
        raise SystemExit(f"no cell has '{options.only}' in its name")
    print(subprocess.run([*HOPCAST, "--version"], capture_output=True, text=True, check=True).stdout.strip())
    print(f"{'model':7} {'cell':52} {'messages/s':>12} {'messages':>10} {'CPU s':>7} {'MiB':>7}")
    measured = []
    for cell in chosen:
        one = measure(cell)
        measured.append(one)
        print(
            f"{cell.model:7} {cell.name:52} {one.rate:12,.0f} {one.messages:10,} {one.cpu_s:7.2f} "
            f"{one.memory_B / 2**20:7.0f}",
            flush=True,
        )
        if not options.quick:
            name = f"{cell.model}: {cell.name}"
            rates.record("matrix", name, messages_per_cpu_s=one.rate, memory_B=one.memory_B)
    print(f"on {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print(*headlines(measured), sep="\n")
    if options.json is not None:
        rows = [asdict(one) | {"rate": one.rate} for one in measured]
        options.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
