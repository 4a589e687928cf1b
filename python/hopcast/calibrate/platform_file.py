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

import numpy as np

from hopcast.calibrate import network_fit, platform_values as values
from hopcast.calibrate.accuracy import percent
from hopcast.calibrate.latency_noise import Latency
from hopcast.calibrate.lines import Line
from hopcast.calibrate.mixtures import Mode
from hopcast.calibrate.network_fit import NetworkFit, Regime
from hopcast.calibrate.quantities import quoted
from hopcast.calibrate.sharing import Sharing

ROUNDING = 1e-9
"""Relative difference of two times that is one of arithmetic."""
Noise = Mapping[tuple[str, float, str], tuple[float, Sequence[Mode], int]]
"""Slope [s/B], modes and number of the calls of a campaign, of the regime above a size, and of a kind."""


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
    wire_error_s: float = math.nan
    """Standard error of the wire's time, the NIC's part with it."""
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
                f"the start-up that fits best, {values.time(line.intercept)}, is less than what "
                f"{_parts(early)} take: "
                "overheads are cut to it"
                + (
                    ""
                    if rest >= 0
                    else f", and every message takes {values.time(-rest)} longer than its line"
                )
            )
        send, receive = send.cut(start, both), receive.cut(start, both)
        latency = max(0.0, rest - send.start_s - receive.start_s)
        on_wire = line.slope - send.per_byte_s - receive.per_byte_s
        rate = 1 / on_wire if regime.rate_is_plausible else min(1 / on_wire, link)
        error = _wire_error(fit, regime)
        laid_out.append(Cost(send, receive, latency, rate, error, start, tuple(findings)))
    return nic, laid_out


def _wire_error(fit: NetworkFit, regime: Regime) -> float:
    """Standard error of a message's time without its calls and handshake; those at a bound have none."""
    early = _is_eager(regime, fit.eager_limit)
    kinds = ("one_way", "send", "recv") if early else ("one_way", "isend")
    errors = [regime.lines[kind].intercept_error for kind in kinds if kind in regime.lines]
    if not early:
        errors.append(2 * fit.regimes[0].lines["one_way"].intercept_error)
    return math.nan if math.isnan(errors[0]) else math.hypot(*np.nan_to_num(errors))


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
    lines = [
        *_head(fit, machine),
        "",
        "[topology]",
        'kind = "crossbar"',
        f"hosts = {machine.hosts}{values.GIVEN}",
    ]
    lines += ["", "[host]", f"processes = {machine.processes}{values.GIVEN}"]
    for level in levels:
        if level.name == "socket" and machine.processes % level.processes == 0:
            lines.append(
                f"sockets = {machine.processes // level.processes}    # groups of the level 'socket'"
            )
            lines.append('socket_order = "block"')
    lines += ["", *_memory(fit, memory, nic, laid_out, noise, latencies, sharing)]
    for level in levels:
        lines += ["", *_level(level, noise, latencies)]
    lines += ["", *_nic(fit, nic, laid_out, nominal, nic_sharing)]
    lines += ["", *_mpi(fit, memory, machine.library)]
    lines += ["", "[compute]", f"flop_rate = {quoted(machine.flop_rate)}{values.GIVEN}"]
    for number, (regime, cost) in enumerate(zip(fit.regimes, laid_out, strict=True), 1):
        lines += ["", *_regime(number, regime, cost, fit, noise, latencies)]
    for function, found in (("MPI_Iprobe", fit.iprobe), ("MPI_Wtime", fit.wtime)):
        if found.seconds is None:
            lines += ["", f"# the time of {function}: {found.basis}"]
        else:
            lines += ["", "[[mpi.functions]]", f'function = "{function}"']
            lines.append(f'time = "{values.time(found.seconds)}"    # {found.comment}')
    return "\n".join(lines) + "\n"


def _nic(
    fit: NetworkFit, latency_s: float, laid_out: list[Cost], nominal: float | None, sharing: Sharing | None
) -> list[str]:
    fastest = max(cost.rate_Bps for cost in laid_out)
    lines = ["[nic]"]
    if sharing is not None:
        lines.append(_nic_bandwidth(sharing, fastest, nominal))
    elif nominal is not None and nominal >= fastest:
        lines.append(f'bandwidth = "{values.rate(nominal)}"    # nominal, as given: no standard error')
    else:
        said = "" if nominal is None else f", though the nominal one is {values.rate(nominal)}"
        own = values.rate_error(
            fit.regimes[max(range(len(laid_out)), key=lambda one: laid_out[one].rate_Bps)]
        )
        lines.append(f'bandwidth = "{values.rate(fastest)}"    # the fastest regime\'s, {own}{said}')
    error = min(laid_out, key=lambda cost: cost.latency_s).wire_error_s / 2
    said = f"{values.plus_minus(1e6 * error)}, half of what every regime spends on the wire"
    return [*lines, f'latency = "{values.time(latency_s)}"    # of {1e6 * latency_s:.4g} µs{said}']


