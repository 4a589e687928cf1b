"""HPL on Dahu from N = 50,000 to 250,000, model by model, beside eight real runs and published simulations.

Each step of the ladder adds a part of the model: A1 has a linear dgemm, all processors and messages alike;
A1_het has each processor by itself; C1_het polynomials for dgemm; D1_het noise of the kernels; D2_het noise
of messages too: the preset `dahu`. 1,024 ranks in a grid of 32 x 32, NB = 128.
A second ladder does two things as the published program does. Messages take what SMPI makes of the published
platform. All processes find the same largest value of a column, so that HPL takes every pivot from the first
process row, whose exchange of rows delays all others (hpl_equal_pivots.c); of a real matrix, pivots lie
anywhere, as in the first ladder.
D1_het runs once more with messages as they were measured while all other processes polled. HPL's processes
compute and poll in turns: what the machine takes lies between the two.
Source: Cornebize, thesis, Université Grenoble Alpes 2021: validation_dahu_matrix_size_upto_250k.csv. Two
real runs at N = 175,000 above 22,000 Gflop/s are left out, as there.
Expected: each step within 3 points of the published one, in percent of the real mean; D1_het within 3 % of
the real mean at every N.

Run it as `python validation/hpl_ladder.py [--quick]`: quick has N = 50,000 alone. All of it takes some twelve
hours of one core; runs that are made are kept.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from dataclasses import asdict
from pathlib import Path

import hpl
import hpl_platforms
import numpy as np
from recordings import Absent, data
from results import Kind, Result, main
from run_cache import cached

KIND = Kind.MEASURED
NO_NULL = "steps of one prediction beside each other; hpl.py has the infinite network"

VARIANTS = ("A1", "A1_het", "C1_het", "D1_het", "D2_het")
WHOLE = ("D1_het", "D2_het")
"""Variants that predict the machine; the others are steps on the way."""
PLATFORM = "notebooks/platforms/dahu-07480723.xml"
"""Platform of the published simulations, below the calibrations."""
BUSY = "D1_het"
"""Variant that runs while others poll, too."""
ORDERS = tuple(range(50_000, 250_001, 25_000))
SIDE = 32
OUTLIER_GFLOPS = 22_000
STEP = 0.03
"""Distance between a published step and ours, as a share of the real mean."""

Published = dict[tuple[str, int], float]
"""Mean performance [Gflop/s] by variant, or "reality", and order of the matrix."""


def published() -> Published:
    """Real runs and published simulations."""
    file = data() / "calibration" / "thesis" / "validation_dahu_matrix_size_upto_250k.csv"
    if not file.exists():
        raise Absent(f"skipped: no {file.name} in {file.parent} (set HOPCAST_DATA)")
    values = defaultdict(list)
    with file.open() as opened:
        for row in csv.DictReader(opened):
            order, gflops = int(row["matrix_size"]), float(row["gflops"])
            if (row["mode"], order) != ("reality", 175_000) or gflops < OUTLIER_GFLOPS:
                values[row["model"] or row["mode"], order].append(gflops)
    return {key: float(np.mean(of_key)) for key, of_key in values.items()}


def ladder(order: int, out: Path, as_published: bool) -> dict[str, float]:
    """Performance [Gflop/s] of a matrix of that order by variant."""
    name = "hpl-ladder-published" if as_published else "hpl-ladder"
    where = str(out.resolve())
    runs = {
        variant: cached(out, f"{name}-{variant}-{order}", simulated, variant, order, where, as_published)
        for variant in VARIANTS
    }
    return {variant: run["gflops"] for variant, run in runs.items()}


def simulated(variant: str, order: int, out: str, as_published: bool) -> dict:
    """Facts that are kept of the run of one variant."""
    name = f"{variant}-{order}{'-published' if as_published else ''}"
    folder = Path(out) / "hpl_ladder" / name
    source = data() / "calibration" / PLATFORM if as_published else None
    platform = hpl_platforms.write(variant, folder.parent / "platforms" / name, source)
    flags = hpl.MODELLED
    return asdict(hpl.run(order, SIDE, SIDE, folder, *flags, platform=platform, equal_pivots=as_published))


def simulated_busy(order: int, out: str) -> dict:
    """Facts that are kept of the run with messages as they are while others poll."""
    folder = Path(out) / "hpl_ladder" / f"{BUSY}-{order}-busy"
    idle = hpl_platforms.write(BUSY, folder.parent / "platforms" / folder.name)
    platform = hpl_platforms.while_others_poll(idle, data() / "calibration" / "pycewise")
    return asdict(hpl.run(order, SIDE, SIDE, folder, *hpl.MODELLED, platform=platform))


def row_busy(order: int, gflops: float, others: Published) -> Result:
    """The machine beside a network that is busier than HPL makes it."""
    what = f"HPL, N = {order:,}, {BUSY}: the machine; messages as measured while all others poll"
    why = "the other end of what the network can be, beside the idle one"
    return Result(what, others["reality", order], gflops, "Gflop/s", None, why, Kind.PUBLISHED)


def rows_of(order: int, ours: dict[str, float], others: Published) -> list[Result]:
    """Steps of the ladder at one order, beside the published steps and reality."""
    real = others["reality", order]
    rows = []
    for variant, gflops in ours.items():
        rows += step(order, variant, gflops, others)
        allowed = STEP if variant == "D1_het" else None
        kind = Kind.MEASURED if variant in WHOLE else Kind.PUBLISHED
        what = f"HPL, N = {order:,}, {variant}: the machine, mean of its runs"
        rows.append(Result(what, real, gflops, "Gflop/s", allowed, "Cornebize's thesis", kind))
    return rows


def step(
    order: int, variant: str, gflops: float, others: Published, how: str = "the published simulation"
) -> list[Result]:
    """One step beside the published one, if that is published."""
    if (variant, order) not in others:
        return []
    real, theirs = others["reality", order], others[variant, order]
    what = f"HPL, N = {order:,}, {variant}: {how}"
    why = f"{points(theirs, real)} of the real mean there, {points(gflops, real)} here"
    return [Result(what, theirs, gflops, "Gflop/s", STEP * real / theirs, why, Kind.PUBLISHED)]


def steps_as_published(order: int, ours: dict[str, float], others: Published) -> list[Result]:
    """Steps of the second ladder at one order."""
    how = "the published simulation; pivots and messages as there"
    return [row for variant, gflops in ours.items() for row in step(order, variant, gflops, others, how)]


def points(gflops: float, real: float) -> str:
    """Distance from reality in percent, signed."""
    return f"{100 * (gflops / real - 1):+.1f} %"


def compare(out: Path, quick: bool) -> list[Result]:
    """All variants at all orders; `quick` has the smallest order."""
    others, rows = published(), []
    hpl.program()
    for order in ORDERS[:1] if quick else ORDERS:
        rows += rows_of(order, ladder(order, out, as_published=False), others)
        rows += steps_as_published(order, ladder(order, out, as_published=True), others)
        busy = cached(out, f"hpl-ladder-busy-{order}", simulated_busy, order, str(out.resolve()))
        rows.append(row_busy(order, busy["gflops"], others))
    return rows


if __name__ == "__main__":
    main(compare, __doc__)
