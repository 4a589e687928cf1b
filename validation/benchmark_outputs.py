"""Readers of published benchmark outputs: Intel MPI Benchmarks, HPCC, BenchPress, SimGrid calibrations."""

from __future__ import annotations

import csv
import re
import tarfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from recordings import Absent, data

ARCHIVES = (
    "microbenchmarks/uk-machines-small",
    "microbenchmarks/summit-lassen",
    "calibration/mpi/stampede_17_06_01-1714",
    "calibration/mpi/taurus_26_07_2016",
)
NUMBER = re.compile(r"[-+]?\d+(\.\d+)?([eE][-+]?\d+)?")


@dataclass(frozen=True)
class Series:
    """Times of one benchmark of the Intel MPI Benchmarks, the mean over ranks [s] by message size [B]."""

    benchmark: str
    nodes: int
    ranks: int
    time_s: dict[int, float]


def folder(out: Path) -> Path:
    """The published outputs, unpacked below `out` at the first time."""
    target = out.resolve() / "recordings" / "microbenchmarks"
    for path in ARCHIVES:
        name = Path(path).name
        archive = data() / f"{path}.tar.xz"
        if not archive.exists():
            raise Absent(f"skipped: no {archive.name} in {archive.parent} (set HOPCAST_DATA)")
        if not (target / name).exists():
            partial = target / f"{name}.partial"
            with tarfile.open(archive) as files:
                files.extractall(partial, filter="data")
            partial.rename(target / name)
    return target


def intel(root: Path, campaign: str) -> list[Series]:
    """All series of a campaign of the Intel MPI Benchmarks; of repeated runs the median."""
    found: dict[tuple[str, int, int], dict[int, list[float]]] = {}
    files = sorted((root / "uk-machines-small/synth/IMB/results" / campaign).glob("IMB_*nodes_*.out"))
    for file in files:
        _, benchmark, nodes, *_ = file.name.split("_")
        ranks = 0
        for line in file.read_text(errors="replace").splitlines():
            if head := re.match(r"# #processes = (\d+)", line):
                ranks = int(head[1])
            words = line.split()
            # A row has size, repetitions and times; rows of sizes that were left out have words instead.
            if ranks and len(words) >= 4 and all(NUMBER.fullmatch(word) for word in words):
                column = {"PingPong": 2, "Sendrecv": 4}.get(benchmark, len(words) - 1)
                key = benchmark, int(nodes.removesuffix("nodes")), ranks
                times = found.setdefault(key, {}).setdefault(int(words[0]), [])
                times.append(float(words[column]) * 1e-6)
    return [
        Series(*key, {size: median(times) for size, times in rows.items()})
        for key, rows in sorted(found.items())
    ]


@dataclass(frozen=True)
class Rings:
    """HPCC's latencies [s] and bandwidths [B/s] of one run."""

    nodes: int
    ranks: int
    ping_pong_s: float
    ping_pong_Bps: float
    natural_s: float
    natural_Bps: float
    random_s: float
    random_Bps: float
    add_Bps: float
    """STREAM's Add of a process, while the others do the same."""


def hpcc(root: Path, campaign: str) -> list[Rings]:
    """The runs of a machine: for each number of nodes and ranks the median of each value."""
    runs: dict[tuple[int, int], list[tuple[float, ...]]] = {}
    keys = (
        ("AvgPingPongLatency_usec", 1e-6),
        ("AvgPingPongBandwidth_GBytes", 1e9),
        ("NaturallyOrderedRingLatency_usec", 1e-6),
        ("NaturallyOrderedRingBandwidth_GBytes", 1e9),
        ("RandomlyOrderedRingLatency_usec", 1e-6),
        ("RandomlyOrderedRingBandwidth_GBytes", 1e9),
        ("StarSTREAM_Add", 1e9),
    )
    for file in sorted((root / "uk-machines-small/synth/HPCC/beff_results" / campaign).glob("*hpccoutf.txt")):
        nodes, per_node = re.match(r"nodes(\d+)(?:ppn(\d+))?", file.name).groups()
        values = dict(re.findall(r"^(\w+)=(\S+)$", file.read_text(errors="replace"), re.MULTILINE))
        ranks = int(values["CommWorldProcs"])
        # The name says how many nodes; a file whose number of ranks belongs to another run is left out.
        if per_node is None or ranks != int(nodes) * int(per_node) or ranks == 1:
            continue
        row = tuple(float(values[key]) * unit for key, unit in keys)
        runs.setdefault((int(nodes), ranks), []).append(row)
    return [Rings(*key, *map(median, zip(*rows, strict=True))) for key, rows in sorted(runs.items())]


def ping_pongs(root: Path, file: str) -> dict[tuple[int, int], dict[int, float]]:
    """BenchPress: one-way times [s] by message size [B], for each pair of ranks."""
    found = {}
    for line in (root / "summit-lassen/benchmarks" / file).read_text().splitlines():
        if pair := re.match(r"CPU (\d+) and CPU (\d+):\s+(.*)", line):
            times = {2**power: float(word) for power, word in enumerate(pair[3].split())}
            found[int(pair[1]), int(pair[2])] = times
    return found


def calibration(root: Path, file: str) -> tuple[dict[int, float], float]:
    """A calibration for SimGrid: one-way times [s] by message size [B], and a short MPI_Isend [s]."""
    rounds: dict[int, list[float]] = {}
    with open(root / f"{file}_PingPong.csv", newline="") as lines:
        rows = [(int(size), float(time)) for _, size, _, time in csv.reader(lines)]
    # MPI_Send and MPI_Recv of a round follow each other; both sides of it are alike.
    for (size, send), (_, receive) in zip(rows[::2], rows[1::2], strict=True):
        rounds.setdefault(size, []).append((send + receive) / 2)
    with open(root / f"{file}_Isend.csv", newline="") as lines:
        sends = [float(time) for _, size, _, time in csv.reader(lines) if int(size) <= 100]
    return {size: median(times) for size, times in sorted(rounds.items())}, median(sends)
