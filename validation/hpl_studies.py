"""Six studies of HPL, as the files in examples/studies have them, made smaller.

Temporal: calls of dgemm vary by γ of their mean, on drawn clusters of 256 nodes with one rank each. Top
switches: the same clusters under a fat tree with 4 to 1 of them. Eviction: the slowest nodes of 64 left out,
every grid of those that stay. Geometry: every grid of 240 ranks on Dahu. Factorial: block size, depth,
broadcast and swap on 8 x 8 ranks. Platform change: Dahu with its four hosts of faulty cooling, and with the
mean of all processors in their place.
Source of the designs: Cornebize, thesis, Université Grenoble Alpes 2021, chapter 6; clusters: the hundred
that were drawn there (calibration_analysis, dgemm_synthetic_1 to 100), of which the first are taken.
Expected in kind, as there: variability over time costs little where N is small and more where it is large,
about in proportion to γ; one missing top switch is not noticed, three are; geometry matters.

The files in examples/studies ask for N up to 500,000 and ten clusters, which takes weeks of two cores: here
N, clusters and, where said, nodes are fewer. Cells that were run are kept.

Run it as `python validation/hpl_studies.py [--quick]`: quick runs the factorial alone, at N = 6,400.
"""

from __future__ import annotations

import csv
import os
import shutil
import statistics
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import hpl
import pyarrow.parquet as parquet
import tomlkit
import yaml
from hpl_platforms import PRESETS, polynomial
from recordings import Absent, data
from results import Kind, Range, Result, main

KIND = Kind.OWN
NO_NULL = "costs of noise, of slow nodes and of shapes beside each other; hpl.py has the infinite network"

STUDIES = PRESETS.parents[1] / "examples" / "studies"
CLUSTERS = (1, 2)
TEMPORAL_N = TOPS_N = (25_000, 50_000)
GAMMAS = (0.0, 0.05, 0.1)
EVICTION_N, EVICTION_NODES, EVICTED = 25_000, 64, 4
GEOMETRY_N, GEOMETRY_RANKS, GEOMETRY_PPN = 12_500, 240, 30
FACTORIAL_N, FACTORIAL_SIDE = 12_800, 8
CHANGE_N = (12_500, 25_000)
CELL_N, CELL_GRID, CELL_CPU_S = 100_000, (8, 32), 20.0
REPAIRED = ("dahu-13", "dahu-14", "dahu-15", "dahu-16")
"""Hosts whose cooling was repaired on 2019-11-27."""
LEAST = Range(-1.0, None)
"""Costs are not negative, but for chance [%]."""

TABLE = "compute.kernels.0.table"
"""Value of the platform that names the processors."""

Rows = list[dict[str, Any]]
Node = dict[str, float]


def cluster(number: int) -> list[Node]:
    """Coefficients of the nodes of a drawn cluster."""
    archive = data() / "calibration" / "notebooks" / "synthetic_clusters" / "dgemm_synthetic_1-100.tar.xz"
    if not archive.exists():
        raise Absent(f"skipped: no {archive.name} in {archive.parent} (set HOPCAST_DATA)")
    with tarfile.open(archive) as opened:
        file = opened.extractfile(f"./dgemm_synthetic_{number}.yaml")
        assert file is not None, "the archive has a hundred clusters"
        return yaml.safe_load(file)["model"]["model"]


def write_nodes(file: Path, nodes: Iterable[Node], gamma: float | None = None) -> None:
    """The nodes as a table of dgemm; calls deviate by `gamma` of their mean, or as they were drawn."""
    head = ["host", "socket", "1", "M*N*K", "deviation 1", "deviation M*N*K"]
    rows = []
    for number, node in enumerate(nodes):
        deviation = node["mnk_residual"] if gamma is None else gamma * node["mnk"]
        values = (node["intercept"], node["mnk"], 0.0, deviation)
        rows.append([str(number), "0", *map(repr, values)])
    write_table(file, [head, *rows])


def write_table(file: Path, rows: list[list[str]]) -> None:
    """A table of coefficients."""
    with file.open("w", newline="") as opened:
        csv.writer(opened).writerows(rows)


def ran(out: Path, name: str, change: Callable[[Any, Path], None]) -> Rows:
    """Cells of a study after `change(file, folder)` has made it smaller."""
    folder = out.resolve() / "hpl_studies"
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(hpl.program(), folder / "xhpl")
    shutil.copy(STUDIES / "hpl.dat.in", folder / "hpl.dat.in")
    study = tomlkit.parse((STUDIES / f"{name}.toml").read_text())
    study["files"] = {"hpccinf.txt": "hpl.dat.in"}  # as HPCC's driver of HPL calls its input
    study.pop("clusters", None)  # the published ones stand in the place of drawn ones
    change(study, folder)
    file = folder / f"{name}.toml"
    file.write_text(tomlkit.dumps(study))
    words = [sys.executable, "-m", "hopcast", "study", str(file), "--quiet", "--workers", str(os.cpu_count())]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{name}: {done.stderr[-500:]}")
    return parquet.read_table(folder / name / "results.parquet").to_pylist()


