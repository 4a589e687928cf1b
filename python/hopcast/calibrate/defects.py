"""Defects of measurements: what is missing, and what the fit does instead, in a sentence each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hopcast.calibrate.accuracy import percent
from hopcast.calibrate.campaigns import Campaign
from hopcast.calibrate.series import Calls, Series, by_size
from hopcast.errors import InputError

LEAST_SIZES = 2
"""Distinct sizes below which there is no line."""
CLOCK_VALUES = 8
"""Distinct durations from which on a common divisor of their differences is a step of the clock."""
CLOCK_AWAY_MOST = 0.1
"""Distance of a duration from a multiple of the clock's step, in steps; its digits may be rounded."""
CLOCK_SHARE_LEAST = 0.9
"""Share of the durations that are multiples of the clock's step."""
CLOCK_STEPS_LEAST = 5
"""Steps of the clock that a time must last, so that it is known within 10 %."""
DRIFT_MOST = 0.2
"""Change of times between the halves of a campaign from which on it counts as two machines or conditions."""
POOR = 0.25
"""Median error of a line at its own sizes from which on it is doubted."""
START_MOST_S = 1e-3
"""Start-up of a message in a cluster: ten times that of Ethernet."""
GROUP_LEAST = 0.25
"""Share of the calls from which on a group of them counts as a machine or condition of its own."""
SEPARATION = 6.0
"""Distance of two groups in their deviations; halves of a uniform distribution have 3.5, of a normal 2.7."""


def sound(campaign: Campaign) -> Campaign:
    """The campaign without values that are no sizes or times; its findings name them."""
    findings = list(campaign.findings)
    calls = {}
    for kind, part in campaign.calls.items():
        good = np.isfinite(part.sizes) & np.isfinite(part.seconds) & (part.sizes >= 0) & (part.seconds >= 0)
        if not good.all():
            first = int(np.flatnonzero(~good)[0])
            findings.append(
                f"{kind}: {(~good).sum()} of {len(good)} calls without a valid size or time, the first "
                f"{part.sizes[first]:g} B in {part.seconds[first]:g} s: they are left out"
            )
        if good.any():
            calls[kind] = part.where(good)
    wtime = campaign.wtime_s
    if wtime is not None and not 0 < wtime < np.inf:
        findings.append(
            f"MPI_Wtime: {wtime:g} s is no time of a call: the clock is not subtracted from the times, and "
            "the platform has no time for MPI_Wtime"
        )
        wtime = None
    settings = dict(campaign.settings)
    for key in ("bandwidth", "latency"):
        if key in settings and not 0 < settings[key] < np.inf:
            value = settings.pop(key)
            findings.append(f"configuration: a nominal {key} of {value:g} is none: it is not used")
    return replace(campaign, calls=calls, wtime_s=wtime, settings=settings, findings=tuple(findings))


def repetitions(calls: Calls, name: str) -> list[str]:
    """Doubt where sizes have fewer repetitions than the others: a campaign that was cut."""
    sizes, counts = np.unique(calls.sizes, return_counts=True)
    usual = int(np.median(counts))
    short = sizes[counts < 0.7 * usual]
    if usual > 1 and len(short):
        return [
            f"campaign '{name}': {len(short)} of {len(sizes)} sizes have fewer than the usual {usual} "
            f"repetitions, the longest {short[-1]:g} B: the run was cut, or joined from several; "
            "the fit takes those that are there"
        ]
    return []


def halves(calls: Calls, name: str) -> list[str]:
    """Doubt where the halves of a campaign differ: two machines one after the other."""
    if (change := _change(calls)) is not None:
        return [
            f"campaign '{name}': the same sizes take {percent(change)} more or less time in its second "
            f"half than in "
            "its first: two machines or conditions in one data set; the fit takes the median of both, and "
            "predicts neither: fit them apart"
        ]
    return []


def clock_stays(before: Campaign, after: Campaign) -> list[str]:
    """Kinds whose times are shorter than reading the clock, which is why it was not subtracted."""
    return [
        f"{kind}: some calls take no longer than reading the clock, {1e6 * (before.wtime_s or 0):.3g} µs: it "
        "is subtracted from none of them"
        for kind, calls in before.calls.items()
        if before.wtime_s and after.calls[kind] is calls
    ]


