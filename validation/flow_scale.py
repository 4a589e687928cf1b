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
from pathlib import Path
from typing import Any

import building
from hydro_networks import EDGE, command
from recordings import ROOT, Absent
from results import Kind, Range, Result, main
from run_cache import cached
from table_1 import NETWORKS

import hopcast

KIND = Kind.OWN
NO_NULL = "measures the simulation"

FIELDS, RECORDED = 5, 27
MESSAGES = 2e9
PAPER_H, GOAL_H = 14.5, 0.5


def recording(out: Path, side: int, steps: int) -> Path:
    """The trace of `side`³ ranks: recorded on 27, and grown. Times are tallied, as of a run of hours."""
    compiler, launcher = building.MPICH["cc"], shutil.which("mpiexec.mpich")
    if launcher is None or shutil.which(compiler) is None:
        raise Absent("skipped: MPICH is not installed (Debian's packages mpich and libmpich-dev)")
    folder = out.resolve() / "flow_scale"
    grown = folder / f"hydro-{side}-{steps}.hct"
    if grown.exists():
        return grown
    folder.mkdir(parents=True, exist_ok=True)
    program, recorded = folder / "hydro", folder / "recorded.hct"
    source = ROOT / "examples" / "hydro.c"
    building.run([compiler, "-O2", "-w", source, "-o", program, "-lm"], folder, "hydro")
    shutil.rmtree(recorded, ignore_errors=True)
    words = [launcher, "-n", RECORDED, program, EDGE, steps]
    kind = ["--times", "tallied", "--clock", "cpu", "--mpicc", compiler]
    command("trace", "record", "-o", recorded, *kind, "--", *words)
    command("trace", "scale", recorded, "--to", f"{side}x{side}x{side}", "-o", grown)
    return grown


def replayed(trace: str, platform: str, placement: str, model: str) -> dict[str, Any]:
    """Cost of a replay, in a process of its own."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    report = hopcast.run(platform, trace, model=model, ppn=1, placement=placement, threads=1)
    used = resource.getrusage(resource.RUSAGE_SELF).ru_utime - before
    summary = report.summary
    names = ("messages", "bytes", "makespan_s", "peak_rss_B", "wall_s")
    return {"cpu_s": used} | {name: summary[name] for name in names}


def replay(out: Path, trace: Path, platform: str, placement: str, model: str = "flow") -> dict[str, Any]:
    """The same, kept for the same build."""
    name = f"{model}-scale-{trace.stem}-{platform}-{placement}"
    return cached(out, name, replayed, str(trace), platform, placement, model)


def hours(run: dict[str, Any]) -> float:
    """Hours of one core for two billion such messages."""
    return run["cpu_s"] / run["messages"] * MESSAGES / 3600


def rows(network: str, run: dict[str, Any], quick: bool) -> list[Result]:
    """The time of two billion messages, beside the paper's and the goal's; of a few, nothing is claimed."""
    rate = run["messages"] / run["cpu_s"]
    why = f"extrapolated from {run['messages']:,} messages at {rate:,.0f} messages/s of CPU time"
    beside = "what hopcast wants to reach: 1.1 million messages/s"
    return [
        Result(
            f"{network}: two billion messages",
            Range(high=PAPER_H),
            hours(run),
            "h",
            None if quick else 0.0,
            why,
        ),
        Result(f"{network}: the same, beside the goal", Range(high=GOAL_H), hours(run), "h", None, beside),
    ]


def compare(out: Path, quick: bool) -> list[Result]:
    """The networks of Table 1, what is sent, memory, and a longer trace."""
    side, steps = (5, 4) if quick else (10, 100)
    trace = recording(out, side, steps)
    chosen = dict(list(NETWORKS.items())[: 1 if quick else None])
    runs = {network: replay(out, trace, *where) for network, where in chosen.items()}
    first = next(iter(runs.values()))
    sent = steps * FIELDS * 6 * side**2 * (side - 1) * EDGE**2 * 8
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
        compared += rows(network, run, quick)
    network, where = next(iter(chosen.items()))
    run = replay(out, trace, *where, "loggp")
    rate, why = run["messages"] / run["cpu_s"], "what hopcast wants to reach"
    compared.append(
        Result(f"{network}, loggp: messages a second", Range(low=2.0), rate / 1e6, "million", None, why)
    )
    if not quick:
        short = replay(out, recording(out, side, steps // 5), *NETWORKS["fat tree"])
        why = f"{short['messages']:,} messages instead of {first['messages']:,}: what a start costs"
        compared.append(Result("fat tree: a fifth of the trace", hours(first), hours(short), "h", None, why))
    return compared


if __name__ == "__main__":
    main(compare, __doc__)
