"""From a campaign between two processes to regimes: what a message of each size costs, and whom.

1. Each kind of measurement becomes one time for each size, the median of its repetitions.
2. Breakpoints are learned for each kind (`piecewise`). Their union, with the limits of the protocols, is
   thinned: the one whose loss costs least goes, while that lowers the sum of all objectives.
3. In each regime, every kind gets a line a + b n, a and b not negative, by least squares of logarithms.

Half a round trip is the time of a message from its send to the return of its receive. Up to the eager limit
`MPI_Send` and a receive whose message has come are time of the processes, and the rest is the wire's:

    wire = round trip / 2 − send − receive       up to the eager limit
    wire = round trip / 2 − isend                above it: the measured receive holds the transfer itself

Source: Cornebize, thesis, Université Grenoble Alpes 2021, 4.3; what it does by eye is done here by objective.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hopcast.calibrate import call_times, defects, detached, joining, regime_ends
from hopcast.calibrate.accuracy import SPREAD_MOST, Accuracy, accuracy
from hopcast.calibrate.call_times import CallTime
from hopcast.calibrate.campaigns import Campaign
from hopcast.calibrate.detached import Detached
from hopcast.calibrate.lines import Line, log_line
from hopcast.calibrate.piecewise import ACCURACY, LEAST_POINTS, fit, learn, scatter_of
from hopcast.calibrate.quantities import between
from hopcast.calibrate.regime_ends import End
from hopcast.calibrate.series import Series, by_size
from hopcast.errors import InputError

KINDS = ("round_trip", "send", "isend", "recv")
_MESSAGES = ("round_trip", "one_way")
"""Kinds that are whole messages, and no calls of one process."""
RATE_MOST_BPS = 1e12
"""No link or copy of one process is faster: a rate above it is noise."""


@dataclass(frozen=True)
class Regime:
    """A range of sizes: above `above`, up to `up_to` (None: the last)."""

    above: float
    up_to: float | None
    lines: Mapping[str, Line]
    """Lines by kind; `one_way` is half a round trip."""
    points: int
    accuracy: Accuracy
    """Errors of the one-way line against the medians of its sizes."""
    scatter: float
    """Standard deviation of ln t between neighbouring sizes: no smooth curve comes closer than 0.67 of it."""
    calls: tuple[float, float]
    """Sizes above the one and up to the other, whose calls count: those beyond are of another protocol."""

    @property
    def rate_is_doubtful(self) -> bool:
        """True where the time per byte does not show beside the start-up at the sizes of the regime."""
        line = self.lines["one_way"]
        return not line.slope_error <= SPREAD_MOST * line.slope

    @property
    def rate_is_plausible(self) -> bool:
        """True where the rate shows, or where a line through so few points has no errors."""
        return not self.rate_is_doubtful or bool(np.isnan(self.lines["one_way"].slope_error))


@dataclass(frozen=True)
class NetworkFit:
    """Regimes of a campaign."""

    campaign: str
    regimes: tuple[Regime, ...]
    eager_limit: float | None
    iprobe: CallTime
    test: CallTime
    """Both of polls that find nothing."""
    wtime: CallTime
    copy: Line | None
    """Time of memcpy by size."""
    sizes: tuple[float, float]
    """Smallest and longest message that was measured: beyond them the fit is an extrapolation."""
    repetitions: int
    """Median number of repetitions of a size."""
    findings: tuple[str, ...]
    eager_basis: str
    """Source of the eager limit, for the platform file."""
    ends: Mapping[float, End]
    """Ends of regimes as the times show them."""
    detached: Detached
    """Standard sends above the eager limit that do not wait for their receiver."""
    runs: tuple[float, ...] = ()
    """Times of each run over the fit's, at the median, where several were joined."""

    def one_way_s(self, sizes: np.ndarray) -> np.ndarray:
        """Predicted time of one message of each size."""
        ends = [regime.up_to for regime in self.regimes if regime.up_to is not None]
        places = np.searchsorted(ends, sizes, side="left")
        lines = [regime.lines["one_way"] for regime in self.regimes]
        intercepts = np.array([line.intercept for line in lines])
        slopes = np.array([line.slope for line in lines])
        return intercepts[places] + slopes[places] * np.asarray(sizes, float)


