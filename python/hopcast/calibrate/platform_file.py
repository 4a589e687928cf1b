"""A platform file from a fit: every number with its standard error, its range and its source.

A message of a platform file costs its sender a_s + b_s n (`send_overhead`), its receiver a_r + b_r n
(`receive_overhead`), the wire `2 nic.latency + latency`, and n / `process_rate`. Above the eager limit two
empty messages go before it. The fit's line a + b n of one message is laid out on these, so that their sum is
the line:

    overheads    = lines of send and receive up to the eager limit; above it the constant of isend
    process_rate = 1 / (b − b_s − b_r)         not above the NIC's bandwidth: b_s and b_r are cut to that
    latency      = a − a_s − a_r − 2 nic.latency − handshake

A call that begins to send has its own line (`isend_overhead`); polls and MPI_Wtime have their times by name.
With modes, each overhead has b n as its time, and what single calls take beside that as modes, in place of a;
lines go through means then, not medians. A latency with modes is less than the wire's mean by theirs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hopcast.calibrate import network_fit
from hopcast.calibrate.accuracy import percent
from hopcast.calibrate.latency_noise import Latency
from hopcast.calibrate.lines import Line
from hopcast.calibrate.mixtures import NORMAL, Mode
from hopcast.calibrate.network_fit import NetworkFit, Regime
from hopcast.calibrate.quantities import quoted
from hopcast.calibrate.sharing import Sharing

ROUNDING = 1e-9
"""Relative difference of two times that is one of arithmetic."""
Noise = Mapping[tuple[str, float, str], tuple[float, Sequence[Mode]]]
"""Slope [s/B] and modes of the calls of a campaign, of the regime above a size, and of a kind."""


Latencies = Mapping[tuple[str, float], Latency]
"""Noise of the wire of a campaign, of the regime above a size."""


@dataclass(frozen=True)
class Share:
    """Time of a process for a message: a + b n [s, s/B]."""

    start_s: float = 0.0
    per_byte_s: float = 0.0

    def cut(self, start: float, per_byte: float) -> Share:
        """These parts of it."""
        return Share(start * self.start_s, per_byte * self.per_byte_s)


@dataclass(frozen=True)
class Cost:
    """A regime as the platform file has it [s, B/s]."""

    send: Share
    receive: Share
    latency_s: float
    rate_Bps: float
    start_cut: float = 1.0
    """Part of the processes' measured start-up that is left to them."""
    findings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Machine:
    """Properties of a machine that measurements of messages do not give."""

    name: str
    source: str
    flop_rate: str
    hosts: int = 2
    processes: int = 1
    bandwidth_Bps: float | None = None
    library: str = "openmpi"


@dataclass(frozen=True)
class Level:
    """Messages between two processes of one group of a level inside hosts."""

    name: str
    processes: int
    """Process slots of a group."""
    fit: NetworkFit
    sharing: Sharing | None = None
    """Bandwidth of all pairs of a group, where it was measured."""