def temporal(out: Path) -> list[Result]:
    """Cost of variability from call to call, over the same clusters without."""

    def smaller(study: Any, folder: Path) -> None:
        for number in CLUSTERS:
            nodes = cluster(number)
            for gamma in GAMMAS:
                write_nodes(folder / f"nodes-{number}-{gamma}.csv", nodes, gamma)
        study["set"][TABLE] = "nodes-{cluster}-{gamma}.csv"
        study["factors"] |= {"n": list(TEMPORAL_N), "cluster": list(CLUSTERS), "gamma": list(GAMMAS)}

    times = by(ran(out, "temporal", smaller), "n", "gamma", "cluster")
    rows = []
    for order in TEMPORAL_N:
        for gamma in GAMMAS[1:]:
            costs = [
                100 * (times[order, gamma, number] / times[order, 0.0, number] - 1) for number in CLUSTERS
            ]
            rows.append(row(f"temporal, N = {order:,}, γ = {gamma}: cost", costs, "256 nodes"))
    return rows


def top_switches(out: Path) -> list[Result]:
    """Cost of top switches that are missing."""

    def smaller(study: Any, folder: Path) -> None:
        for number in CLUSTERS:
            write_nodes(folder / f"nodes-{number}.csv", cluster(number))
        study["set"][TABLE] = "nodes-{cluster}.csv"
        study["factors"] |= {"n": list(TOPS_N), "cluster": list(CLUSTERS)}

    times = by(ran(out, "top_switches", smaller), "n", "tops", "cluster")
    rows = []
    for order in TOPS_N:
        for tops in (3, 2, 1):
            costs = [100 * (times[order, tops, number] / times[order, 4, number] - 1) for number in CLUSTERS]
            rows.append(row(f"top switches, N = {order:,}, {tops} of 4: cost", costs, "256 nodes"))
    return rows


def eviction(out: Path) -> list[Result]:
    """Best grid of the nodes that stay, beside the best of all nodes; and what the worst grid costs."""

    def smaller(study: Any, folder: Path) -> None:
        for number in CLUSTERS:
            nodes = cluster(number)[:EVICTION_NODES]
            fastest = sorted(range(EVICTION_NODES), key=lambda at: nodes[at]["mnk"])
            for evicted in range(EVICTED + 1):
                kept = sorted(fastest[: EVICTION_NODES - evicted])
                write_nodes(folder / f"nodes-{number}-{evicted}.csv", [nodes[at] for at in kept])
        study["set"][TABLE] = "nodes-{cluster}-{r}.csv"
        study["derived"]["left"] = f"{EVICTION_NODES} - r"
        study["exclude"] = [f"({EVICTION_NODES} - r) % p != 0"]
        study["factors"] |= {
            "n": EVICTION_N,
            "cluster": list(CLUSTERS),
            "r": {"from": 0, "to": EVICTED},
            "p": {"from": 1, "to": EVICTION_NODES},
        }

    found = by(ran(out, "eviction", smaller), "cluster", "r", "p")
    rows = []
    for evicted in range(EVICTED + 1):
        grids = {
            number: {p: time for (of, r, p), time in found.items() if (of, r) == (number, evicted)}
            for number in CLUSTERS
        }
        whole = {
            number: min(t for (of, r, _), t in found.items() if (of, r) == (number, 0)) for number in CLUSTERS
        }
        costs = [100 * (min(grids[number].values()) / whole[number] - 1) for number in CLUSTERS]
        best = ", ".join(str(min(grids[number], key=grids[number].__getitem__)) for number in CLUSTERS)
        what = f"eviction of {evicted} of {EVICTION_NODES}, N = {EVICTION_N:,}: cost of the best grid"
        rows.append(row(what, costs, f"process rows of the best: {best}"))
    worst = [
        100 * (max(t for (of, r, _), t in found.items() if (of, r) == (number, 0)) / whole[number] - 1)
        for number in CLUSTERS
    ]
    rows.append(row(f"eviction, N = {EVICTION_N:,}: the worst grid of all nodes beside the best", worst, ""))
    return rows