def fit_campaign(
    campaign: Campaign,
    *,
    breakpoints: Sequence[float] | None = None,
    eager_limit: float | None = None,
    bandwidth_Bps: float | None = None,
    detached_limit: float | None = None,
) -> NetworkFit:
    """Fits a campaign; breakpoints that are not given are learned.

    `bandwidth_Bps`, the link's nominal rate, shows measurements in another unit.
    """
    findings = list(campaign.findings)
    measured, campaign = campaign, campaign.without_clock()
    findings += defects.clock_stays(measured, campaign)
    if "round_trip" not in campaign.calls:
        raise InputError(
            f"campaign '{campaign.name}': no …_PingPong.csv: without round trips neither latency nor "
            f"rate of the "
            "network is known; nothing was fitted"
        )
    halves = [] if campaign.runs else defects.halves(campaign.calls["round_trip"], campaign.name)
    findings += defects.repetitions(campaign.calls["round_trip"], campaign.name) + halves
    series = _series(campaign, findings)
    stated = limit = eager_limit if eager_limit is not None else campaign.settings.get("eager_limit")
    if limit is None:
        findings.append("no eager limit is known: all sizes are taken as eager; name it with --eager-limit")
    learned = breakpoints is None
    if breakpoints is None:
        breakpoints = common_breakpoints(series, [] if limit is None else [limit])
    trip = series["round_trip"]
    one_way = Series(trip.sizes, trip.seconds / 2, trip.errors, trip.repetitions)
    regimes = _regimes(series | {"one_way": one_way}, breakpoints, limit, findings)
    limit = _shown_limit(regimes, limit, trip.sizes, findings)
    limit = _believed_limit(regimes, limit, findings)
    standing = detached.find(series, regimes, limit, campaign.settings.get("detached_limit"), detached_limit)
    findings += [standing.finding] if standing.finding else []
    findings += _doubts(regimes, bandwidth_Bps)
    iprobe, test = (call_times.of_polls(measured, kind) for kind in ("iprobe", "test"))
    findings += [poll.finding for poll in (iprobe, test) if poll.finding]
    known = {stated: "the eager limit that was said", limit: "the eager limit"}
    fitted = NetworkFit(
        campaign.name,
        regimes,
        limit,
        iprobe,
        test,
        call_times.of_clock(campaign),
        _copy(campaign),
        (float(trip.sizes.min()), float(trip.sizes.max())),
        int(np.median(trip.repetitions)),
        tuple(findings),
        _basis(limit, stated, given=eager_limit is not None),
        regime_ends.find(series, _sources(regimes, known, learned=learned)),
        standing,
    )
    calls = campaign.calls["round_trip"]
    if campaign.runs:
        times = joining.factors(calls, campaign.runs, 2 * fitted.one_way_s(calls.sizes))
        return replace(fitted, runs=times)
    calls = calls.where(np.isin(calls.sizes, trip.sizes))
    apart = [] if halves else defects.groups(calls, 2 * fitted.one_way_s(calls.sizes), campaign.name)
    return replace(fitted, findings=(*findings, *apart))


def _series(campaign: Campaign, findings: list[str]) -> dict[str, Series]:
    """Times of each kind by size; findings name what is missing or was left out."""
    series = {}
    for kind in (kind for kind in KINDS if kind in campaign.calls):
        calls = campaign.calls[kind]
        read = defects.required if kind == "round_trip" else defects.optional
        if (found := read(by_size(calls.sizes, calls.seconds), kind, calls.seconds, findings)) is not None:
            series[kind] = found
    findings += defects.odd_sizes(series["round_trip"].sizes)
    findings += defects.few_sizes(len(series["round_trip"].sizes), LEAST_POINTS)
    for kind in (kind for kind in KINDS if kind not in campaign.calls):
        findings.append(f"no measurements of {kind}: its time is counted as the network's")
    return series


def _copy(campaign: Campaign) -> Line | None:
    """Line of memcpy, if several sizes of it were measured and it rises."""
    if "copy" not in campaign.calls:
        return None
    found = by_size(campaign.calls["copy"].sizes, campaign.calls["copy"].seconds)
    found = found.where(found.seconds > 0)  # in a simulation, it may take none
    if len(found.sizes) < LEAST_POINTS:
        return None
    line = log_line(found.sizes, found.seconds)
    return line if line.slope * RATE_MOST_BPS > 1 else None