def groups(calls: Calls, predicted: np.ndarray, name: str) -> list[str]:
    """Doubt where the calls fall into two groups, each beside the fit by a factor of its own."""
    ratio = np.log(calls.seconds / predicted)[calls.seconds > 0]
    if len(ratio) < 20:
        return []
    ratio = np.sort(ratio)
    counts = np.arange(1, len(ratio))
    sums, squares = np.cumsum(ratio), np.cumsum(ratio**2)
    within = squares[-1] - sums[:-1] ** 2 / counts - (sums[-1] - sums[:-1]) ** 2 / (len(ratio) - counts)
    cut = int(np.argmin(within)) + 1
    low, high = ratio[:cut], ratio[cut:]
    apart = float(high.mean() - low.mean())
    deviation = float(np.sqrt((low.var() + high.var()) / 2))
    change = float(np.expm1(apart))
    smaller = min(len(low), len(high)) / len(ratio)
    if smaller < GROUP_LEAST or change < DRIFT_MOST or apart < SEPARATION * deviation:
        return []
    return [
        f"campaign '{name}': its round trips fall into two groups, {percent(change)} apart, "
        f"{percent(smaller)} of them in the smaller: two machines or conditions in one data set, or two "
        "modes of one machine; the fit takes the median of both, and predicts neither: fit them apart"
    ]


def optional(series: Series, kind: str, seconds: np.ndarray, findings: list[str]) -> Series | None:
    """Usable sizes of a kind that a fit can do without; None, with a finding, where there are too few."""
    own: list[str] = []
    try:
        kept = usable(series, kind, seconds, own)
    except InputError as error:
        findings.append(f"{error}; the fit counts its time as the network's")
        return None
    findings += own
    return kept


def required(series: Series, kind: str, seconds: np.ndarray, findings: list[str]) -> Series:
    """Usable sizes of the kind without which there is no fit."""
    try:
        return usable(series, kind, seconds, findings)
    except InputError as error:
        raise InputError(f"{error}; nothing was fitted") from None


def usable(series: Series, kind: str, seconds: np.ndarray, findings: list[str]) -> Series:
    """The sizes that a line can be fitted to; findings name what was left out."""
    first = len(findings)
    if (gone := series.seconds <= 0).any():
        findings.append(
            f"{kind}: {gone.sum()} sizes take no time or less, as {series.sizes[gone][0]:g} B: they are "
            f"left out"
        )
        series = series.where(~gone)
    if (gone := series.sizes <= 0).any():
        findings.append(f"{kind}: empty messages are left out: a line of relative errors has no size of zero")
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
            + "; ".join([*findings[first:], "measure more sizes, or longer messages"])
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
    if len(distinct) < 2:
        return 0.0
    if len(distinct) > len(seconds) / 2:
        if len(distinct) < CLOCK_VALUES:
            return 0.0
        return 1e-12 * float(np.gcd.reduce(np.round(1e12 * np.diff(distinct)).astype(np.int64)))
    steps = np.diff(distinct)
    if not (steps > 1e-12).any():
        return 0.0
    step = float(steps[steps > 1e-12].min())
    away = np.abs(distinct / step - np.round(distinct / step))
    return step if (away < CLOCK_AWAY_MOST).mean() >= CLOCK_SHARE_LEAST else 0.0


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


def few_sizes(count: int, least: int) -> list[str]:
    """Doubt about a fit to so few sizes that no breakpoint can be found."""
    if count >= 2 * least:
        return []
    return [
        f"round_trip: {count} sizes, and a breakpoint needs {least} on each side: none is looked for; "
        "the fit takes those that are named, or one line"
    ]


def odd_sizes(sizes: np.ndarray) -> list[str]:
    """Doubt about the unit of sizes that are no whole numbers."""
    odd = sizes[sizes != np.round(sizes)]
    if not len(odd):
        return []
    return [
        f"{len(odd)} sizes are no whole numbers of bytes, as {odd[0]:g}: are they in another unit "
        "(--unit-bytes)? The fit takes them as bytes"
    ]


def poor(where: str, median: float, scatter: float) -> list[str]:
    """Doubt about a line that is far from the times that it was fitted to."""
    if median <= POOR:
        return []
    return [
        f"{where}: the fit is {percent(median)} off in the median, and neighbouring sizes scatter by "
        f"{percent(scatter)}: it predicts little; measure with more repetitions, when nothing else runs"
    ]


def odd_start(start_s: float) -> list[str]:
    """Doubt about the unit of times whose shortest message takes longer than one does in a cluster."""
    if start_s <= START_MOST_S:
        return []
    return [
        f"the shortest messages take {start_s:.3g} s: are the times in milliseconds or microseconds? The fit "
        "takes them as seconds"
    ]


def beside_nominal(rate_Bps: float, nominal_Bps: float | None) -> list[str]:
    """Doubt about units where the fastest regime is far from the link's nominal rate."""
    if nominal_Bps is None or nominal_Bps / 2 <= rate_Bps <= nominal_Bps * 1.5:
        return []
    if rate_Bps > nominal_Bps:
        cause = "are the times one way already (--one-way), or the sizes in bits"
    else:
        cause = (
            "are the sizes in units of several bytes (--unit-bytes 4), or the times there and back twice, "
            "or not in seconds"
        )
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
