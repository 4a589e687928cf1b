"""Detached sends: standard sends above the eager limit that do not wait for their receiver.

A send that waits takes a handshake longer than one that does not: two messages without payload, the request
and the clearance. What a send that does not wait would take at a longer size, the line of the last eager
regime says, a + b n. So of each size above the eager limit

    send − (a + b n) < handshake / 2    the sender did not wait
    send − (a + b n) > handshake / 2    it did

and between the two, by the standard error of the line, the times do not tell. The limit is the size that
parts these two kinds with the fewest sizes on the wrong side. Where senders copy long messages for longer
than a handshake takes, the line has that in b.

Source: the two semantic limits of Cornebize, thesis, Université Grenoble Alpes 2021, 4.3 (detached: no
deadlock though the message is not eager), which `programs/thresholds.c` searches by tests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hopcast.calibrate.piecewise import LEAST_POINTS

if TYPE_CHECKING:
    from hopcast.calibrate.network_fit import Regime
    from hopcast.calibrate.series import Series

GIVEN = "as given, or by tests: no standard error"
CONFIGURED = "of the campaign's configuration: no standard error"
WRONG_MOST = 0.1
"""Share of sizes on the wrong side of a limit above which it is none."""


@dataclass(frozen=True)
class Detached:
    """The longest standard send that does not wait for its receiver, though it is above the eager limit."""

    limit: float | None
    """Bytes; None where senders wait, or where nothing tells."""
    basis: str
    """Text about it for the platform file."""
    finding: str | None = None
    """A defect of the data, for the screen."""


@dataclass(frozen=True)
class _Times:
    """Sizes above the eager limit whose times tell how their senders went on."""

    sizes: np.ndarray
    waited: np.ndarray
    handshake_s: float
    measured: int
    """All sizes above the eager limit."""


def find(
    series: Mapping[str, Series],
    regimes: Sequence[Regime],
    eager_limit: float | None,
    configured: float | None = None,
    given: float | None = None,
) -> Detached:
    """The limit.

    configured: that of the campaign's configuration, believed where the times do not contradict it.
    given: that of a user, or of a test, believed in any case.
    """
    if eager_limit is None:
        return Detached(given, GIVEN if given else "not identified: no eager limit is known")
    if given is not None:
        return _stated(given, eager_limit, GIVEN)
    if "send" not in series:
        return _stated(configured, eager_limit, "not identified: MPI_Send was not measured")
    times = _times(series["send"], regimes, eager_limit)
    few = f"not identified: {len(times.sizes)} of {times.measured} sizes above the eager limit show it"
    if len(times.sizes) < LEAST_POINTS:
        return _stated(configured, eager_limit, few)
    shown = _shown(times)
    if configured is None or configured <= eager_limit:
        return shown
    inside = times.sizes <= configured
    if inside.any() and times.waited[inside].mean() > 0.5:
        slow = f"{times.waited[inside].sum()} of {inside.sum()} sizes above the eager limit"
        taken = "none" if shown.limit is None else f"{shown.limit:.0f} B"
        finding = (
            f"the limit of detached sends of {configured:g} B is not in the times: {slow} take a handshake "
            f"of {1e6 * times.handshake_s:.3g} µs longer than the others: senders wait; the fit takes {taken}"
        )
        return Detached(shown.limit, shown.basis, finding)
    return _stated(configured, eager_limit, "")


def _stated(limit: float | None, eager_limit: float, basis: str) -> Detached:
    """A limit that was said, or `basis` where it was not."""
    if limit is None:
        return Detached(None, basis)
    if limit <= eager_limit:
        return Detached(None, f"{limit:.0f} B, {basis or 'configured'}: longer sends than eager ones wait")
    return Detached(limit, basis if basis == GIVEN else CONFIGURED)


def _times(send: Series, regimes: Sequence[Regime], eager_limit: float) -> _Times:
    """Sizes above the eager limit, and those of them that take a handshake longer than the eager line."""
    longer = send.where(send.sizes > eager_limit)
    nothing = _Times(np.array([]), np.array([], bool), 0.0, len(longer.sizes))
    eager = [one for one in regimes if one.up_to is not None and one.up_to <= eager_limit]
    if not eager or "send" not in eager[-1].lines:
        return nothing
    line, handshake = eager[-1].lines["send"], _handshake_s(regimes[0])
    errors = np.nan_to_num([line.intercept_error, line.slope_error], nan=0.0, posinf=0.0)
    unsure = np.hypot(errors[0], errors[1] * longer.sizes)
    beyond = longer.seconds - line.at(longer.sizes) - handshake / 2
    tells = np.abs(beyond) > unsure
    return _Times(longer.sizes[tells], beyond[tells] > 0, handshake, len(longer.sizes))


def _handshake_s(first: Regime) -> float:
    """Two empty messages without the calls at their ends, of which at least half is the wire's."""
    own = sum(first.lines[kind].intercept for kind in ("send", "recv") if kind in first.lines)
    whole = first.lines["one_way"].intercept
    return 2 * max(whole - own, whole / 2)


def _shown(times: _Times) -> Detached:
    """The size that parts senders that wait from others."""
    waited_below = np.concatenate([[0], np.cumsum(times.waited)])
    quick_above = np.count_nonzero(~times.waited) - np.concatenate([[0], np.cumsum(~times.waited)])
    wrong = waited_below + quick_above
    place = int(np.argmin(wrong))
    longer = f"{1e6 * times.handshake_s:.3g} us of a handshake"
    if wrong[place] > WRONG_MOST * len(times.sizes):
        said = f"{np.count_nonzero(times.waited)} of {len(times.sizes)} sizes above the eager limit"
        basis = f"not identified: {said} take the {longer} longer than the others, in no order"
        return Detached(None, basis)
    if place == 0:
        return Detached(None, f"none: sends above the eager limit take the {longer} longer: they wait")
    last = times.sizes[place - 1]
    if place == len(times.sizes):
        return Detached(
            float(last),
            f"not identified: at least the longest that was measured: none takes the {longer} longer",
        )
    quick, waited = times.sizes[~times.waited][-1], times.sizes[times.waited][0]
    following = times.sizes[place]
    error = max(following - last, quick - waited) / np.sqrt(12)
    sure = f"± {float(f'{error:.3g}'):g} B"
    basis = (
        f"{sure}: sends up to it take no handshake; from {following:.0f} B on they take the {longer} longer"
    )
    return Detached(float(last), basis)
