"""Coverage: the share of measured repeats that lie in the interval that is predicted to hold 90 % of them.

Twelve cases of the testbed (testbed_cases.py: four programs on three networks) run 30 times each under Open
MPI, in six rounds. Each round begins with a calibration of two hosts of the star, with sizes of its own, so
that both see the machine at the same times. `hopcast calibrate fit --joined --noise` makes a platform of all
rounds, and each case is simulated with 20 seeds and as many draws from the errors of the fit: the interval
of what these print is that of `hopcast run --replicates 20`. As there, the error of the model itself is drawn
from what predictions of other programs have missed (hopcast.study.model_error): of the cases of the three
other programs on all networks, never of the same program. Without it an interval holds noise and errors of
the fit alone; its share is printed, too.
With `--dahu` (all N) or `--dahu=N,N`, the same for HPL on Dahu: eight real runs for each N from 50,000 to
250,000 (hpl_ladder.py), and eight simulated ones, whose interval holds 78 %, with other seeds and days of the
processors. The error of the model is that of the other N, of these runs or of those of hpl_ladder.py. A day
multiplies the rate of each processor by a normal factor, of the deviation between days that the published
daily calibrations have (0.77 %, generative_cluster.py). That takes some sixty hours of one core; runs that
are made are kept.

Goal: 85 to 95 % of all repeats of the testbed. A busy machine makes the repeats vary more than the
calibration saw; the load is printed.

Run it as `python validation/coverage.py [--quick]`: quick takes one network and 8 repeats.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import hpl
import hpl_ladder
import numpy as np
import testbed_cases
from recordings import Absent, data
from results import Kind, Range, Result, main
from run_cache import cached

from hopcast.study import fit_errors, model_error
from hopcast.study.replicates import interval

KIND = Kind.OWN
NO_NULL = "intervals of predictions, whose middles testbed_cases.py compares"

REPEATS, ROUNDS, REPLICATES = 30, 6, 20
GOAL = Range(85.0, 95.0)
DAY = 0.0077
"""Standard deviation of a processor's rate from day to day, over its mean."""
DAHU_RUNS = 8
dahu_orders: tuple[int, ...] | None = ()
"""Orders whose runs on Dahu are asked for; None for all."""


def cases(quick: bool) -> list[testbed_cases.Case]:
    """The smaller size of each program on each network."""
    smaller = {program: sizes[0][0] for program, sizes in testbed_cases.PROGRAMS.items()}
    networks = ("star",) if quick else testbed_cases.TOPOLOGIES
    return [
        case
        for case in testbed_cases.cases(False)
        if case.network in networks and case.size == smaller.get(case.program)
    ]


def measured(out: Path, quick: bool) -> dict:
    """Times of each case, the platform with noise, and the load of the machine meanwhile."""
    file = out / "kept" / f"coverage-{'quick' if quick else 'full'}.json"
    if not file.exists():
        rounds, repeats = (2, 4) if quick else (ROUNDS, REPEATS // ROUNDS)
        folder = testbed_cases.built("openmpi", out)
        own = fresh(out / ("calibrated-rounds-quick" if quick else "calibrated-rounds"))
        calibrate("star", "measure", "--program", "thresholds", "-o", own / "thresholds")
        found: dict = {str(case): {"took": []} for case in cases(quick)} | {"load": []}
        for number in range(rounds):
            calibrate_round(own, number, quick)
            for network in dict.fromkeys(case.network for case in cases(quick)):
                of = [case for case in cases(quick) if case.network == network]
                for name, run in testbed_cases.runs(folder, of, repeats).items():
                    found[name]["took"] += run["took"]
            found["load"].append(os.getloadavg()[0])
        found["platform"] = fitted(own)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(found))
    return json.loads(file.read_text())


