"""Models of a cluster's processors, and designs of experiments, beside those of their author.

Compared: mean and covariances of the coefficients of dgemm between processors and between days, fitted to
the published calibrations of Dahu, and those of 100,000 processors that are drawn from the fit; mean rates of
the experiments with the dimension K fixed or drawn; Kolmogorov's test of the two generators of dimensions.
Source: Cornebize, thesis, Université Grenoble Alpes 2021, 4.2.2 and 8.2, 8.4 with its data
(github.com/Ezibenroc/thesis, modeling/kernels/generative and experiment/randomizing_sizes). Expected: every
printed digit; moments of drawn processors within five standard errors; uniform products pass the test,
independent dimensions do not.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import results
from recordings import Absent, data
from results import Kind, Range, Result
from scipy import stats

from hopcast import tabular
from hopcast.calibrate import design
from hopcast.cluster import fit
from hopcast.cluster.draw import draw
from hopcast.cluster.model import ClusterModel

KIND = Kind.PUBLISHED
NO_NULL = "fits and draws coefficients of computing; no message is sent"

PRINTED = 5e-7
"""Relative error of a number that is printed with seven digits."""
NAMES = ("α", "β", "γ")
UPPER = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
MEAN = (7.382283e-11, 2.403732e-06, 2.783010e-12)
SPATIAL = (6.322087e-24, 4.461153e-20, 1.185202e-25, 2.059323e-15, 1.481189e-21, 6.804498e-27)
TEMPORAL = (3.223913e-25, 5.742764e-21, 2.901382e-25, 2.211188e-14, 7.055505e-21, 3.296228e-25)
SLOW_HOSTS = ("13", "14", "15", "16")
ABNORMAL = ("15", "1")
KINDS = {
    "normal": ((7.359773e-11, 2.430287e-06, 2.579149e-12), 6.503416e-24, 1.978240e-25),
    "slow": ((8.297494e-11, 2.557930e-06, 4.435328e-12), 3.125799e-23, 2.462951e-24),
}
"""Means, and variances of α in space and time, of the weeks with faulty cooling."""
FIXED_K = {"128": 30.366, "256": 28.216, "512": 28.118, "random": 27.985, "shuffled": 28.802}
"""Mean rate of the experiments by their K [GFlop/s], on node 5, processor 1; `shuffled` has all three."""
GENERATORS = {"uniform product": 28.118, "independent sizes": 27.153}
FILES = {"exp_dgemm_a.csv": 27.447, "exp_dgemm_c.csv": 28.103, "exp_dgemm_f.csv": 28.314}
DRAWN = 100_000
SIGNIFICANT = 0.01


def compare(out: Path, quick: bool) -> list[Result]:
    """All of it; `quick` draws a tenth of the processors."""
    folder = data() / "calibration" / "thesis"
    generative = folder / "modeling" / "kernels" / "generative"
    sizes = folder / "experiment" / "randomizing_sizes"
    if not generative.is_dir() or not sizes.is_dir():
        raise Absent(f"skipped: no generative or randomizing_sizes in {folder} (set HOPCAST_DATA)")
    model = fit.fit(fit.read([generative / "dgemm_calibration.csv.xz"]))
    rows = moments(model)
    rows += kinds(generative / "dgemm_calibration_slownodes.csv.xz")
    rows += drawn(model, DRAWN // 10 if quick else DRAWN)
    rows += rates(sizes)
    return rows + generators()


def moments(model: ClusterModel) -> list[Result]:
    """Mean and covariances of the fit, each number as printed."""
    (kind,) = model.kinds
    rows = [
        Result(f"μ of {name}", printed, float(ours), "s", PRINTED, "thesis, 4.2.2, from its data")
        for name, printed, ours in zip(NAMES, MEAN, kind.mean, strict=True)
    ]
    for sign, printed, matrix in (("Σ_S", SPATIAL, kind.spatial), ("Σ_T", TEMPORAL, kind.temporal)):
        rows += [
            Result(f"{sign} of {NAMES[i]}, {NAMES[j]}", value, float(matrix[i, j]), "s²", PRINTED, "the same")
            for (i, j), value in zip(UPPER, printed, strict=True)
        ]
    return rows


def kinds(place: Path) -> list[Result]:
    """Two kinds of hosts, without the processor that was left out."""
    found = fit.read([place])
    kept = found.where([processor != ABNORMAL for processor in found.processors])
    model = fit.fit(kept, {"slow": SLOW_HOSTS})
    rows = []
    for name, (mean, spatial, temporal) in KINDS.items():
        kind = model.kind(name)
        why = "faulty cooling of dahu-13 to 16; 15/1 left out"
        rows += [
            Result(f"{name} hosts: μ of {term}", value, float(ours), "s", PRINTED, why)
            for term, value, ours in zip(NAMES, mean, kind.mean, strict=True)
        ]
        rows.append(
            Result(f"{name} hosts: Σ_S of α, α", spatial, float(kind.spatial[0, 0]), "s²", PRINTED, why)
        )
        rows.append(
            Result(f"{name} hosts: Σ_T of α, α", temporal, float(kind.temporal[0, 0]), "s²", PRINTED, why)
        )
    return rows


def drawn(model: ClusterModel, count: int) -> list[Result]:
    """Moments of drawn processors, and of their days: five standard errors of the largest relative one."""
    hosts = count // model.sockets
    still, day = draw(model, hosts, seed=1), draw(model, hosts, seed=1, day=1)
    values = still.values()
    allowed = 5 * math.sqrt(2 / count)
    why = f"{count:,} drawn processors: {allowed:.1%} are five standard errors of a variance"
    rows = [
        Result(f"drawn: μ of {name}", printed, float(ours), "s", 5 * 0.034 / math.sqrt(count), why)
        for name, printed, ours in zip(NAMES, MEAN, values.mean(axis=0), strict=True)
    ]
    for sign, printed, some in (("Σ_S", SPATIAL, values), ("Σ_T", TEMPORAL, day.values() - values)):
        covariance = np.cov(some.T)
        full = dict(zip(UPPER, printed, strict=True))
        for (i, j), value in full.items():
            # A covariance is known to its standard error over √(variances): relative to itself that grows by
            # 1/ρ.
            weak = math.sqrt(full[i, i] * full[j, j]) / value
            rows.append(
                Result(
                    f"drawn: {sign} of {NAMES[i]}, {NAMES[j]}",
                    value,
                    float(covariance[i, j]),
                    "s²",
                    allowed * max(1.0, weak),
                    why,
                )
            )
    rejected = float(still.rejected + day.rejected)
    return [
        *rows,
        Result("drawn: rejected", Range(high=count / 1000), rejected, "", 0.0, "impossible draws are rare"),
    ]


def rates(folder: Path) -> list[Result]:
    """Mean rates of one processor by the experiment's file."""
    rows = []
    for name, column, published in (
        ("fixing_K/dgemm_agr_data.csv", "exp_kind", FIXED_K),
        ("method/dgemm_agr_data.csv", "exp_kind", GENERATORS),
        ("expfile/dgemm_agr_data.csv.xz", "expfile", FILES),
    ):
        found: dict[str, list[float]] = {}
        for row in tabular.rows(folder / name):
            if (row["node"], row["cpu"]) == ("5", "1"):
                found.setdefault(row[column], []).append(float(row["avg_gflops"]))
        for kind, value in published.items():
            mean = float(np.mean(found[kind]))
            why = f"thesis, Figs. 8.7, 8.11, 8.12, from its data: {len(found[kind])} experiments"
            rows.append(Result(f"dgemm, {kind}", value, mean, "GFlop/s", 2e-5, why))
    return rows


def generators() -> list[Result]:
    """Kolmogorov's test of 100,000 tuples' products, those of one order counted once, and of M."""
    random = np.random.default_rng(1)
    matrices = design.Matrices(1e10, 10_000, 1, 1)
    count = 100_000 // design.ORDERS
    targets = random.uniform(1, matrices.product, count)
    uniform = [math.prod(design.uniform_product(target, matrices, random)[0]) for target in targets]
    triples = [design.independent(matrices, random) for _ in range(count)]
    why = "thesis, Fig. 8.1: p-value of the test of a uniform distribution"
    samples = {
        "products, uniform product": (uniform, 1e10, Range(low=SIGNIFICANT)),
        "products, independent sizes": ([math.prod(one) for one in triples], 1e10, Range(high=SIGNIFICANT)),
        "M, independent sizes": ([m for m, _, _ in triples], 1e4, Range(high=SIGNIFICANT)),
    }
    return [
        Result(
            name, wanted, float(stats.kstest(np.array(some, float) / most, "uniform").pvalue), "", 0.0, why
        )
        for name, (some, most, wanted) in samples.items()
    ]


if __name__ == "__main__":
    results.main(compare, __doc__)