def costs(
    fit: NetworkFit,
    link_Bps: float | None = None,
    *,
    within_a_host: bool = False,
    latencies: Latencies | None = None,
) -> tuple[float, list[Cost]]:
    """Latency of a NIC's link, 0 within a host, and the cost of each regime.

    link_Bps: bandwidth of the link, where it is known: the wire takes no less for a byte.
    latencies: with noise, whose least is the NIC's part.
    """
    shares = [_overheads(regime, fit.eager_limit) for regime in fit.regimes]
    eager = [_is_eager(regime, fit.eager_limit) for regime in fit.regimes]
    starts = [regime.lines["one_way"].intercept for regime in fit.regimes]
    link = network_fit.link_Bps(fit.regimes, link_Bps)
    wire = [
        max(0.0, start - send.start_s - receive.start_s - (0.0 if early else 2 * starts[0]))
        for start, (send, receive), early in zip(starts, shares, eager, strict=True)
    ]
    own = [(latencies or {}).get((fit.campaign, regime.above)) for regime in fit.regimes]
    least = [
        time if noise is None else min(time, noise.base_s) for time, noise in zip(wire, own, strict=True)
    ]
    nic = 0.0 if within_a_host else min(least) / 2
    handshake = 2 * max(starts[0], 2 * nic)
    laid_out = []
    for regime, (send, receive), early in zip(fit.regimes, shares, eager, strict=True):
        line = regime.lines["one_way"]
        before = 2 * nic + (0.0 if early else handshake)
        rest = line.intercept - before
        findings = []
        bytes_s = send.per_byte_s + receive.per_byte_s
        on_link = min(1 / link, line.slope)
        both = 1.0 if bytes_s <= line.slope - on_link else (line.slope - on_link) / bytes_s
        if both < 1:
            findings.append(
                f"sender and receiver take {1e9 * bytes_s:.4g} ns for each byte, the whole message "
                f"{1e9 * line.slope:.4g}: they work while the wire does, and their shares are cut"
            )
        process_s = send.start_s + receive.start_s
        start = 1.0
        if rest < (1 - ROUNDING) * process_s:
            start = max(rest, 0.0) / process_s if process_s > 0 else 0.0
            findings.append(
                f"the start-up that fits best, {_time(line.intercept)}, is less than what "
                f"{_parts(early)} take: "
                "overheads are cut to it"
                + ("" if rest >= 0 else f", and every message takes {_time(-rest)} longer than its line")
            )
        send, receive = send.cut(start, both), receive.cut(start, both)
        latency = max(0.0, rest - send.start_s - receive.start_s)
        on_wire = line.slope - send.per_byte_s - receive.per_byte_s
        rate = 1 / on_wire if regime.rate_is_plausible else min(1 / on_wire, link)
        laid_out.append(Cost(send, receive, latency, rate, start, tuple(findings)))
    return nic, laid_out


def text(
    fit: NetworkFit,
    machine: Machine,
    memory: NetworkFit | None = None,
    noise: Noise | None = None,
    latencies: Latencies | None = None,
    levels: Sequence[Level] = (),
    sharing: Sharing | None = None,
    nic_sharing: Sharing | None = None,
) -> str:
    """The file, with modes of overheads and latencies where `noise` and `latencies` have them.

    levels: those inside hosts, from the innermost outwards.
    sharing: bandwidth of all messages within a host that no level holds.
    nic_sharing: that of all messages between two hosts.
    """
    noise, latencies = noise or {}, latencies or {}
    nominal = machine.bandwidth_Bps
    nic, laid_out = costs(fit, nominal, latencies=latencies)
    fastest = max(cost.rate_Bps for cost in laid_out)
    lines = [*_head(fit, machine), "", "[topology]", 'kind = "crossbar"', f"hosts = {machine.hosts}"]
    lines += ["", "[host]", f"processes = {machine.processes}"]
    for level in levels:
        if level.name == "socket" and machine.processes % level.processes == 0:
            lines.append(
                f"sockets = {machine.processes // level.processes}    # groups of the level 'socket'"
            )
            lines.append('socket_order = "block"')
    lines += ["", *_memory(fit, memory, nic, laid_out, noise, latencies, sharing)]
    for level in levels:
        lines += ["", *_level(level, noise, latencies)]
    lines += ["", "[nic]"]
    if nic_sharing is not None:
        lines.append(_nic_bandwidth(nic_sharing, fastest, nominal))
    elif nominal is not None and nominal >= fastest:
        lines.append(f'bandwidth = "{_rate(nominal)}"    # nominal')
    else:
        said = "" if nominal is None else f", though the nominal one is {_rate(nominal)}"
        lines.append(f'bandwidth = "{_rate(fastest)}"    # the fastest regime\'s{said}')
    lines.append(f'latency = "{_time(nic)}"    # half of what every regime spends on the wire')
    lines += ["", "[mpi]", f'library = "{machine.library}"']
    if fit.eager_limit is not None:
        lines.append(
            f'eager_limit = "{fit.eager_limit:.0f} B"    # of the campaign\'s configuration, or as given'
        )
    else:
        lines.append(
            f'eager_limit = "{_beyond(fit):.0f} B"    # no limit was known: all sizes are sent eagerly'
        )
    lines += _detached(fit, memory)
    if fit.test_s is not None:
        lines.append(f'poll = "{_time(fit.test_s)}"    # MPI_Test that finds nothing')
    lines.append(_reductions(fit.copy or (None if memory is None else memory.copy)))
    if memory is not None:
        limit = memory.eager_limit if memory.eager_limit is not None else _beyond(memory)
        lines.append(f'memory_eager_limit = "{limit:.0f} B"    # of the campaign within a host')
    else:
        take = (
            "those between hosts do" if fit.copy is None else "a memcpy does, which is less than an MPI takes"
        )
        lines.append(f'unmeasured = "messages within a host were not measured: they take what {take}"')
    lines += _measured(fit)
    lines += ["", "[compute]", f"flop_rate = {quoted(machine.flop_rate)}    # as given; no message tells it"]
    for number, (regime, cost) in enumerate(zip(fit.regimes, laid_out, strict=True), 1):
        lines += ["", *_regime(number, regime, cost, fit, noise, latencies)]
    for function, seconds in (("MPI_Iprobe", fit.iprobe_s), ("MPI_Wtime", fit.wtime_s)):
        if seconds:
            lines += ["", "[[mpi.functions]]", f'function = "{function}"', f'time = "{_time(seconds)}"']
    return "\n".join(lines) + "\n"


