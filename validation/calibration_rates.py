"""The max-rate laws beside measurements: k = 1 to all processes of a node of Summit and Lassen.

Compared: the laws postal (fitted to one pair, to all pairs at once, to 1 to all), max-rate (three
parameters), extended (four) and modified, fitted to odd k, with the times measured at even k. Regimes are
learned from odd k.
Source: Bienz, BenchPress (github.com/bienz2/BenchPress, 2022): maxrate and node_pong outputs of 2020 and
2021, one way, bytes; medians of the runs of each machine. Laws: Gropp, Olson, Samfass, EuroMPI 2016, whose
figures show the same errors. Of k to 4, the odd ones are two, which the extended law is not fitted to.
Expected: the law that is chosen, by criterion and by what it predicts at odd k held back, within 5 % in the
median over all sizes and k; postal misses by more the more processes there are ("the same performance
independent of the number of communicating processes").
"""

from __future__ import annotations

import re
import tarfile
from pathlib import Path

import numpy as np
import results
from recordings import Absent, data
from results import Kind, Range, Result

from hopcast.calibrate import pair_times, rate_report
from hopcast.calibrate.pair_times import PairTimes

KIND = Kind.FIT
NO_NULL = "fits measurements; the postal laws, which know no sharing, are the null model"

MACHINES = {
    "Lassen, Spectrum MPI": r"lassen/spectrum/(?:single_rs/09_15_20/)?maxrate\.\d+\.out",
    "Lassen, MVAPICH2-GDR": r"lassen/mvapich/maxrate\.\d+\.out",
    "Summit, Spectrum MPI": r"summit/maxrate\.\d+\.out",
    "Lassen, Spectrum MPI, node-pong": r"lassen/spectrum/(?:single_rs/09_15_20/)?node_pong\.\d+\.out",
    "Lassen, MVAPICH2-GDR, node-pong": r"lassen/mvapich/node_pong\.\d+\.out",
    "Summit, Spectrum MPI, node-pong": r"summit/node_pong\.\d+\.out",
}
"""Files of each machine. In a node-pong, the pairs share the bytes of a message."""
LAWS = ("max-rate", "extended", "modified")


def compare(out: Path, quick: bool) -> list[Result]:
    """Every machine, in host and GPU memory; `quick` takes one of each."""
    archive = data() / "microbenchmarks" / "summit-lassen.tar.xz"
    if not archive.exists():
        raise Absent(f"skipped: no {archive.name} in {archive.parent} (set HOPCAST_DATA)")
    rows = []
    for machine, measured in read(archive).items():
        if not quick or machine.endswith("Summit, Spectrum MPI, CPU") or "MVAPICH2-GDR, GPU" in machine:
            rows += of_machine(machine, measured)
    return rows


def read(archive: Path) -> dict[str, PairTimes]:
    """Medians of all runs of a machine, for host memory (CPU) and GPU memory."""
    runs: dict[str, list[PairTimes]] = {}
    with tarfile.open(archive) as files:
        for member in sorted(files, key=lambda member: member.name):
            for machine, pattern in MACHINES.items():
                if re.fullmatch(rf"\./benchmarks/{pattern}", member.name):
                    text = files.extractfile(member).read().decode(errors="replace")
                    for part in pair_times.parse(text, Path(member.name).name):
                        memory = part.name.rpartition(", ")[2]
                        runs.setdefault(f"{machine}, {memory}", []).append(part)
    return {name: pair_times.median(parts) for name, parts in sorted(runs.items())}


def of_machine(machine: str, measured: PairTimes) -> list[Result]:
    """Median errors at even k of fits to odd k: each law over all regimes, and the best of each regime."""
    odd = measured.pairs % 2 == 1
    used, rest = measured.where(odd), measured.where(~odd)
    fits = rate_report.fit_regimes(used, None, ("postal", *LAWS))
    errors: dict[str, list[np.ndarray]] = {}
    regimes = []
    for fit in fits:
        top = fit.up_to or np.inf
        part = rest.where((rest.sizes > fit.above) & (rest.sizes <= top))
        mine = used.where((used.sizes > fit.above) & (used.sizes <= top))
        predicted = {name: law.at(part.pairs, part.sizes) for name, law in fit.laws.items() if name in LAWS}
        predicted["chosen law"] = fit.laws[fit.best].at(part.pairs, part.sizes)
        for name, law in rate_report.postal_laws(mine).items():
            predicted[name] = law.at(part.pairs, part.sizes)
        for name, times in predicted.items():
            errors.setdefault(name, []).append(np.abs(times / part.seconds - 1))
        end = f"{fit.above:,.0f} to {fit.up_to:,.0f} B" if fit.up_to else f"above {fit.above:,.0f} B"
        best = 100 * float(np.median(errors["chosen law"][-1]))
        alone = predicted.get(rate_report.POSTAL[0])
        why = "one pair has no such sizes"
        if alone is not None:
            why = f"postal of one pair: {100 * float(np.median(np.abs(alone / part.seconds - 1))):.3g} %"
        what = f"{machine}, {end}, {fit.best}: median error at even k"
        regimes.append(Result(what, Range(high=5), best, "%", None, why))
    rows = []
    for name, parts in errors.items():
        median = 100 * float(np.median(np.concatenate(parts)))
        claimed = 0 if name == "chosen law" else None
        pairs = f"k to {measured.pairs.max():.0f}, {len(fits)} regimes"
        rows.append(
            Result(f"{machine}, {name}: median error at even k", Range(high=5), median, "%", claimed, pairs)
        )
    return [*rows, *regimes]


if __name__ == "__main__":
    results.main(compare, __doc__)
