"""The flow paper's experiment: a hydrodynamics code on 1,000 nodes, recorded, and replayed on five networks.

Compared:
1. Total time on the networks of Table 1, with dependencies and computing (Fig. 7).
2. The same messages all sent at time zero (`none`), as simplistic simulators have it (Fig. 8): when the
   last one arrives, and how long one takes in the mean.
The code stands for the paper's PAGOSA, which cannot be had: examples/hydro.c, whose ranks stand in three
dimensions, send each field of their surface to six neighbours, and agree on the step, each step; a message
has 8 KB (PAGOSA's: 7 KB). It is recorded here on 4 x 4 x 4 ranks under MPICH, in the processor's time, since
there are more ranks than cores, and grown to 10 x 10 x 10, one rank a node. Links split evenly
(`equal_share`), as in the paper.
Source: Pakin, Yuan, Lang, "Predicting the performance of extreme-scale supercomputer networks" (The Next
Wave 20(2), 2013), Table 1, Figs. 7 and 8.
Expected: (1) Networks differ by a fraction of a percent. PAGOSA computes 2.7 ms for each message that a rank
sends, hydro 0.1 to 0.2 ms, so that its communication is a larger share. (2) A quarter of the bandwidth takes
four times as long. What the torus takes depends on where ranks lie; the paper does not say how PAGOSA's did.

Run it as `python validation/hydro_networks.py [--quick]`; quick records 27 ranks and 2 steps instead of 64
and 10.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import building
import pictures
import results
from recordings import ROOT, Absent
from results import Range, Result

import hopcast

NETWORKS = {
    "fat tree": ("mustang", "linear"),
    "fat tree, slow": ("mustang-slow", "linear"),
    "3-D torus": ("mustang-torus", "linear"),
    "3-D torus, slow": ("mustang-torus-slow", "linear"),
    "3-D torus, shuffled": ("mustang-torus", "random"),
}
EDGE = 32
"""Of the cube of a rank [cells]: a field of a surface has 8 KiB."""
SHARING = {"network.flow.sharing": "equal_share"}


def command(*words: object) -> None:
    """Runs hopcast."""
    done = subprocess.run(
        [sys.executable, "-m", "hopcast", *map(str, words)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"hopcast {words[0]} {words[1]} failed: {done.stdout[-500:]}{done.stderr[-500:]}")


def recording(out: Path, side: int, steps: int) -> Path:
    """The run of hydro on `side`³ ranks, as one on 1,000."""
    compiler = building.MPICH["cc"]
    launcher = shutil.which("mpiexec.mpich")
    if launcher is None or shutil.which(compiler) is None:
        raise Absent("skipped: MPICH is not installed (Debian's packages mpich and libmpich-dev)")
    folder = out / "hydro"
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "hydro"
    source = ROOT / "examples" / "hydro.c"
    building.run([compiler, "-O2", source, "-o", program, "-lm"], folder, "hydro")
    recorded, grown = folder / f"{side}.hct", folder / "1000.hct"
    for path in (recorded, grown):
        shutil.rmtree(path, ignore_errors=True)
    words = [launcher, "-n", side**3, program, EDGE, steps]
    command("trace", "record", "-o", recorded, "--mpicc", compiler, "--clock", "cpu", "--", *words)
    command("trace", "scale", recorded, "--to", "10x10x10", "-o", grown)
    return grown


def replayed(trace: Path, mode: str) -> dict[str, object]:
    """The report by network."""
    return {
        name: hopcast.run(platform, trace, placement=placement, ppn=1, model="flow", mode=mode, set=SHARING)
        for name, (platform, placement) in NETWORKS.items()
    }


def plot(times: dict[str, dict[str, float]], out: Path) -> None:
    """Figs. 7 and 8."""
    figure, panels = pictures.pyplot().subplots(1, len(times), figsize=(12, 4.5))
    for axes, (title, row) in zip(panels, times.items(), strict=True):
        axes.bar(list(row), list(row.values()))
        axes.set(ylabel="time [s]", title=title)
        axes.tick_params(axis="x", rotation=25)
    pictures.save(figure, out, "hydro_networks")


def compare(out: Path, quick: bool) -> list[Result]:
    """Both figures."""
    trace = recording(out.resolve(), *((3, 2) if quick else (4, 10)))
    reports = {mode: replayed(trace, mode) for mode in ("dependencies", "none")}
    times = {mode: {name: report.makespan_s for name, report in row.items()} for mode, row in reports.items()}
    total, at_once = times.values()
    plot({"with dependencies (Fig. 7)": total, "all messages at time zero (Fig. 8)": at_once}, out)
    rows = []
    for name in NETWORKS:
        cells = [f"{row[name]:.6g}" for row in times.values()]
        ratios = [f"{row[name] / row['fat tree']:.4g}" for row in times.values()]
        rows.append([name, cells[0], ratios[0], cells[1], ratios[1]])
    head = ["network", "total [s]", "over fat tree", "all at zero [s]", "over fat tree"]
    results.show("hydro on 1,000 nodes of the networks of Table 1", head, rows)
    why = "Fig. 7: 'a tiny fraction of a percent'; 1 % claimed here"
    compared = [
        Result(
            f"{name} over fat tree, total time",
            Range(0.99, 1.01),
            total[name] / total["fat tree"],
            "",
            0.0,
            why,
        )
        for name in NETWORKS
        if name != "fat tree"
    ]
    why = "Fig. 8: 'quartering the bandwidth exactly quadruples the communication time'"
    for name in ("fat tree", "3-D torus"):
        ratio = at_once[f"{name}, slow"] / at_once[name]
        compared.append(Result(f"{name}, slow over fast, all at time zero", 4.0, ratio, "", 0.02, why))
    ratio = at_once["3-D torus"] / at_once["fat tree"]
    why = "Fig. 8: 'requires 70% more time'; of PAGOSA, placed in a way that is not told"
    compared.append(Result("3-D torus over fat tree, all at time zero", 1.7, ratio, "", None, why))
    return compared


if __name__ == "__main__":
    results.main(compare, __doc__)