def _mpi(fit: NetworkFit, memory: NetworkFit | None, library: str) -> list[str]:
    """Limits of the protocols and times that no regime has."""
    lines = ["[mpi]", f'library = "{library}"']
    if fit.eager_limit is not None:
        lines.append(f'eager_limit = "{fit.eager_limit:.0f} B"    # {values.eager_limit_source(fit)}')
    else:
        lines.append(
            f'eager_limit = "{_beyond(fit):.0f} B"    # {fit.eager_basis}: above all sizes that were measured'
        )
    lines += values.detached_limit(fit, memory)
    if fit.test.seconds is None:
        lines.append(f"# poll: {fit.test.basis}: polls take the default of mpi.poll")
    else:
        lines.append(f'poll = "{values.time(fit.test.seconds)}"    # {fit.test.comment}')
    lines.append(values.reduce_rate(fit.copy or (None if memory is None else memory.copy)))
    if memory is not None:
        limit = memory.eager_limit if memory.eager_limit is not None else _beyond(memory)
        lines.append(
            f'memory_eager_limit = "{limit:.0f} B"    # within a host: {values.eager_limit_source(memory)}'
        )
    else:
        take = (
            "those between hosts do" if fit.copy is None else "a memcpy does, which is less than an MPI takes"
        )
        lines.append(f'unmeasured = "messages within a host were not measured: they take what {take}"')
    return lines + values.measured_range(fit)


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
        "# A value stands with its standard error, ±, and its source. Those of a regime are valid from the",
        "# end of the regime before it, or shortest_measured, to its own, or longest_measured. The error of",
        "# a latency is that of the wire's whole time, the NIC's with it.",
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
            f'latency = "{values.time(max(fit.copy.intercept, 0.0))}"    # of the line '
            f"{values.line(fit.copy)}",
            f'bandwidth = "{values.rate(1 / fit.copy.slope)}"'
            f"{values.relative_error(fit.copy.slope, fit.copy.slope_error)}",
            'send_overhead = "0 us"    # not measured: counted as the latency\'s',
            'receive_overhead = "0 us"    # not measured: counted as the latency\'s',
        ]
    if memory is None:
        lines = ["[host.memory]    # not measured: as between hosts"]
        lines += [
            f'latency = "{values.time(2 * nic + laid_out[0].latency_s)}"    # as between hosts',
            f'bandwidth = "{values.rate(laid_out[-1].rate_Bps)}"    # as between hosts',
        ]
        return lines
    keys = [*values.total_bandwidth(sharing), *values.measured_range(memory)]
    return _copies("[host.memory]", "[[host.memory.regimes]]", keys, memory, noise, latencies)


def _level(level: Level, noise: Noise, latencies: Latencies) -> list[str]:
    keys = [
        f"name = {quoted(level.name)}",
        f"processes = {level.processes}{values.GIVEN}",
        *values.total_bandwidth(level.sharing),
    ]
    return _copies("[[host.levels]]", "[[host.levels.regimes]]", keys, level.fit, noise, latencies)


def _nic_bandwidth(sharing: Sharing, fastest: float, nominal: float | None) -> str:
    """The NIC's bandwidth: of all pairs, or the least that it can be where they do not slow each other."""
    if sharing.total_Bps is not None:
        error = f" ± {percent(sharing.error)};" if math.isfinite(sharing.error) else ""
        said = f"{error} of 1 to {sharing.pairs} pairs: {sharing.accuracy}"
        return f'bandwidth = "{values.rate(max(sharing.total_Bps, fastest))}"    #{said}'
    least = max(sharing.pairs * fastest, nominal or 0.0)
    return (
        f'bandwidth = "{values.rate(least)}"    # not identified: at least that, since {sharing.pairs} pairs '
        "do not slow each other"
    )


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
            lines += ["", f"{shorter}    # {regime.accuracy}", values.end_of_regime(memory, regime.up_to)]
        lines += [
            *_latency(cost, line, latencies.get((memory.campaign, regime.above))),
            f'bandwidth = "{values.rate(cost.rate_Bps)}"    # {values.rate_error(regime)}',
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
        lines.append(values.end_of_regime(fit, regime.up_to))
    lines += _processes(regime, cost, fit, noise)
    lines += _latency(cost, line, latencies.get((fit.campaign, regime.above)))
    error = values.relative_error(line.slope, line.slope_error)
    if regime.rate_is_doubtful:
        error = error.replace("#", "# not identified:", 1) or "    # not identified"
    lines.append(f'process_rate = "{values.rate(cost.rate_Bps)}"{error}')
    return lines + [f"# note: {finding}" for finding in cost.findings]


def _latency(cost: Cost, line: Line, noise: Latency | None) -> list[str]:
    """The wire's time, with its modes: both have the mean that the line leaves."""
    error = "no standard error" if math.isnan(cost.wire_error_s) else f"± {1e6 * cost.wire_error_s:.2g} µs"
    if noise is None:
        of = f"of the line {values.line(line)}; {error}"
        return [f'latency = "{values.time(cost.latency_s)}"    # {of}']
    late = sum(mode.weight * mode.mean for mode in noise.modes)
    modes = [f"    {values.mode_text(mode, 1.0)}," for mode in noise.modes]
    of = f"less its modes, of {values.line(line)}; {error}"
    return [
        f'latency = "{values.time(max(0.0, cost.latency_s - late))}"    # {of}',
        "# latency_modes: what round trips vary by beside their calls; no standard errors are known",
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
        if not early and key == "receive":
            measured = "    # above the eager limit a receive is the transfer itself"
        elif kind in regime.lines and share != Share():
            measured = f"    # {kind}: {values.line(regime.lines[kind])}"
        elif kind in regime.lines:
            measured = f"{values.AT_BOUND}; {kind}: {values.line(regime.lines[kind])}"
        else:
            measured = "    # not measured: counted as the network's"
        if found is None or not is_own:
            lines.append(f'{key}_overhead = "{values.linear(share.start_s, share.per_byte_s)}"{measured}')
            continue
        part = 1.0 if key == "isend" else cost.start_cut
        lines.append(f'{key}_overhead = "{values.linear(0.0, share.per_byte_s)}"{measured}')
        modes = [
            f"    {values.mode_text(mode, part)},{values.mode_error(mode, part, found[2])}"
            for mode in found[1]
        ]
        lines += [f"{key}_modes = [", *modes, "]"]
    return lines


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