def geometry(out: Path) -> list[Result]:
    """The worst grid beside the best."""

    def smaller(study: Any, _: Path) -> None:
        study["options"] |= {"ranks": GEOMETRY_RANKS, "ppn": GEOMETRY_PPN}
        study["derived"]["q"] = f"{GEOMETRY_RANKS} // p"
        study["exclude"] = [f"{GEOMETRY_RANKS} % p != 0"]
        study["factors"] |= {"n": GEOMETRY_N, "p": {"from": 1, "to": GEOMETRY_RANKS}}

    times = {p: time for (p,), time in by(ran(out, "geometry", smaller), "p").items()}
    order = sorted(times, key=times.__getitem__)
    grids = [f"{p} x {GEOMETRY_RANKS // p}" for p in order]
    cost = 100 * (times[order[-1]] / times[order[0]] - 1)
    why = f"best {', '.join(grids[:3])}; worst {grids[-1]}"
    what = f"geometry, {GEOMETRY_RANKS} ranks, N = {GEOMETRY_N:,}: the worst grid beside the best"
    return [row(what, [cost], why)]


def factorial(out: Path, order: int = FACTORIAL_N) -> list[Result]:
    """Main effects: the mean of each level beside the best level's."""

    def smaller(study: Any, _: Path) -> None:
        study["options"] |= {"ranks": FACTORIAL_SIDE**2, "ppn": 32}
        study["factors"]["fixed"] |= {"n": order, "p": FACTORIAL_SIDE, "q": FACTORIAL_SIDE}

    cells = ran(out, "factorial", smaller)
    by(cells, "nb", "depth", "bcast", "swap")
    rows = []
    for factor in ("nb", "depth", "bcast", "swap"):
        levels = sorted({cell[factor] for cell in cells})
        means = {
            level: statistics.mean(cell["makespan_s"] for cell in cells if cell[factor] == level)
            for level in levels
        }
        best = min(means, key=means.__getitem__)
        cost = 100 * (max(means.values()) / means[best] - 1)
        what = f"factorial, N = {order:,}: {factor}: the worst level beside the best"
        rows.append(row(what, [cost], f"best {best}, of {len(cells)} cells"))
    return rows


def platform_change(out: Path) -> list[Result]:
    """Gain by the repair of the cooling of four hosts."""

    def smaller(study: Any, folder: Path) -> None:
        head, mean, *each = polynomial()
        write_table(folder / "before.csv", [head, mean, *each])
        write_table(folder / "after.csv", [head, mean, *(line for line in each if line[0] not in REPAIRED)])
        study["factors"]["n"] = list(CHANGE_N)

    times = by(ran(out, "platform_change", smaller), "n", "table")
    return [
        row(
            f"platform change, N = {order:,}: cost of four slow hosts",
            [100 * (times[order, "before.csv"] / times[order, "after.csv"] - 1)],
            "32 x 32 ranks",
        )
        for order in CHANGE_N
    ]


def cell(out: Path) -> list[Result]:
    """Processor time of one cell of the studies in full."""
    flags = ("--ppn", "1", "--set", f"topology.hosts={CELL_GRID[0] * CELL_GRID[1]}", *hpl.MODELLED)
    found = hpl.run(CELL_N, *CELL_GRID, out / "hpl_studies" / "cell", *flags)
    what = f"a cell of {CELL_GRID[0] * CELL_GRID[1]} ranks, N = {CELL_N:,}: CPU time, one core"
    why = f"{found.gflops:,.0f} Gflop/s predicted, {found.memory_B / 2**20:.0f} MiB"
    return [Result(what, Range(high=CELL_CPU_S), found.cpu_s, "s", 0.0, why)]


def by(cells: Rows, *factors: str) -> dict[tuple, float]:
    """Makespans by the values of factors [s]."""
    failed = [cell for cell in cells if cell["makespan_s"] is None]
    if failed:
        raise RuntimeError(f"{len(failed)} cells failed: {failed[0]['why']}")
    if len({cell["makespan_s"] for cell in cells}) == 1:
        raise RuntimeError("all cells took the same time: HPL has read no input")
    return {tuple(cell[factor] for factor in factors): cell["makespan_s"] for cell in cells}


def row(what: str, costs: list[float], why: str) -> Result:
    """A cost: its median, and its range over several clusters. What is expected is no number: no claim."""
    over = f"{min(costs):.3g} to {max(costs):.3g} % on {len(costs)} clusters" if len(costs) > 1 else ""
    text = "; ".join(part for part in (over, why) if part)
    return Result(what, LEAST, statistics.median(costs), "%", None, text)


def compare(out: Path, quick: bool) -> list[Result]:
    """All six; `quick` has the factorial of small matrices."""
    if quick:
        return factorial(out / "quick", 6_400)
    return [
        *factorial(out),
        *temporal(out),
        *top_switches(out),
        *geometry(out),
        *eviction(out),
        *platform_change(out),
        *cell(out),
    ]


if __name__ == "__main__":
    main(compare, __doc__)
