"""Defects of measurements: what is missing, and what the fit does instead, in a sentence each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hopcast.calibrate.accuracy import percent
from hopcast.calibrate.series import Calls, Series, by_size
from hopcast.errors import InputError

LEAST_SIZES = 2
"""Distinct sizes below which there is no line."""
CLOCK_STEPS_LEAST = 5
"""Steps of the clock that a time must last, so that it is known within 10 %."""
DRIFT_MOST = 0.2
"""Change of times between the halves of a campaign from which on it counts as two machines or conditions."""


def of_calls(calls: Calls, name: str) -> list[str]:
    """Defects that show in the order of the calls: a campaign that was cut, and two machines in one."""
    findings = []
    sizes, counts = np.unique(calls.sizes, return_counts=True)
    usual = int(np.median(counts))
    short = sizes[counts < 0.7 * usual]
    if usual > 1 and len(short):
        findings.append(
            f"campaign '{name}': {len(short)} of {len(sizes)} sizes have fewer than the usual {usual} "
            f"repetitions, the longest {short[-1]:g} B: the run was cut, or joined from several; "
            "the fit takes those that are there"
        )
    if (change := _change(calls)) is not None:
        findings.append(
            f"campaign '{name}': the same sizes take {percent(change)} more or less time in its second "
            f"half than in "
            "its first: two machines or conditions in one data set; the fit takes the median of both, and "
            "predicts neither: fit them apart"
        )
    return findings


def usable(series: Series, kind: str, seconds: np.ndarray, findings: list[str]) -> Series:
    """The sizes that a line can be fitted to; findings name what was left out."""
    if (gone := series.seconds <= 0).any():
        findings.append(
            f"{kind}: {gone.sum()} sizes take no time or less, as {series.sizes[gone][0]:g} B: they are "
            f"left out"
        )
        series = series.where(~gone)
    if (gone := series.sizes <= 0).any():
        series = series.where(~gone)
    step = clock_step_s(seconds)
    coarse = series.seconds < CLOCK_STEPS_LEAST * step
    if coarse.any():
        longest = series.sizes[coarse].max()
        findings.append(
            f"{kind}: the clock's step, {1e6 * step:.3g} µs, is more than a fifth of the time of "
            f"{coarse.sum()} sizes "
            f"up to {longest:g} B: they are left out"
        )
        series = series.where(~coarse)
    if len(series.sizes) < LEAST_SIZES:
        raise InputError(
            f"{kind}: {len(series.sizes)} usable sizes, and a line needs {LEAST_SIZES}: "
            + ("; ".join(findings) or "measure more sizes; nothing was fitted")
        )
    if np.isnan(series.errors).all():
        findings.append(
            f"{kind}: each size was measured once: its own noise is not known; the fit takes the "
            f"scatter between "
            "neighbouring sizes"
        )
    return series


def clock_step_s(seconds: np.ndarray) -> float:
    """Step of the clock that measured: the largest number of which nearly all durations are multiples."""
    distinct = np.unique(np.round(seconds[seconds > 0], 12))
    if len(distinct) < 2 or len(distinct) > len(seconds) / 2:
        return 0.0
    steps = np.diff(distinct)
    return float(steps[steps > 1e-12].min(initial=np.inf)) if (steps > 1e-12).any() else 0.0


def supported(
    sizes: np.ndarray, breakpoints: Sequence[float], least: int, findings: list[str]
) -> list[float]:
    """Breakpoints that have sizes enough on both sides; a regime with fewer joins the one above it."""
    kept: list[float] = []
    for point in sorted(breakpoints):
        above = kept[-1] if kept else 0.0
        inside = int(((sizes > above) & (sizes <= point)).sum())
        if inside < least:
            findings.append(
                f"regime from {above:g} B to {point:g} B: {inside} sizes, and its line needs {least}: "
                f"it is fitted "
                "together with the sizes above it"
            )
        else:
            kept.append(point)
    while kept and (inside := int((sizes > kept[-1]).sum())) < least:
        findings.append(
            f"regime above {kept[-1]:g} B: {inside} sizes, and its line needs {least}: it is fitted "
            f"together with "
            "the sizes below it"
        )
        kept.pop()
    return kept


def no_slope(above: float, up_to: float | None, *, alone: bool, findings: list[str]) -> None:
    """Says that a regime's time does not grow with the size, which is an error where it is the only one."""
    end = f"{up_to:g} B" if up_to is not None else "the longest message"
    text = f"regime from {above:g} B to {end}: times do not grow with the size, or fall: no rate shows"
    if alone:
        raise InputError(f"{text}: measure longer messages; nothing was fitted")
    findings.append(f"{text}; it is fitted together with its neighbour")


def beside_nominal(rate_Bps: float, nominal_Bps: float | None) -> list[str]:
    """Doubt about units where the fastest regime is far from the link's nominal rate."""
    if nominal_Bps is None or nominal_Bps / 2 <= rate_Bps <= nominal_Bps * 1.5:
        return []
    if rate_Bps > nominal_Bps:
        cause = "are the times one way already (--one-way), or the sizes in bits"
    else:
        cause = "are the sizes in units of several bytes (--unit-bytes 4), or the times there and back twice"
    ours, theirs = (f"{rate / 1e9:.3g} GB/s" for rate in (rate_Bps, nominal_Bps))
    rates = f"the fastest regime moves {ours}, and the link nominally {theirs}"
    return [f"{rates}: {cause}? The fit takes sizes as bytes and halves round trips"]


def _change(calls: Calls) -> float | None:
    """Typical change between the halves of a campaign, where most sizes agree on a large one."""
    half = len(calls.seconds) // 2
    first, second = (
        by_size(calls.sizes[part], calls.seconds[part]) for part in (slice(0, half), slice(half, None))
    )
    _common, ours, theirs = np.intersect1d(first.sizes, second.sizes, return_indices=True)
    repeated = (first.repetitions[ours] > 1) & (second.repetitions[theirs] > 1)
    if repeated.sum() < 10:
        return None
    ratio = np.log(second.seconds[theirs] / first.seconds[ours])[repeated]
    typical = float(np.median(ratio))
    agreeing = (np.sign(ratio) == np.sign(typical)).mean()
    change = float(np.expm1(abs(typical)))
    return change if change > DRIFT_MOST and agreeing > 0.8 else None