def runs(fit: NetworkFit) -> str:
    """Words on the runs that were joined."""
    least, most = f"{min(fit.runs):.3g}", f"{max(fit.runs):.3g}"
    return f"{len(fit.runs)} runs as one: their round trips take {least} to {most} of the fit's time"


def _head(fit: NetworkFit, machine: Machine) -> list[str]:
    one_way = [regime.accuracy for regime in fit.regimes]
    worst = max(one_way, key=lambda accuracy: accuracy.median)
    lines = [
        f"# Fitted by `hopcast calibrate fit` to the campaign '{fit.campaign}' of {machine.source}.",
        "#",
        "# Times of one message are half of the measured round trips; sizes are bytes.",
        f"# Measured: {fit.sizes[0]:.0f} B to {fit.sizes[1]:.0f} B, {fit.repetitions} repetitions of a size; "
        "longer messages are an extrapolation, of which runs warn.",
        f"# Relative error of ping-pongs at these sizes: at most {percent(worst.median)} in the median "
        f"of a regime.",
        "# A value stands with its standard error, where the data give one.",
    ]
    if fit.runs:
        lines.append(f"# {runs(fit)}; how they differ counts as an error of single sizes.")
    for finding in fit.findings:
        lines.append(f"# note: {finding}")
    source = f"measured: {machine.source}, campaign {fit.campaign}"
    lines += [f"name = {quoted(machine.name)}", f"source = {quoted(source)}"]
    return lines


def _memory(
    fit: NetworkFit,
    memory: NetworkFit | None,
    nic: float,
    laid_out: list[Cost],
    noise: Noise,
    latencies: Latencies,
    sharing: Sharing | None,
) -> list[str]:
    if memory is None and fit.copy is not None:
        return [
            "[host.memory]    # messages were not measured: what memcpy takes",
            f'latency = "{_time(max(fit.copy.intercept, 0.0))}"    # of the line {_line(fit.copy)}',
            f'bandwidth = "{_rate(1 / fit.copy.slope)}"'
            f"{_relative_error(fit.copy.slope, fit.copy.slope_error)}",
            'send_overhead = "0 us"',
            'receive_overhead = "0 us"',
        ]
    if memory is None:
        lines = ["[host.memory]    # not measured: as between hosts"]
        lines += [
            f'latency = "{_time(2 * nic + laid_out[0].latency_s)}"',
            f'bandwidth = "{_rate(laid_out[-1].rate_Bps)}"',
        ]
        return lines
    keys = [*_total(sharing), *_measured(memory)]
    return _copies("[host.memory]", "[[host.memory.regimes]]", keys, memory, noise, latencies)


def _measured(fit: NetworkFit) -> list[str]:
    """Range of sizes of a campaign: runs say which share of their messages lies beyond it."""
    shortest, longest = fit.sizes
    return [f'shortest_measured = "{shortest:.0f} B"', f'longest_measured = "{longest:.0f} B"']


def _detached(fit: NetworkFit, memory: NetworkFit | None) -> list[str]:
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


def _level(level: Level, noise: Noise, latencies: Latencies) -> list[str]:
    keys = [f"name = {quoted(level.name)}", f"processes = {level.processes}", *_total(level.sharing)]
    return _copies("[[host.levels]]", "[[host.levels.regimes]]", keys, level.fit, noise, latencies)