def fresh(folder: Path) -> Path:
    """An empty folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder.resolve()


def calibrate(network: str, *words: object) -> None:
    """A step of `hopcast calibrate` between two hosts of a testbed."""
    command = [sys.executable, "-m", "hopcast", "calibrate", *words, "--", "mpiexec.openmpi", "-n", 2]
    testbed_cases.on_testbed(network, 2, *command)


def calibrate_round(folder: Path, number: int, quick: bool) -> None:
    """Measurements of one round, of sizes that no other round has."""
    sizes, repetitions = (40, 3) if quick else (50, 5)
    design = folder / f"design-{number}.csv"
    words = ["design", "-o", design, "--sizes", sizes, "--repetitions", repetitions, "--to", "200kB"]
    hopcast_calibrate(*words, "--seed", number + 1)
    calibrate("star", "measure", "--design", design, "-o", folder / f"round-{number}")


def fitted(folder: Path) -> str:
    """The platform that all rounds give, with the modes of single calls."""
    with (folder / "thresholds" / "thresholds.csv").open(newline="") as opened:
        limits = {row["limit"]: float(row["bytes"]) for row in csv.DictReader(opened)}
    place = folder / "noisy.toml"
    words = ["fit", *sorted(folder.glob("round-*")), "--joined", "--noise", "-o", place]
    words += ["--flop-rate", "10 Gflop/s", "--link-bandwidth", testbed_cases.LINK]
    words += ["--eager-limit", f"{limits['asynchronous']:.0f}B"]
    words += ["--detached-limit", f"{max(limits['asynchronous'], limits['detached']):.0f}B"]
    hopcast_calibrate(*words, "--processes", 1, "--hosts", testbed_cases.HOSTS)
    return place.read_text()


def hopcast_calibrate(*words: object) -> None:
    """A step of `hopcast calibrate` that measures nothing."""
    command = [sys.executable, "-m", "hopcast", "calibrate", *words]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode:
        raise Absent(f"skipped: calibrate {words[0]}: {done.stderr.strip().splitlines()[-1]}")


def simulated(case: testbed_cases.Case, text: str, out: Path) -> list[float]:
    """Times that the program prints, of all replicates [s]."""
    folder = testbed_cases.built("hopcast", out)
    platform = out / f"coverage-{case.network}.toml"
    platform.write_text(testbed_cases.on_network(text, case.network, out))
    errors = fit_errors.read(text)
    times = []
    for number in range(REPLICATES):
        drawn = errors.drawn(np.random.default_rng([1, number]))
        words = ["run", platform, "-n", testbed_cases.HOSTS, "--ppn", 1, "--quiet", "--seed", number + 1]
        for key, value in drawn.items():
            words += ["--set", f"{key}={value}"]
        words += [folder / case.program, *case.words, 1]
        command = [sys.executable, "-m", "hopcast", *words]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{case}: {done.stderr}")
        times += testbed_cases.took(done.stdout)
    return times


def within(values: list[float], ends: tuple[float, float]) -> float:
    """Share of values in an interval [%]."""
    return 100 * float(np.mean([ends[0] <= value <= ends[1] for value in values]))


def of_testbed(out: Path, quick: bool) -> list[Result]:
    """Coverage of each case, and of all repeats."""
    real = measured(out, quick)
    made = {case: simulated(case, real["platform"], out) for case in cases(quick)}
    took = {case: real[str(case)]["took"] for case in made}
    errors = {case: float(np.median(made[case]) / np.median(took[case])) - 1 for case in made}
    rows, held, without = [], [], []
    for case, times in took.items():
        others = model_error.of(error for other, error in errors.items() if other.program != case.program)
        low, _, high = interval(with_model_error(made[case], others))
        held.append(within(times, (low, high)))
        without.append(within(times, interval(made[case])[::2]))
        ends = np.quantile(times, (0.05, 0.95))
        why = (
            f"{1e3 * low:.4g} to {1e3 * high:.4g} ms predicted, {1e3 * ends[0]:.4g} to {1e3 * ends[1]:.4g} "
            f"ms measured, {len(times)} repeats; error {100 * errors[case]:+.1f} %, other programs "
            f"± {100 * others.rms:.1f} %; {without[-1]:.0f} % without that"
        )
        rows.append(Result(f"{case}: repeats in the interval", GOAL, held[-1], "%", None, why))
    why = (
        f"{sum(map(len, took.values()))} repeats; {np.mean(without):.0f} % without errors of the model; load "
        f"of this machine {', '.join(f'{load:.1f}' for load in real['load'])}"
    )
    rows.append(Result("all repeats in their intervals", GOAL, float(np.mean(held)), "%", 0.0, why))
    return rows


def with_model_error(values: list[float], errors: model_error.ModelError) -> list[float]:
    """Values of replicates, each with an error of the model drawn for it."""
    return [value * errors.factor(np.random.default_rng([2, number])) for number, value in enumerate(values)]


def real_runs() -> dict[int, list[float]]:
    """Performance of the real runs on Dahu by N [Gflop/s]; two outliers are left out as in hpl_ladder.py."""
    file = data() / "calibration" / "thesis" / "validation_dahu_matrix_size_upto_250k.csv"
    if not file.exists():
        raise Absent(f"skipped: no {file.name} in {file.parent} (set HOPCAST_DATA)")
    found = defaultdict(list)
    with file.open() as opened:
        for row in csv.DictReader(opened):
            order, gflops = int(row["matrix_size"]), float(row["gflops"])
            is_outlier = order == 175_000 and gflops >= hpl_ladder.OUTLIER_GFLOPS
            if row["mode"] == "reality" and not is_outlier:
                found[order].append(gflops)
    return dict(found)


def on_a_day(table: str, day: int) -> str:
    """Table of processors in which each is as fast as on another day."""
    rows = list(csv.reader(line for line in table.splitlines() if not line.startswith("#")))
    generator = np.random.default_rng([7, day])
    places = [number for number, name in enumerate(rows[0]) if name not in ("host", "socket")]
    for row in rows[1:]:
        factor = max(0.5, 1 + DAY * float(generator.standard_normal()))
        for place in places:
            row[place] = repr(factor * float(row[place]))
    return "\n".join(",".join(row) for row in rows) + "\n"


def dahu_run(order: int, side: int, number: int, out: str) -> dict:
    """Performance of one simulated run on Dahu, on a day of its own."""
    folder = Path(out).resolve() / "coverage" / f"{order}-{number}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    table = testbed_cases.PRESET.parent / "dahu-dgemm.csv"
    nodes = folder.parent / f"nodes-{number}.csv"
    nodes.write_text(on_a_day(table.read_text(), number))
    flags = (*hpl.MODELLED, "--seed", str(number + 1), "--set", f"compute.kernels.0.table={nodes}")
    return {"gflops": hpl.run(order, side, side, folder, *flags).gflops}


def ladder_errors() -> dict[int, float]:
    """Errors of HPL by N beside the machine, of the single runs that hpl_ladder.py has in the tables."""
    found = {}
    for row in json.loads(Path(__file__).with_name("results.json").read_text()).get("hpl_ladder", []):
        named = re.fullmatch(r"HPL, N = ([\d,]+), D1_het: the machine, mean of its runs", row["what"])
        if named:
            found[int(named[1].replace(",", ""))] = row["ours"] / row["published"] - 1
    return found


def of_dahu(out: Path, runs: dict[int, list[float]], side: int = 32) -> list[Result]:
    """Coverage of the real runs of each N."""
    made = {
        order: [
            cached(out, f"coverage-{order}-{number}", dahu_run, order, side, number, str(out.resolve()))[
                "gflops"
            ]
            for number in range(DAHU_RUNS)
        ]
        for order in sorted(runs)
    }
    errors = ladder_errors()
    errors |= {order: float(np.median(made[order]) / np.median(runs[order])) - 1 for order in made}
    rows, held = [], []
    for order, values in made.items():
        real, others = runs[order], [error for other, error in errors.items() if other != order]
        low, _, high = interval(with_model_error(values, model_error.of(others)) if others else values)
        share = within(real, (low, high))
        held += [share] * len(real)
        why = f"{low:.5g} to {high:.5g} Gflop/s predicted, {min(real):.5g} to {max(real):.5g} measured"
        if others:
            alone = within(real, interval(values)[::2])
            why += f"; {alone:.0f} % without errors of the model, which are those of the other N"
        rows.append(Result(f"HPL, N = {order:,}: runs in the interval", GOAL, share, "%", None, why))
    rows.append(Result("all runs on Dahu in their intervals", GOAL, float(np.mean(held)), "%", None, ""))
    return rows


def compare(out: Path, quick: bool) -> list[Result]:
    """Coverage on the testbed, and on Dahu where that is asked for."""
    try:
        testbed_cases.testbed.check()
    except testbed_cases.testbed.CannotRun as reason:
        raise Absent(f"skipped: {reason}") from reason
    if shutil.which("mpicc.openmpi") is None:
        raise Absent("skipped: Open MPI is not installed (Debian's package libopenmpi-dev)")
    out.mkdir(parents=True, exist_ok=True)
    rows = of_testbed(out, quick)
    runs = real_runs() if dahu_orders is None else {order: real_runs()[order] for order in dahu_orders}
    return rows + of_dahu(out, runs) if runs else rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--dahu", nargs="?", const="all", default="")
    wanted, sys.argv[1:] = parser.parse_known_args()
    dahu_orders = (
        None if wanted.dahu == "all" else tuple(int(order) for order in wanted.dahu.split(",") if order)
    )
    main(compare, __doc__)