def _doubts(regimes: Sequence[Regime], nominal_Bps: float | None) -> list[str]:
    """Doubts about rates and start-ups; an error where no rate shows in any regime."""
    link = link_Bps(regimes, nominal_Bps)
    if link > RATE_MOST_BPS:
        raise InputError(
            f"{between(0, None)}: the rate is not identified: the bytes do not show beside the start-up, and "
            f"{link / 1e9:.3g} GB/s is no rate of a link: measure longer messages; nothing was fitted"
        )
    findings = []
    for regime in regimes:
        line, where = regime.lines["one_way"], between(regime.above, regime.up_to)
        if regime.rate_is_doubtful and np.isnan(line.slope_error):
            findings.append(f"{where}: {regime.points} sizes, whose line has no errors that could be known")
        elif regime.rate_is_doubtful:
            findings.append(
                f"{where}: the rate is not identified: the bytes do not show beside the start-up; the fit "
                f"takes the likeliest, up to that of the link, {link / 1e9:.3g} GB/s"
            )
        findings += defects.poor(where, regime.accuracy.median, regime.scatter)
        if line.intercept <= 0 and regime is regimes[0]:
            findings.append(
                f"{where}: the start-up does not show beside the bytes: measure shorter messages; the fit "
                "takes none, and the line goes through the origin"
            )
    findings += defects.odd_start(regimes[0].lines["one_way"].intercept)
    shown = [1 / regime.lines["one_way"].slope for regime in regimes if regime.rate_is_plausible]
    return findings + (defects.beside_nominal(max(shown), nominal_Bps) if shown else [])


def link_Bps(regimes: Sequence[Regime], nominal_Bps: float | None) -> float:
    """Rate of the link: the fastest that shows, or the nominal one; the likeliest where there is neither."""
    shown = [1 / regime.lines["one_way"].slope for regime in regimes if regime.rate_is_plausible]
    if nominal_Bps is not None:
        shown.append(nominal_Bps)
    return max(shown or [1 / regime.lines["one_way"].slope for regime in regimes])


def _sources(
    regimes: Sequence[Regime], known: Mapping[float | None, str], *, learned: bool
) -> dict[float, str]:
    """Origin of each end of a regime."""
    ends = [regime.up_to for regime in regimes if regime.up_to is not None]
    return {end: known.get(end, "learned" if learned else "as given") for end in ends}


def _basis(limit: float | None, stated: float | None, *, given: bool) -> str:
    """Source of the eager limit; `stated`: what a user, a test or the configuration said."""
    if stated is None:
        return "not identified: no limit was known"
    source = "as given, or by tests" if given else "of the campaign's configuration"
    if limit == stated:
        return source
    return f"by the times, against {stated:.0f} B {source}"


def common_breakpoints(series: Mapping[str, Series], limits: Sequence[float]) -> list[float]:
    """Breakpoints that all kinds share: those learned for each, with the protocols' limits, thinned."""
    sizes = series["round_trip"].sizes
    limits = [limit for limit in limits if sizes[0] <= limit < sizes[-1]]
    learned = {
        point
        for kind in series.values()
        for point in learn(kind.sizes, kind.seconds, errors=kind.believed_errors).breakpoints
    }
    rank = {point: int(np.searchsorted(sizes, point, side="right")) for point in [*learned, *limits]}
    free = sorted(point for point in learned if all(abs(rank[point] - rank[limit]) > 1 for limit in limits))
    misfits = {name: _Misfits(kind) for name, kind in series.items()}

    def cost(points: Sequence[float]) -> float:
        edges = [0.0, *sorted([*points, *limits]), np.inf]
        ranges = list(itertools.pairwise(edges))
        whole = sum(kind.of(above, up_to) for kind in misfits.values() for above, up_to in ranges)
        return whole + (3 * len(series) + 1) * len(points) * np.log(len(sizes))

    best = cost(free)
    while free:
        costs = [cost([other for other in free if other != point]) for point in free]
        place = int(np.argmin(costs))
        if costs[place] > best:
            break
        best = costs[place]
        del free[place]
    return sorted([*free, *limits])


def _shown_limit(
    regimes: Sequence[Regime], limit: float | None, sizes: np.ndarray, findings: list[str]
) -> float | None:
    """The eager limit where it parts regimes; else the end of the regime around it, None if it has none."""
    if limit is None:
        return None
    around = (regime for regime in regimes if regime.above < limit)
    regime = next((one for one in around if one.up_to is None or limit < one.up_to), None)
    if regime is None:
        return limit
    longer = int(np.count_nonzero((sizes > limit) & (sizes <= (regime.up_to or np.inf))))
    if 2 * longer > np.count_nonzero((sizes > regime.above) & (sizes <= (regime.up_to or np.inf))):
        return regime.above
    findings.append(
        f"{longer} sizes above the eager limit of {limit:g} B do not tell what a handshake takes: longer "
        "messages are taken as eager, too; measure more of them"
    )
    return regime.up_to


