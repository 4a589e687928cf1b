"""Fits of calls of dgemm beside those that their author printed, and one product beside the polynomial.

Compared: the coefficients of MNK, MN, MK and NK of the mean and of the deviation, of every processor whose
calls are published, with the printed ones, given the printed constant; and how well M-1 (MNK alone) and M-2
predict.
Source: Cornebize, thesis, Université Grenoble Alpes 2021, 4.2 and 8.2, with its data
(github.com/Ezibenroc/thesis, experiment/randomizing_sizes). Of its data `generative` only coefficients are
published, no calls: they cannot be fitted again. Beside the calls stand the formulas of the preset `dahu`
for that node, which were fitted to others.
Expected: every printed digit; errors of M-2 a third of those of M-1; those of the preset at most 5 %.
"""

from __future__ import annotations

import csv
import lzma
from pathlib import Path

import numpy as np
import results
from recordings import Absent, data
from results import Kind, Range, Result

from hopcast.calibrate import kernel_check, kernels
from hopcast.calibrate.kernels import Sizes

KIND = Kind.PUBLISHED
NO_NULL = "fits measured calls; the constant M-0 stands beside them"

PRINTED = 1e-9
"""Relative error of what is printed with some sixteen digits and computed in another order."""
FOLDERS = {
    "expfile": "dgemm_agr_data.csv.xz",
    "method": "dgemm_agr_data.csv",
    "fixing_K": "dgemm_agr_data.csv",
}
JOBS = {"1960064": (6.3, 1.8), "1960065": (3.5, 1.6), "1960066": (4.8, 1.6)}
"""Mean relative error of calls above 1 ms on node 5, processor 1, by M-1 and by M-2 [%], two digits."""
R_SQUARED = (0.9845, 0.9987)
"""Coefficients of determination that were published for job 1960066, by M-1 and by M-2."""
LONG_S = 1e-3


def compare(out: Path, quick: bool) -> list[Result]:
    """All processors of all three experiments; `quick` takes the first experiment."""
    folder = data() / "calibration" / "thesis" / "experiment" / "randomizing_sizes"
    if not folder.is_dir():
        raise Absent(f"skipped: no randomizing_sizes in {folder.parent} (set HOPCAST_DATA)")
    rows = []
    for name in ("expfile",) if quick else FOLDERS:
        measured = folder / name / "dgemm_raw_data.csv.xz"
        calls = processors(measured)
        rows += preset(name, measured)
        rows += coefficients(name, calls, table(folder / name / FOLDERS[name]))
        if name == "expfile":
            rows += models(calls)
    return rows


def preset(name: str, measured: Path) -> list[Result]:
    """Errors of the preset at the sizes of an experiment."""
    return [
        Result(
            f"dgemm on {row.place.replace('node ', 'dahu-')}, {name}: median error of the preset",
            Range(None, 5.0),
            100 * row.accuracy.median,
            "%",
            0.0,
            f"{row.accuracy.count} sizes: {row.accuracy}",
            Kind.FIT,
        )
        for row in kernel_check.check("dahu", measured, "dgemm", "dahu-{}")
        if row.place
    ]


def table(place: Path) -> list[dict[str, str]]:
    """Rows of a CSV file, compressed or not."""
    with lzma.open(place, "rt") if place.suffix == ".xz" else place.open(newline="") as file:
        return list(csv.DictReader(file))


Key = tuple[str, str, str, str]
"""Job, file of the experiment, node, processor."""


def key(row: dict[str, str]) -> Key:
    """Processor of a row."""
    return row["jobid"], row["expfile"], row["node"], row["cpu"]


def processors(place: Path) -> dict[Key, Sizes]:
    """Calls of each processor by their sizes."""
    groups: dict[Key, list[tuple[float, ...]]] = {}
    for row in table(place):
        groups.setdefault(key(row), []).append(
            tuple(float(row[name]) for name in ("m", "n", "k", "duration"))
        )
    sizes = {}
    for processor, rows in groups.items():
        m, n, k, seconds = np.array(rows).T
        sizes[processor] = kernels.group({"m": m, "n": n, "k": k}, seconds)
    return sizes


def coefficients(name: str, calls: dict[Key, Sizes], printed: list[dict[str, str]]) -> list[Result]:
    """Compares every coefficient with the printed one, at the processor where they are farthest apart."""
    farthest: dict[str, tuple[float, float, float]] = {}
    processors = 0
    for row in printed:
        if key(row) not in calls:
            continue
        processors += 1
        sizes = calls[key(row)]
        mean = kernels.polynomial(sizes, intercept=float(row["intercept"]))
        noise = kernels.deviation(sizes, intercept=float(row["intercept_residual"]), clamped=False)
        for suffix, model in (("", mean), ("_residual", noise)):
            for term, value in model.coefficients.items():
                wanted = float(row[term + suffix])
                now = abs(results.apart(value, wanted)), value, wanted
                farthest[term + suffix] = max(farthest.get(term + suffix, now), now)
    return [
        Result(
            f"{name}, {term.replace('_residual', ' of the deviation')}: the worst of {processors} processors",
            wanted,
            value,
            "s",
            PRINTED,
            "dgemm_agr_data.csv, given its constant",
        )
        for term, (_, value, wanted) in farthest.items()
    ]


def models(calls: dict[Key, Sizes]) -> list[Result]:
    """M-0, M-1 and M-2 of three jobs."""
    rows = []
    for job, (first, second) in JOBS.items():
        (sizes,) = [part for processor, part in calls.items() if processor[0] == job and processor[3] == "1"]
        fits = {
            "M-1": kernels.polynomial(sizes, ("mnk",), intercept=0, name="M-1"),
            "M-2": kernels.polynomial(sizes, intercept=0),
        }
        long = sizes.where(sizes.seconds > LONG_S)
        null = 100 * np.mean(np.abs(kernels.constant(sizes).at(long) / long.seconds - 1))
        for (name, model), published in zip(fits.items(), (first, second), strict=True):
            error = 100 * float(np.mean(np.abs(model.at(long) / long.seconds - 1)))
            what = f"job {job}, processor 1, {name}: mean error of calls above 1 ms"
            why = f"two digits, computed from the calls; M-0: {null:.3g} %"
            rows.append(Result(what, published, error, "%", 0.05 / published, why))
        if job == "1960066":
            for model, published in zip(fits.values(), R_SQUARED, strict=True):
                what = f"job {job}, processor 1, {model.name}: R²"
                spread = float(((sizes.seconds - sizes.seconds.mean()) ** 2).sum())
                ours = 1 - float(((sizes.seconds - model.at(sizes)) ** 2).sum()) / spread
                rows.append(Result(what, published, ours, "", 5e-5, "four digits, computed from the calls"))
    return rows


if __name__ == "__main__":
    results.main(compare, __doc__)
