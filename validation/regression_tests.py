"""Chew's test on published series: what changed is noticed, and nothing else.

Compared: squared distances of the example of two correlated values; alarms of the day on which the cooling of
four hosts of Dahu was repaired; false alarms in the stable weeks after it; the night on which StarPU's
benchmark changed; and dgemm's rate and the cores' frequency by the contents of the matrices. Source:
Cornebize, thesis, Université Grenoble Alpes 2021, 8.5 and 9, with its data (github.com/Ezibenroc/thesis). Of
Table 8.1's clusters, the data hold one, Dahu ("yes"); the test's "no" is shown between halves of one run.
Expected: every count; in the figures, the published order.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import results
from recordings import Absent, data
from results import Kind, Range, Result
from scipy import stats

from hopcast import tabular
from hopcast.regress import chew, readers, store
from hopcast.regress.examine import Finding, alarms, examine, judged
from hopcast.regress.logs import DAY_S, date_of, time_of
from hopcast.regress.walk import Settings
from hopcast.statistics import order

KIND = Kind.PUBLISHED
NO_NULL = "tests of series that were measured; nothing is simulated"

SIX = {"13/0": 14.6, "13/1": 7.5, "14/0": 12.6, "14/1": 6.8, "15/0": 16.9, "16/0": 13.8}
"""Processors that were noticed, with their change in percent."""
ONE_DECIMAL = 0.05
STARPU = {"reality": (1711, 4985), "simulation": (1801, 5186)}
"""Mean rates of the nights before and after the change [GFlop/s]."""
STARPU_DAY = "2017-12-15"
CONSTANTS = ("0", "0.987", "1")
WARM_S, BIN_S, SHORT_BIN_S = 60.0, 10.0, 2.1
"""Beginning that is left out, and times over which values are averaged; frequencies come every two
seconds."""


def compare(out: Path, quick: bool) -> list[Result]:
    """All of it; `quick` changes nothing, since it takes seconds."""
    folder = data() / "calibration" / "thesis"
    generative = folder / "modeling" / "kernels" / "generative"
    if not generative.is_dir():
        raise Absent(f"skipped: no generative in {folder} (set HOPCAST_DATA)")
    rows = example() + repair(generative)
    rows += starpu(folder / "experiment" / "non_regression" / "state_of_art")
    return rows + contents(folder / "experiment" / "bit-flips")


def example() -> list[Result]:
    """Two points at two deviations each, of values with correlation -0.7."""
    known = chew.Reference(10**9, np.zeros(2), np.array([[1, -0.7], [-0.7, 1]]))
    why = "thesis, Fig. 9.1: 8/(1 ± 0.7), and the border of 99.5 %"
    outside, inside = (chew.squared_distance(known, np.array([2.0, end])) for end in (2.0, -2.0))
    return [
        Result("example: squared distance of (2σ, 2σ)", 26.67, outside, "", 2e-4, why),
        Result("example: squared distance of (2σ, -2σ)", 4.71, inside, "", 1e-3, why),
        Result("example: border", 10.60, chew.region(known, 1, 0.995), "", 5e-4, why),
    ]


def observations(place: Path, factor: str) -> list[store.Observation]:
    """Observations of one factor."""
    return readers.read(place, readers.Columns(factors=(factor,)))


def tests(rows: list[store.Observation], settings: Settings, since: float) -> list[Finding]:
    """Judgements of all series, from a time on."""
    with tempfile.TemporaryDirectory() as folder, store.opened(Path(folder) / "r.sqlite", new=True) as base:
        store.add(base, rows)
        return judged(examine(base, settings), since)


def repair(folder: Path) -> list[Result]:
    """Alarms by the first observation after the repair, and by the first five."""
    before = observations(folder / "dgemm_calibration_slownodes.csv.xz", "avg_gflops")
    after = observations(folder / "dgemm_calibration.csv.xz", "avg_gflops")
    repaired = max(one.time for one in before) + 1
    findings = tests([*before, *after], Settings(), repaired)
    noticed = {}
    for r in (1, 5):
        first = [
            one
            for one in findings
            if one.judgement.r == r
            and (one.walk.series.times[: one.judgement.index + 1] >= repaired).sum() == r
        ]
        noticed[r] = {one.walk.series.unit: 100 * one.judgement.relative for one in alarms(first)}
    why = "cooling of dahu-13 to 16 was repaired on 2019-11-27; 64 processors, 99.99 %"
    rows = [
        Result(f"repair: change of {unit}", value, noticed[1].get(unit, 0.0), "%", ONE_DECIMAL / value, why)
        for unit, value in SIX.items()
    ]
    others = float(len(set(noticed[1]) - set(SIX)))
    more = set(noticed[5]) - set(SIX) - {"15/1"}
    rows.append(Result("repair: other processors, r = 1", 0, others, "", 0.0, why))
    rows.append(Result("repair: 15/1, r = 5", 1, float("15/1" in noticed[5]), "", 0.0, why))
    rows.append(Result("repair: the six, r = 5", 6, float(len(set(SIX) & set(noticed[5]))), "", 0.0, why))
    rows.append(Result("repair: other processors, r = 5", 0, float(len(more)), "", 0.0, why))
    for confidence, published in ((0.9999, 0.0), (0.95, 18.2)):
        every = tests(after, Settings(confidence, (1,)), float("-inf"))
        share = 100 * len(alarms(every)) / len(every)
        said = f"stable weeks, {len(every)} tests; days are not independent"
        rows.append(Result(f"false alarms at {100 * confidence:g} %", published, share, "%", 2e-3, said))
    return rows


def starpu(folder: Path) -> list[Result]:
    """Night of the first alarm of more than twice the rate, and means of the nights before and after."""
    rows = []
    for name, (before, after) in STARPU.items():
        found = observations(folder / f"{name}.csv", "gflops")
        change = time_of(STARPU_DAY, "")
        findings = alarms(tests(found, Settings(windows=(1,)), change - 30 * DAY_S))
        large = [one.time for one in findings if one.judgement.relative > 1]
        days = (min(large) - change) / DAY_S if large else float("nan")
        why = f"StarPU, nightly: noticed on {date_of(min(large)) if large else 'no night'}"
        rows.append(Result(f"StarPU, {name}: nights from the change to the alarm", 0, days, "", 0.0, why))
        for when, published in (("before", before), ("after", after)):
            mean = float(np.mean([one.value for one in found if (one.time < change) == (when == "before")]))
            rows.append(Result(f"StarPU, {name}: mean {when}", published, mean, "GFlop/s", 1e-3, why))
    return rows


def contents(folder: Path) -> list[Result]:
    """Rates and frequencies by the contents of the matrices: order, oscillation, and the test."""
    rows = []
    for name, column, figure in (("perf", "gflops", "8.17"), ("freq", "frequency", "8.18")):
        place = folder / f"generation_method_{name}.csv.xz"
        runs = binned(place, "matrix_content", column)
        means = {kind: float(values.mean()) for kind, values in runs.items()}
        constant = min(means[kind] for kind in CONSTANTS)
        why = f"thesis, Fig. {figure}: {', '.join(f'{kind} {mean:.4g}' for kind, mean in means.items())}"
        ratios = {
            "sequential over random": means["sequential"] / means["random"],
            "constant over sequential": constant / means["sequential"],
        }
        rows += [
            Result(f"{column}: {what}", Range(low=1.0), ratio, "", 0.0, why) for what, ratio in ratios.items()
        ]
        seconds = binned(place, "matrix_content", column, SHORT_BIN_S)
        oscillation = order.runs(seconds["random"])
        counted = f"{oscillation.count} runs, {oscillation.expected:.0f} expected"
        why = f"thesis, Fig. {figure}, temporal patterns: {counted}"
        rows.append(Result(f"{column}: runs test", Range(high=1e-4), oscillation.p_value, "", 0.0, why))
        rows += anomaly(runs, column)
    for name, column, figure in (("perf", "gflops", "8.20"), ("freq", "frequency", "8.21")):
        runs = binned(folder / f"mask_size_{name}.csv.xz", "mask_size", column)
        masks = sorted(map(int, runs))
        tau = stats.kendalltau(masks, [runs[str(mask)].mean() for mask in masks])
        why = f"thesis, Fig. {figure}: the more bits are fixed, the higher; p = {tau.pvalue:.1g}"
        rows.append(Result(f"{column}: Kendall's τ with the mask", 1.0, float(tau.statistic), "", 0.1, why))
    return rows


def anomaly(runs: dict[str, np.ndarray], column: str) -> list[Result]:
    """Table 8.1: does the content matter? Every constant beside random ones; and halves of one run, which are
    alike."""
    rows = []
    known = chew.reference(runs["random"])
    worst = max(beside(known, runs[kind]) for kind in CONSTANTS)
    why = f"Dahu: yes, at 99.99 %; {len(runs['random'])} means over {BIN_S:g} s"
    rows.append(Result(f"{column}: contents do not matter", Range(high=1e-4), worst, "", 0.0, why))
    halves = min(beside(chew.reference(values[::2]), values[1::2]) for values in runs.values())
    why = "every other mean of one run beside the rest of it: no"
    rows.append(Result(f"{column}: halves of a run are alike", Range(low=1e-4), halves, "", 0.0, why))
    return rows


def beside(known: chew.Reference, values: np.ndarray) -> float:
    """Likelihood of the mean of some values."""
    return chew.likelihood(known, chew.statistic(known, values.mean(), len(values)))


def binned(place: Path, kind: str, column: str, bin_s: float = BIN_S) -> dict[str, np.ndarray]:
    """Means over stretches of time, by kind of run, without its warm-up."""
    found: dict[str, dict[int, list[float]]] = {}
    for row in tabular.rows(place):
        time = float(row["timestamp"])
        if time >= WARM_S:
            found.setdefault(row[kind], {}).setdefault(int(time / bin_s), []).append(float(row[column]))
    return {
        name: np.array([np.mean(values) for _, values in sorted(bins.items())[:-1]])
        for name, bins in found.items()
    }


if __name__ == "__main__":
    results.main(compare, __doc__)