def _reductions(copy: Line | None) -> str:
    """Rate of combining operands, by that of a copy: three bytes move for one of an operand, not two."""
    if copy is None:
        return "# reduce_rate: neither reductions nor memcpy were measured: combining operands takes no time"
    said = "not measured: two thirds of what memcpy does, since two operands are read"
    return f'reduce_rate = "{_rate(2 / 3 / copy.slope)}"    # {said}'


def _nic_bandwidth(sharing: Sharing, fastest: float, nominal: float | None) -> str:
    """The NIC's bandwidth: of all pairs, or the least that it can be where they do not slow each other."""
    if sharing.total_Bps is not None:
        error = f" ± {percent(sharing.error)};" if math.isfinite(sharing.error) else ""
        said = f"{error} of 1 to {sharing.pairs} pairs: {sharing.accuracy}"
        return f'bandwidth = "{_rate(max(sharing.total_Bps, fastest))}"    #{said}'
    least = max(sharing.pairs * fastest, nominal or 0.0)
    return (
        f'bandwidth = "{_rate(least)}"    # not identified: at least that, since {sharing.pairs} pairs do '
        "not slow each other"
    )


def _total(sharing: Sharing | None) -> list[str]:
    """Bandwidth of a group, or why there is none."""
    if sharing is None:
        return []
    if sharing.total_Bps is None:
        return [f"# total_bandwidth {sharing}"]
    error = f" ± {percent(sharing.error)};" if math.isfinite(sharing.error) else ""
    return [
        f'total_bandwidth = "{_rate(sharing.total_Bps)}"    #{error} of 1 to {sharing.pairs} pairs: '
        f"{sharing.accuracy}"
    ]


def rate_of(fit: NetworkFit, *, within_a_host: bool = True) -> Callable[[float], float]:
    """Bandwidth of one message by its size."""
    _, laid_out = costs(fit, within_a_host=within_a_host)
    ends = [math.inf if regime.up_to is None else regime.up_to for regime in fit.regimes]
    return lambda size: next(cost.rate_Bps for end, cost in zip(ends, laid_out, strict=True) if size <= end)


def _copies(
    longest: str,
    shorter: str,
    keys: Sequence[str],
    memory: NetworkFit,
    noise: Noise,
    latencies: Latencies,
) -> list[str]:
    """The section `longest`, with these keys, and its regimes `shorter`, of a fit within a host."""
    _, laid_out = costs(memory, within_a_host=True)
    pairs = list(zip(memory.regimes, laid_out, strict=True))
    lines = []
    for regime, cost in [pairs[-1], *pairs[:-1]]:
        line = regime.lines["one_way"]
        if regime.up_to is None:
            lines += [
                f"{longest}    # campaign '{memory.campaign}'; longest regime: {regime.accuracy}",
                *keys,
            ]
        else:
            lines += ["", f"{shorter}    # {regime.accuracy}", f'up_to = "{regime.up_to:.0f} B"']
        lines += [
            *_latency(cost, line, latencies.get((memory.campaign, regime.above))),
            f'bandwidth = "{_rate(cost.rate_Bps)}"{_relative_error(line.slope, line.slope_error)}',
            *_processes(regime, cost, memory, noise),
        ]
        lines += [f"# note: {finding}" for finding in cost.findings]
    return lines


def _regime(
    number: int, regime: Regime, cost: Cost, fit: NetworkFit, noise: Noise, latencies: Latencies
) -> list[str]:
    early = _is_eager(regime, fit.eager_limit)
    line = regime.lines["one_way"]
    lines = [
        f"[[mpi.regimes]]    # {regime.points} sizes; error of ping-pongs: {regime.accuracy}",
        f'name = "{"eager" if early else "rendezvous"} {number}"',
    ]
    if regime.scatter > 0.05:
        lines.insert(
            0, f"# Neighbouring sizes scatter by {percent(regime.scatter)}: no smooth curve comes closer."
        )
    if regime.up_to is not None:
        lines.append(f'up_to = "{regime.up_to:.0f} B"')
    lines += _processes(regime, cost, fit, noise)
    lines += _latency(cost, line, latencies.get((fit.campaign, regime.above)))
    error = _relative_error(line.slope, line.slope_error)
    if regime.rate_is_doubtful:
        error = error.replace("#", "# not identified:", 1) or "    # not identified"
    lines.append(f'process_rate = "{_rate(cost.rate_Bps)}"{error}')
    return lines + [f"# note: {finding}" for finding in cost.findings]


