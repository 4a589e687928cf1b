"""Values of a platform file as text, and the comments beside them: standard error, range and source."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hopcast.calibrate.accuracy import percent
from hopcast.calibrate.lines import Line
from hopcast.calibrate.mixtures import NORMAL, Mode

if TYPE_CHECKING:
    from hopcast.calibrate.network_fit import NetworkFit, Regime
    from hopcast.calibrate.sharing import Sharing

GIVEN = "    # as given; no message tells it"
AT_BOUND = "    # at its bound: the measured times leave nothing for it"


def line(fitted: Line) -> str:
    """A line with the standard errors of both parameters."""
    start = f"{1e6 * fitted.intercept:.4g} µs" + plus_minus(1e6 * fitted.intercept_error)
    together = f", correlation {fitted.correlation:.3f}" if math.isfinite(fitted.correlation) else ""
    return f"{start} + {1e9 * fitted.slope:.4g} ns/B{plus_minus(1e9 * fitted.slope_error)} n{together}"


def plus_minus(error: float) -> str:
    """A standard error behind its value."""
    return f" (± {error:.2g})" if math.isfinite(error) else " (at its bound)"


def relative_error(value: float, error: float) -> str:
    """Comment with a standard error as a share of its value."""
    if value > 0 and math.isfinite(error):
        return f"    # ± {percent(error / value)}"
    return "    # no standard error: too few sizes"


def linear(start_s: float, per_byte_s: float) -> str:
    """As a platform file writes a + b n [s, s/B]."""
    return time(start_s) + (f" + {1e12 * per_byte_s:.6g} ps/B" if per_byte_s > 0 else "")


def time(seconds: float) -> str:
    """A time of a platform file."""
    return f"{round(1e6 * seconds, 6):.6g} us"


def rate(bytes_per_second: float) -> str:
    """A bandwidth of a platform file."""
    return f"{1e-9 * bytes_per_second:.6g} GB/s"


def eager_limit_source(fit: NetworkFit) -> str:
    """Source of an eager limit, and what the times say of it."""
    if fit.eager_limit is None:
        return f"{fit.eager_basis}: above all sizes that were measured"
    shown = fit.ends.get(fit.eager_limit)
    times = "the times do not show it" if shown is None else shown.said(fit.eager_limit)
    return f"{fit.eager_basis}; by the times: {times}"


def end_of_regime(fit: NetworkFit, size: float) -> str:
    """Line of a regime's end, with its standard error."""
    return f'up_to = "{size:.0f} B"    # {fit.ends[size].source}; {fit.ends[size].said(size)}'


def rate_error(regime: Regime) -> str:
    """Standard error of a regime's rate, within a comment."""
    slope, error = regime.lines["one_way"].slope, regime.lines["one_way"].slope_error
    return relative_error(slope, error).removeprefix("    # ")


def mode_text(mode: Mode, part: float) -> str:
    """The mode of times of which a part is left."""
    deviation = f', deviation = "{1e9 * part * mode.deviation:.6g} ns"' if mode.deviation > 0 else ""
    shape = "" if mode.shape == NORMAL else f', shape = "{mode.shape}"'
    return f'{{ weight = {mode.weight:.6g}, mean = "{1e9 * part * mode.mean:.6g} ns"{deviation}{shape} }}'


def mode_error(mode: Mode, part: float, calls: int) -> str:
    """Standard errors of a mode whose calls are known to be its."""
    own = mode.weight * calls
    weight = math.sqrt(mode.weight * (1 - mode.weight) / calls)
    mean = 1e9 * part * mode.deviation / math.sqrt(own)
    deviation = f", deviation ± {mean / math.sqrt(2):.2g} ns" if mode.deviation > 0 else ""
    return f"    # weight ± {weight:.2g}, mean ± {mean:.2g} ns{deviation}; {own:.0f} calls"


def measured_range(fit: NetworkFit) -> list[str]:
    """Range of sizes of a campaign: runs say which share of their messages lies beyond it."""
    shortest, longest = fit.sizes
    said = f"of campaign '{fit.campaign}': beyond it, times are an extrapolation"
    return [
        f'shortest_measured = "{shortest:.0f} B"    # {said}',
        f'longest_measured = "{longest:.0f} B"    # {said}',
    ]


def detached_limit(fit: NetworkFit, memory: NetworkFit | None) -> list[str]:
    """The limit of detached sends, or what is known of it; the platform has one, within hosts, too."""
    own = fit.detached
    if own.limit is None:
        lines = [f"# detached_limit: {own.basis}"]
    else:
        lines = [f'detached_limit = "{own.limit:.0f} B"    # {own.basis}']
    if memory is not None and memory.detached.limit != own.limit:
        theirs = memory.detached
        size = "" if theirs.limit is None else f"{theirs.limit:.0f} B: "
        lines.append(f"# note: the limit holds within a host, too, where it would be: {size}{theirs.basis}")
    return lines


def reduce_rate(copy: Line | None) -> str:
    """Rate of combining operands, by that of a copy: three bytes move for one of an operand, not two."""
    if copy is None:
        return "# reduce_rate: neither reductions nor memcpy were measured: combining operands takes no time"
    said = "not measured: two thirds of what memcpy does, since two operands are read"
    error = relative_error(copy.slope, copy.slope_error)
    return f'reduce_rate = "{rate(2 / 3 / copy.slope)}"{error}; {said}'


def total_bandwidth(sharing: Sharing | None) -> list[str]:
    """Bandwidth of a group, or why there is none."""
    if sharing is None:
        return []
    if sharing.total_Bps is None:
        return [f"# total_bandwidth {sharing}"]
    error = f" ± {percent(sharing.error)};" if math.isfinite(sharing.error) else ""
    return [
        f'total_bandwidth = "{rate(sharing.total_Bps)}"    #{error} of 1 to {sharing.pairs} pairs: '
        f"{sharing.accuracy}"
    ]
