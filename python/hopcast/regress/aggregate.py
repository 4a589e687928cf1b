"""Rows for the test of what an experiment measured: calls of a kernel, and monitoring of its nodes.

- Calls of dgemm, columns `m,n,k,duration`: for each unit and job one row with the rate, ratio of sums 2 Σ M N
  K/Σ t, the rate of the calls of 2048³, and the coefficients of M N K, M N, M K and N K of the mean and of
  the deviation.
- Monitoring, columns `kind,value`: for each unit, job and kind the mean and the deviation over the steady
  state, from two to four minutes after its start.

Source: Cornebize, thesis, 2021, chapter 9; github.com/Ezibenroc/cashew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from hopcast import tabular
from hopcast.calibrate import kernels
from hopcast.errors import InputError

CALLS = ("m", "n", "k", "duration")
MONITORED = ("kind", "value")
STEADY_S = (120.0, 240.0)
"""Beginning and end of the steady state after the start of the monitoring."""
LARGE = 2048
"""Sides of the calls whose rate is a factor of its own."""

Row = dict[str, str]
Values = dict[str, float]


def is_of_calls(row: Row) -> bool:
    """True for a row about one call."""
    return all(name in row for name in CALLS)


def is_monitoring(row: Row) -> bool:
    """True for a row about one value of a sensor."""
    return all(name in row for name in MONITORED)


def calls(rows: Sequence[Row], place: Path) -> Values:
    """Factors of the calls of one unit and job."""
    m, n, k, duration = (np.array([tabular.number(row, name, str(place)) for row in rows]) for name in CALLS)
    whole = m * n * k
    found = {"avg_gflops": _rate(whole, duration)}
    large = (m == LARGE) & (n == LARGE) & (k == LARGE)
    if large.any():
        found[f"gflops_{LARGE}"] = _rate(whole[large], duration[large])
    sizes = kernels.group({"m": m, "n": n, "k": k}, duration)
    try:
        mean = kernels.polynomial(sizes, intercept=0.0)
        found |= dict(mean.coefficients)
        spread = kernels.deviation(sizes, intercept=0.0, clamped=False)
        found |= {f"{term}_residual": value for term, value in spread.coefficients.items()}
    except InputError:
        # Of few sizes, or of sizes measured once, the rates alone are known.
        pass
    return found


def monitoring(rows: Sequence[Row], time: str, place: Path) -> Values:
    """Means and deviations of the steady state of one unit and job, by kind of sensor."""
    times = np.array([tabular.number(row, time, str(place)) for row in rows])
    after = times - times.min()
    steady = (after >= STEADY_S[0]) & (after < STEADY_S[1])
    by_kind: dict[str, list[float]] = {}
    for row, inside in zip(rows, steady.tolist(), strict=True):
        if inside:
            by_kind.setdefault(row["kind"], []).append(tabular.number(row, "value", str(place)))
    if not by_kind:
        raise InputError(
            f"{place}: monitored for {after.max():.0f} s: the steady state begins {STEADY_S[0]:.0f} s after "
            "the start"
        )
    return {
        f"{what}_{kind}": float(value)
        for kind, values in by_kind.items()
        for what, value in (
            ("mean", np.mean(values)),
            ("std", np.std(values, ddof=1) if len(values) > 1 else 0),
        )
    }


def grouped(rows: Sequence[Row], names: Sequence[str]) -> Iterator[tuple[tuple[str, ...], list[Row]]]:
    """Rows by the values of some columns, in order of their first row."""
    found: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in names), []).append(row)
    yield from found.items()


def _rate(products: np.ndarray, seconds: np.ndarray) -> float:
    """Gflop/s."""
    return float(2e-9 * products.sum() / seconds.sum())
