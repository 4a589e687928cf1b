"""Two billion messages of a hydrodynamics code on 1,000 nodes: how long the `flow` model replays them.

The program is examples/hydro.c, a halo exchange of six neighbours in five fields with global reductions
and computing; its messages have 8 KiB, those of PAGOSA 7 kB in the mean. It is recorded here under MPICH on
27 ranks, grown to 10 x 10 x 10 (`hopcast trace scale`), and replayed with its dependencies and computing on
the networks of the paper's Table 1, one rank on each node, on one thread. The time for two billion messages
is extrapolated: what one message takes here (CPU time in user mode, reading the trace included), two billion
times.
Source: Pakin, Yuan, Lang, "Predicting the performance of extreme-scale supercomputer networks" (The Next
Wave 20(2), 2013): 1,000 nodes, two billion messages, 14 TB; 14.5 to 15.5 hours on a desktop of its day.
Expected: the paper's time is undercut, on a newer machine. What hopcast wants to reach, 30 minutes, is
printed beside it, and not claimed.

Run it as `python validation/flow_scale.py [--quick]`: quick has 5 x 5 x 5 ranks and one network.
"""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from kept import kept
from recordings import Absent
from results import Range, Result, main

import hopcast

SOURCE = Path(__file__).resolve().parents[1] / "examples" / "hydro.c"
CELLS, FIELDS, RECORDED = 32, 5, 27
MESSAGES = 2e9
PAPER_H, GOAL_H = 14.5, 0.5
NETWORKS = {
    "fat tree": ("mustang", "linear"),
    "fat tree, slow": ("mustang-slow", "linear"),
    "3-D torus": ("mustang-torus", "linear"),
    "3-D torus, slow": ("mustang-torus-slow", "linear"),
    "3-D torus, shuffled": ("mustang-torus", "random"),
}
"""Table 1: the preset of each, and the placement."""


def recording(out: Path, edge: int, steps: int) -> Path:
    """The trace of `edge`³ ranks: recorded on 27, and grown."""
    for needed in ("mpicc.mpich", "mpiexec.mpich"):
        if shutil.which(needed) is None:
            raise Absent(f"skipped: {needed} is not installed (Debian's package mpich)")
    folder = out / "flow_scale"
    grown = folder / f"hydro-{edge}-{steps}.hct"
    if grown.exists():
        return grown
    folder.mkdir(parents=True, exist_ok=True)
    program, recorded = folder / "hydro", folder / f"recorded-{steps}.hct"
    step("mpicc.mpich", "-O2", "-w", SOURCE, "-o", program, "-lm")
    if not recorded.exists():
        made = folder / f"partial-{steps}.hct"
        shutil.rmtree(made, ignore_errors=True)
        words = ("mpiexec.mpich", "-n", RECORDED, program, CELLS, steps)
        record = ("trace", "record", "-o", made, "--times", "tallied", "--mpicc", "mpicc.mpich", "--")
        step(sys.executable, "-m", "hopcast", *record, *words)
        made.rename(recorded)
    step(
        sys.executable,
        "-m",
        "hopcast",
        "trace",
        "scale",
        recorded,
        "-o",
        grown,
        "--to",
        f"{edge}x{edge}x{edge}",
    )
    return grown


def step(*words: object) -> None:
    """One command; what it says is shown if it fails."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{words[0]} {words[-1]} failed: {done.stderr[-500:]}")


def replayed(trace: str, platform: str, placement: str) -> dict[str, Any]:
    """What a replay under `flow` takes, in a process of its own."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    report = hopcast.run(platform, trace, model="flow", ppn=1, placement=placement, threads=1)
    used = resource.getrusage(resource.RUSAGE_SELF).ru_utime - before
    summary = report.summary
    names = ("messages", "bytes", "makespan_s", "peak_rss_B", "wall_s")
    return {"cpu_s": used} | {name: summary[name] for name in names}


def replay(out: Path, trace: Path, platform: str, placement: str) -> dict[str, Any]:
    """The same, kept for the same build."""
    name = f"flow-scale-{trace.stem}-{platform}-{placement}"
    return kept(out, name, replayed, str(trace), platform, placement)


def hours(run: dict[str, Any]) -> float:
    """Of one core, for two billion such messages."""
    return run["cpu_s"] / run["messages"] * MESSAGES / 3600


def rows(network: str, run: dict[str, Any]) -> list[Result]:
    """The time of two billion messages, beside the paper's and the goal's."""
    rate = run["messages"] / run["cpu_s"]
    why = f"extrapolated from {run['messages']:,} messages at {rate:,.0f} messages/s of CPU time"
    beside = "what hopcast wants to reach: 1.1 million messages/s"
    return [
        Result(f"{network}: two billion messages", Range(high=PAPER_H), hours(run), "h", 0.0, why),
        Result(f"{network}: the same, beside the goal", Range(high=GOAL_H), hours(run), "h", None, beside),
    ]


def compare(out: Path, quick: bool) -> list[Result]:
    """The networks of Table 1, what is sent, memory, and a longer trace."""
    edge, steps = (5, 4) if quick else (10, 100)
    trace = recording(out, edge, steps)
    chosen = dict(list(NETWORKS.items())[: 1 if quick else None])
    runs = {network: replay(out, trace, *where) for network, where in chosen.items()}
    first = next(iter(runs.values()))
    sent = steps * FIELDS * 6 * edge**2 * (edge - 1) * CELLS**2 * 8
    per_message = first["bytes"] / first["messages"]
    memory = max(run["peak_rss_B"] for run in runs.values()) / 1e9
    compared = [
        Result(
            "bytes sent", Range(sent, sent * 1.01), first["bytes"], "B", 0.0, "halo, and 8 bytes to reduce"
        ),
        Result("mean of a message", 7000, per_message, "B", None, "PAGOSA: 14 TB in two billion"),
        Result("memory", Range(high=2.0), memory, "GB", 0.0, "hopcast's own bound; Python included"),
    ]
    for network, run in runs.items():
        compared += rows(network, run)
    if not quick:
        short = replay(out, recording(out, edge, steps // 5), *NETWORKS["fat tree"])
        why = f"{short['messages']:,} messages instead of {first['messages']:,}: what a start costs"
        compared.append(Result("fat tree: a fifth of the trace", hours(first), hours(short), "h", None, why))
    return compared


if __name__ == "__main__":
    main(compare, __doc__)
