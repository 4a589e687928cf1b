"""Two builds side by side: the cases of speed.py, or the cells of matrix.py, in turns with another checkout.

Run it as `python bench/beside.py OTHER [NAME …] [--rounds N] [--times N] [--quick] [--limit S]`, or as
`python bench/beside.py OTHER --matrix [TEXT] …` for the cells whose model and name contain TEXT. OTHER is a
checkout that was built by `make fast`, as this one. It prints the processor time of each build, user and
system, in its quickest round, which other work on the machine has disturbed least, and messages per second;
for the matrix also the geometric mean and the worst cell of each model and build. A run that takes longer
than the limit is ended: its rate is then less than what is printed, and counts as that.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import signal
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import matrix
from speed import CASES, add_options

HERE = Path(__file__).resolve().parents[1]
BUILDS = ("other", "here")


@dataclass(frozen=True)
class Case:
    """One case of both builds."""

    name: str
    model: str
    arguments: str
    """Arguments of `hopcast run`."""


@dataclass(frozen=True)
class Taken:
    """One run of a build."""

    cpu_s: float
    messages: int | None
    """Messages that it simulated; None if it was ended at the limit."""


REFUSED = 2
"""Exit code of a `hopcast run` that does not know what it is asked for."""


def run(checkout: Path, arguments: str, limit_s: int) -> Taken | None:
    """One `hopcast run` of a checkout; None if the other build does not know what is asked for."""
    command = [sys.executable, "-m", "hopcast", "run", *arguments.split(), "--json"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "PYTHONPATH": str(checkout / "python")}
    limited = ["prlimit", f"--cpu={limit_s}", *command]
    done = subprocess.run(limited, env=environment, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    taken = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if done.returncode == REFUSED and checkout != HERE:
        return None
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return Taken(taken, None)
    if done.returncode != 0:
        raise SystemExit(f"{checkout}: hopcast run {arguments} failed:\n{done.stderr}")
    return Taken(taken, json.loads(done.stdout)["messages"])


def rates(case: Case, other: Path, rounds: int, limit_s: int) -> list[float] | None:
    """Messages per second of each build in a case, which it prints; None if there is nothing to compare."""
    runs = []
    for _ in range(rounds):
        if (first := run(other, case.arguments, limit_s)) is None:
            print(f"{case.name:60} not known to the other build", flush=True)
            return None
        second = run(HERE, case.arguments, limit_s)
        assert second is not None, "this build fails instead"
        runs.append((first, second))
    best = [min(builds, key=lambda taken: taken.cpu_s) for builds in zip(*runs, strict=True)]
    sent = max((taken.messages for taken in best if taken.messages is not None), default=None)
    if sent is None:
        print(f"{case.name:60} both take more than {limit_s} s", flush=True)
        return None
    found = [sent / taken.cpu_s for taken in best]
    times = " ".join(f"{'>' if taken.messages is None else ''}{taken.cpu_s:.2f}".rjust(9) for taken in best)
    change = f"{100 * (best[1].cpu_s / best[0].cpu_s - 1):+7.1f}%"
    print(f"{case.name:60} {times} {change} {found[0]:11,.0f} {found[1]:11,.0f}", flush=True)
    return found


def headlines(measured: list[tuple[Case, list[float]]]) -> list[str]:
    """For each model and build: geometric mean of the rates, and the worst cell."""
    models = defaultdict(list)
    for case, found in measured:
        models[case.model].append((case, found))
    lines = []
    for model, own in models.items():
        for number, build in enumerate(BUILDS):
            mean = math.exp(sum(math.log(found[number]) for _, found in own) / len(own))
            worst, least = min(own, key=lambda one: one[1][number])
            lines.append(
                f"{model}, {build}: {mean:,.0f} messages/s (geometric mean, cells: {len(own)}), "
                f"worst {least[number]:,.0f} ({worst.name})"
            )
    return lines


def chosen(options: argparse.Namespace) -> list[Case]:
    """The cases that are asked for."""
    if options.matrix is not None:
        cells = matrix.cells(tuple(matrix.MODELS), options.quick, options.matrix)
        return [Case(f"{cell.model}: {cell.name}", cell.model, cell.arguments) for cell in cells]
    cases = []
    for name in options.name or CASES:
        _, arguments, iterations, quick = CASES[name]
        count = options.times * (quick if options.quick else iterations)
        cases.append(Case(name, name.split("-")[0], f"{arguments} --iterations {count}"))
    return cases


def main() -> None:
    """Runs the chosen cases and prints one line for each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("other", type=Path, help="the other checkout, built")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each build [3]")
    parser.add_argument("--times", type=int, default=1, help="so many times the iterations [1]")
    parser.add_argument("--matrix", nargs="?", const="", metavar="TEXT", help="cells of matrix.py instead")
    parser.add_argument("--limit", type=int, default=600, metavar="S", help="most CPU time of a run [600 s]")
    add_options(parser)
    options = parser.parse_args()
    if not (cases := chosen(options)):
        raise SystemExit(f"no cell has '{options.matrix}' in its name")
    print(f"{'case':60} {'other, s':>9} {'here, s':>9} {'change':>8} {'other, 1/s':>11} {'here, 1/s':>11}")
    found = [(case, rates(case, options.other, options.rounds, options.limit)) for case in cases]
    if options.matrix is not None:
        print(*headlines([(case, both) for case, both in found if both is not None]), sep="\n")


if __name__ == "__main__":
    main()
