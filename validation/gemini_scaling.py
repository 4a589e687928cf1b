"""Strong scaling of a simulated MPI_Allreduce over threads and processes: run time and event rate.

Compared: one allreduce of 1 and of 4 KiB on 12,288 ranks of Hopper, packet by packet, on one thread, on two
threads, and in two processes under mpiexec: the same outcome, to the bit, and the time of each, with the
events handled per second.
Source: Ahmed et al., "An Integrated Interconnection Network Model for Large-Scale Performance Prediction"
(SIGSIM-PADS 2016), section 8 and Fig. 12: an MPI model of 156,672 ranks on 12 to 3,072 cores; "decent
parallel performance of the simulator as we see the run time steadily decreases as we increase parallelism".
The text gives no numbers.
Derivation: none; `gemini_allreduce.py` has all ranks, and what one run of them takes.
Expected: faster on two cores than on one, but less than twice as fast: parts wait for each other at the ends
of windows. On a machine whose cores have other work, or that has one, the curve says nothing.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pictures
import results
from recordings import Absent
from results import Kind, Range, Result
from run_cache import cached

KIND = Kind.OWN
NO_NULL = "measures the simulation"

HOPPER = Path(__file__).parent / "platforms" / "hopper-2016.toml"
RANKS, FEW_RANKS = 12_288, 3_072
SIZES = ("1 KiB", "4 KiB")
PARTS = ((1, 1), (2, 1), (1, 2))
"""Threads of each process, and processes."""


def allreduce(ranks: int, size: str, threads: int, processes: int) -> dict[str, Any]:
    """One allreduce on so many threads of so many processes."""
    words = [HOPPER, "-n", ranks, "--model", "packet", "--threads", threads, "--json"]
    words += ["allreduce", "--bytes", size, "--algorithm", "recursive-doubling"]
    launcher = ["mpiexec.mpich", "-n", processes] if processes > 1 else []
    command = [*launcher, sys.executable, "-m", "hopcast", "run", *words]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{processes} processes failed: {done.stderr[-500:]}")
    summary = json.loads(done.stdout)
    return {name: summary[name] for name in ("outcome_hash", "wall_s", "events")}


def named(threads: int, processes: int) -> str:
    """Parts in words."""
    if processes > 1:
        return f"{processes} processes"
    return f"{threads} threads" if threads > 1 else "one thread"


def plot(runs: dict[str, list[dict[str, Any]]], out: Path) -> None:
    """Run time and event rate over cores."""
    figure, (left, right) = pictures.pyplot().subplots(1, 2, figsize=(10, 4))
    for size, (alone, threads, processes) in runs.items():
        for mark, label, two in (("o-", "threads", threads), ("s--", "processes", processes)):
            label = f"{size}, {label}"
            left.plot([1, 2], [run["wall_s"] for run in (alone, two)], mark, label=label)
            right.plot([1, 2], [run["events"] / run["wall_s"] for run in (alone, two)], mark, label=label)
    left.set(title="Run time", xlabel="cores", ylabel="s", xticks=[1, 2], ylim=(0, None))
    right.set(title="Events", xlabel="cores", ylabel="1/s", xticks=[1, 2], ylim=(0, None))
    left.legend()
    pictures.save(figure, out, "gemini_scaling")


def rows(what: str, runs: list[dict[str, Any]], quick: bool) -> list[Result]:
    """Time, rate and outcome of a size on each number of cores."""
    alone, compared = runs[0]["wall_s"], []
    for (threads, processes), run in zip(PARTS, runs, strict=True):
        case = f"{what}, {named(threads, processes)}"
        rate = f"{run['wall_s']:.3g} s, {run['events'] / run['wall_s'] / 1e6:.2f} million events/s"
        if run is runs[0]:
            compared.append(Result(f"{case}: run time", Range(low=0.0), run["wall_s"], "s", None, rate))
            continue
        same = float(run["outcome_hash"] == runs[0]["outcome_hash"])
        why = f"{run['outcome_hash']}, as on one thread"
        compared.append(Result(f"{case}: the same outcome", 1.0, same, "", 0.0, why))
        claim = None if quick or len(os.sched_getaffinity(0)) < 2 else 0.0
        speed, why = alone / run["wall_s"], f"Fig. 12; {rate}"
        compared.append(Result(f"{case}: times as fast", Range(low=1.0), speed, "", claim, why))
    return compared


def compare(out: Path, quick: bool) -> list[Result]:
    """Both sizes; one, and fewer ranks, if quick: then nothing is claimed of the time."""
    if shutil.which("mpiexec.mpich") is None:
        raise Absent("skipped: MPICH is not installed (Debian's package mpich)")
    ranks = FEW_RANKS if quick else RANKS
    runs = {
        size: [
            cached(
                out, f"gemini-scaling-{size}-{ranks}-{parts[0]}-{parts[1]}", allreduce, ranks, size, *parts
            )
            for parts in PARTS
        ]
        for size in SIZES[: 1 if quick else None]
    }
    plot(runs, out)
    return [row for size in runs for row in rows(f"{size} on {ranks:,} ranks", runs[size], quick)]


if __name__ == "__main__":
    results.main(compare, __doc__)