def _latency(cost: Cost, line: Line, noise: Latency | None) -> list[str]:
    """The wire's time, with its modes: both have the mean that the line leaves."""
    if noise is None:
        return [f'latency = "{_time(cost.latency_s)}"    # of the line {_line(line)}']
    late = sum(mode.weight * mode.mean for mode in noise.modes)
    modes = [f"    {_mode(mode, 1.0)}," for mode in noise.modes]
    return [
        f'latency = "{_time(max(0.0, cost.latency_s - late))}"    # less its modes, of {_line(line)}',
        *("latency_modes = [", *modes, "]"),
    ]


def _processes(regime: Regime, cost: Cost, fit: NetworkFit, noise: Noise) -> list[str]:
    """Times of sender and receiver, with their modes, cut like the times."""
    early = _is_eager(regime, fit.eager_limit)
    shares = [
        ("send", "send" if early else "isend", cost.send),
        ("receive", "recv" if early else "", cost.receive),
    ]
    if "isend" in regime.lines:
        line = regime.lines["isend"]
        shares.append(("isend", "isend", Share(line.intercept, line.slope)))
    lines = []
    for key, kind, share in shares:
        found = noise.get((fit.campaign, regime.above, kind))
        is_own = key == "isend" or early
        measured = ""
        if kind in regime.lines and share != Share():
            measured = f"    # {kind}: {_line(regime.lines[kind])}"
        elif early and kind not in regime.lines:
            measured = "    # not measured: counted as the network's"
        if found is None or not is_own:
            lines.append(f'{key}_overhead = "{_linear(share)}"{measured}')
            continue
        part = 1.0 if key == "isend" else cost.start_cut
        lines.append(f'{key}_overhead = "{_linear(Share(0.0, share.per_byte_s))}"{measured}')
        lines += [f"{key}_modes = [", *(f"    {_mode(mode, part)}," for mode in found[1]), "]"]
    return lines


def _mode(mode: Mode, part: float) -> str:
    """The mode of times of which a part is left."""
    deviation = f', deviation = "{1e9 * part * mode.deviation:.6g} ns"' if mode.deviation > 0 else ""
    shape = "" if mode.shape == NORMAL else f', shape = "{mode.shape}"'
    return f'{{ weight = {mode.weight:.6g}, mean = "{1e9 * part * mode.mean:.6g} ns"{deviation}{shape} }}'


def _overheads(regime: Regime, eager_limit: float | None) -> tuple[Share, Share]:
    """Times of sender and receiver. Above the eager limit their bytes are the transfer's."""
    if not _is_eager(regime, eager_limit):
        return Share(regime.lines["isend"].intercept) if "isend" in regime.lines else Share(), Share()
    send, receive = (
        Share(regime.lines[kind].intercept, regime.lines[kind].slope) if kind in regime.lines else Share()
        for kind in ("send", "recv")
    )
    return send, receive


def _is_eager(regime: Regime, limit: float | None) -> bool:
    return limit is None or (regime.up_to is not None and regime.up_to <= limit)


def _beyond(fit: NetworkFit) -> float:
    return 2.0 ** math.ceil(math.log2(fit.sizes[1] + 1))


def _parts(early: bool) -> str:
    return "sender, receiver and wire" if early else "the handshake and the wire"


def _line(line: Line) -> str:
    start = f"{1e6 * line.intercept:.4g} µs" + _plus_minus(1e6 * line.intercept_error)
    together = f", correlation {line.correlation:.3f}" if math.isfinite(line.correlation) else ""
    return f"{start} + {1e9 * line.slope:.4g} ns/B{_plus_minus(1e9 * line.slope_error)} n{together}"


def _plus_minus(error: float) -> str:
    return f" (± {error:.2g})" if math.isfinite(error) else " (at its bound)"


def _relative_error(value: float, error: float) -> str:
    return f"    # ± {percent(error / value)}" if value > 0 and math.isfinite(error) else ""


def _linear(share: Share) -> str:
    """As a platform file writes a + b n."""
    return _time(share.start_s) + (f" + {1e12 * share.per_byte_s:.6g} ps/B" if share.per_byte_s > 0 else "")


def _time(seconds: float) -> str:
    return f"{round(1e6 * seconds, 6):.6g} us"


def _rate(bytes_per_second: float) -> str:
    return f"{1e-9 * bytes_per_second:.6g} GB/s"
