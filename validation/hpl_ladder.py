"""HPL on Dahu from N = 50,000 to 250,000, model by model, beside eight real runs and published simulations.

Each step of the ladder adds a part of the model: A1 has a linear dgemm, all processors and messages alike;
A1_het has each processor by itself; C1_het polynomials for dgemm; D1_het noise of the kernels; D2_het noise
of messages too: the preset `dahu`. 1,024 ranks in a grid of 32 x 32, NB = 128.
Source: Cornebize, thesis, Université Grenoble Alpes 2021: validation_dahu_matrix_size_upto_250k.csv. Two
real runs at N = 175,000 above 22,000 Gflop/s are left out, as there.
Expected: each step within 3 points of the published one, in percent of the real mean; D1_het within 3 % of
the real mean at every N.

Run it as `python validation/hpl_ladder.py [--quick]`: quick has N = 50,000 alone. All of it takes some six
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


def ladder(order: int, out: Path) -> dict[str, float]:
    """Performance [Gflop/s] of a matrix of that order by variant."""
    return {
        variant: cached(out, f"hpl-ladder-{variant}-{order}", simulated, variant, order, str(out.resolve()))[
            "gflops"
        ]
        for variant in VARIANTS
    }


def simulated(variant: str, order: int, out: str) -> dict:
    """Facts that are kept of the run of one variant."""
    folder = Path(out) / "hpl_ladder" / f"{variant}-{order}"
    platform = hpl_platforms.write(variant, folder.parent / "platforms")
    return asdict(hpl.run(order, SIDE, SIDE, folder, *hpl.MODELLED, platform=platform))


def rows_of(order: int, ours: dict[str, float], others: Published) -> list[Result]:
    """Steps of the ladder at one order, beside the published steps and reality."""
    real = others["reality", order]
    rows = []
    for variant, gflops in ours.items():
        if (variant, order) in others:
            theirs = others[variant, order]
            what = f"HPL, N = {order:,}, {variant}: the published simulation"
            why = f"{points(theirs, real)} of the real mean there, {points(gflops, real)} here"
            rows.append(Result(what, theirs, gflops, "Gflop/s", STEP, why, Kind.PUBLISHED))
        allowed = STEP if variant == "D1_het" else None
        kind = Kind.MEASURED if variant in WHOLE else Kind.PUBLISHED
        what = f"HPL, N = {order:,}, {variant}: the machine, mean of its runs"
        rows.append(Result(what, real, gflops, "Gflop/s", allowed, "Cornebize's thesis", kind))
    return rows


def points(gflops: float, real: float) -> str:
    """Distance from reality in percent, signed."""
    return f"{100 * (gflops / real - 1):+.1f} %"


def compare(out: Path, quick: bool) -> list[Result]:
    """All variants at all orders; `quick` has the smallest order."""
    others = published()
    hpl.program()
    orders = ORDERS[:1] if quick else ORDERS
    return [row for order in orders for row in rows_of(order, ladder(order, out), others)]


if __name__ == "__main__":
    main(compare, __doc__)