def _believed_limit(regimes: Sequence[Regime], limit: float | None, findings: list[str]) -> float | None:
    """The eager limit, raised past regimes whose start-up leaves no time for a handshake of two messages."""
    handshake = 2 * regimes[0].lines["one_way"].intercept
    believed = limit
    for regime in regimes:
        start = regime.lines["one_way"].intercept
        if (
            believed is not None
            and regime.up_to is not None
            and regime.up_to > believed
            and start < handshake
        ):
            believed = regime.up_to
        elif believed is not None and (regime.up_to is None or regime.up_to > believed):
            break
    if believed != limit:
        findings.append(
            f"the eager limit of {limit:g} B is not in the times: up to {believed:g} B messages start "
            f"sooner than a "
            f"handshake of two messages, {1e6 * handshake:.3g} µs, would let them; the fit takes "
            f"{believed:g} B"
        )
    return believed


class _Misfits:
    """Weighted residuals of the lines of one kind, each range computed once."""

    def __init__(self, series: Series):
        self._series = series
        scatter = scatter_of(series.sizes, series.seconds)
        self._weights = np.maximum(scatter, ACCURACY) ** -2.0
        self._known: dict[tuple[int, int], float] = {}

    def of(self, above: float, up_to: float) -> float:
        """Residual of the line through the sizes in (above, up_to]."""
        sizes = self._series.sizes
        start, end = np.searchsorted(sizes, [above, up_to], side="right")
        if (start, end) not in self._known:
            part = slice(start, end)
            line = (
                log_line(sizes[part], self._series.seconds[part], self._weights[part])
                if end > start
                else None
            )
            self._known[start, end] = line.residual if line else 0.0
        return self._known[start, end]


def held_back(series: Series, breakpoints: Sequence[float] | None = None) -> tuple[Accuracy, Accuracy]:
    """Errors at the sizes of a fit to every other size, and at the sizes between them."""
    used = series.where(np.arange(len(series.sizes)) % 2 == 0)
    rest = series.where(np.arange(len(series.sizes)) % 2 == 1)
    if breakpoints is None:
        model = learn(used.sizes, used.seconds, errors=used.believed_errors)
    else:
        model = fit(used.sizes, used.seconds, breakpoints)
    return accuracy(model.at(used.sizes), used.seconds), accuracy(model.at(rest.sizes), rest.seconds)


def _regimes(
    series: Mapping[str, Series], breakpoints: Sequence[float], limit: float | None, findings: list[str]
) -> tuple[Regime, ...]:
    """Lines of every kind between the breakpoints; a regime whose line rises nowhere joins its neighbour."""
    one_way = series["one_way"]
    inner = defects.supported(one_way.sizes, breakpoints, LEAST_POINTS, findings)
    while True:
        edges = [0.0, *inner, np.inf]
        regimes = [_regime(series, above, up_to, limit) for above, up_to in itertools.pairwise(edges)]
        flat = next(
            (place for place, regime in enumerate(regimes) if regime.lines["one_way"].slope <= 0), None
        )
        if flat is None:
            return tuple(regimes)
        defects.no_slope(regimes[flat].above, regimes[flat].up_to, alone=len(regimes) == 1, findings=findings)
        sides = [side for side in (flat, flat - 1) if 0 <= side < len(inner)]
        del inner[next((side for side in sides if inner[side] != limit), sides[0])]


def _regime(series: Mapping[str, Series], above: float, up_to: float, limit: float | None) -> Regime:
    def within(part: Series, ends: tuple[float, float]) -> Series:
        return part.where((part.sizes > ends[0]) & (part.sizes <= ends[1]))

    calls = _of_one_protocol(within(series["one_way"], (above, up_to)).sizes, (above, up_to), limit)
    inside = {
        kind: within(part, (above, up_to) if kind in _MESSAGES else calls) for kind, part in series.items()
    }
    lines = {
        kind: log_line(part.sizes, part.seconds) for kind, part in inside.items() if len(part.sizes) >= 2
    }
    one_way, part = series["one_way"], inside["one_way"]
    scatter = scatter_of(one_way.sizes, one_way.seconds)[(one_way.sizes > above) & (one_way.sizes <= up_to)]
    return Regime(
        above,
        None if np.isinf(up_to) else up_to,
        lines,
        len(part.sizes),
        accuracy(lines["one_way"].at(part.sizes), part.seconds),
        float(np.median(scatter)),
        calls,
    )


def _of_one_protocol(
    sizes: np.ndarray, ends: tuple[float, float], limit: float | None
) -> tuple[float, float]:
    """Ends of the sizes whose calls count, in a regime that the eager limit does not end: most of its sizes.

    A send above the limit waits for its receiver, which one below does not: no line and no modes hold both.
    """
    above, up_to = ends
    if limit is None or not above < limit < up_to:
        return ends
    longer = int(np.count_nonzero(sizes > limit))
    return (limit, up_to) if 2 * longer > len(sizes) else (above, limit)
