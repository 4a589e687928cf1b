"""A platform file from a fit: every number with its standard error, its range and its source.

A message of a platform file costs its sender `send_overhead`, its receiver `receive_overhead`, the wire
`2 nic.latency + latency`, and n / `process_rate`. Above the eager limit two empty messages go before it. The
fit's line a + b n of one message is laid out on these, so that their sum is the line:

    process_rate = 1 / b               what the processes take for each byte is in it, too
    overheads    = constants of send and receive
    latency      = a − overheads − 2 nic.latency − handshake

Times that do not depend on the size alone, spreads and the times of `isend`, which no key can hold yet, stand
in comments.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from hopcast.calibrate.accuracy import percent
from hopcast.calibrate.network_fit import NetworkFit, Regime


@dataclass(frozen=True)
class Cost:
    """A regime as the platform file has it [s, B/s]."""

    send_s: float
    receive_s: float
    latency_s: float
    rate_Bps: float
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


def costs(fit: NetworkFit) -> tuple[float, list[Cost]]:
    """Latency of a NIC's link, and the cost of each regime."""
    shares = [_overheads(regime, fit.eager_limit) for regime in fit.regimes]
    eager = [_is_eager(regime, fit.eager_limit) for regime in fit.regimes]
    starts = [regime.lines["one_way"].intercept for regime in fit.regimes]
    wire = [start - sum(share) for start, share, early in zip(starts, shares, eager, strict=True) if early]
    nic = max(0.0, min(wire, default=0.0)) / 2
    handshake = 2 * max(starts[0], 2 * nic)
    laid_out = []
    for regime, (send, receive), early in zip(fit.regimes, shares, eager, strict=True):
        line = regime.lines["one_way"]
        before = 2 * nic + (0.0 if early else handshake)
        rest = line.intercept - before
        findings = []
        if rest < send + receive:
            cut = max(rest, 0.0) / (send + receive) if send + receive > 0 else 0.0
            send, receive = cut * send, cut * receive
            findings.append(
                f"the start-up that fits best, {_time(line.intercept)}, is less than what "
                f"{_parts(early)} take: "
                "overheads are cut to it"
                + ("" if rest >= 0 else f", and every message takes {_time(-rest)} longer than its line")
            )
        latency = max(0.0, rest - send - receive)
        laid_out.append(Cost(send, receive, latency, 1 / line.slope, tuple(findings)))
    return nic, laid_out


def text(fit: NetworkFit, machine: Machine, memory: NetworkFit | None = None) -> str:
    """The file."""
    nic, laid_out = costs(fit)
    fastest = max(cost.rate_Bps for cost in laid_out)
    nominal = machine.bandwidth_Bps
    lines = [*_head(fit, machine), "", "[topology]", 'kind = "crossbar"', f"hosts = {machine.hosts}"]
    lines += ["", "[host]", f"processes = {machine.processes}"]
    lines += ["", *_memory(fit, memory, nic, laid_out)]
    lines += ["", "[nic]"]
    if nominal is not None and nominal >= fastest:
        lines.append(f'bandwidth = "{_rate(nominal)}"    # nominal')
    else:
        said = "" if nominal is None else f", though the nominal one is {_rate(nominal)}"
        lines.append(f'bandwidth = "{_rate(fastest)}"    # the fastest regime\'s{said}')
    lines.append(f'latency = "{_time(nic)}"    # half of what every eager regime spends on the wire')
    lines += ["", "[mpi]", f'library = "{machine.library}"']
    if fit.eager_limit is not None:
        lines.append(
            f'eager_limit = "{fit.eager_limit:.0f} B"    # of the campaign\'s configuration, or as given'
        )
    else:
        lines.append(
            f'eager_limit = "{_beyond(fit):.0f} B"    # no limit was known: all sizes are sent eagerly'
        )
    if fit.test_s is not None:
        lines.append(
            f'poll = "{_time(fit.test_s)}"    # MPI_Test that finds nothing; MPI_Iprobe took '
            + (_time(fit.iprobe_s) if fit.iprobe_s is not None else "an unknown time")
        )
    if memory is not None:
        limit = memory.eager_limit if memory.eager_limit is not None else _beyond(memory)
        lines.append(f'memory_eager_limit = "{limit:.0f} B"    # of the campaign within a host')
    else:
        lines.append(
            'unmeasured = "messages within a host were not measured: they take what those between hosts do"'
        )
    lines += ["", "[compute]", f'flop_rate = "{machine.flop_rate}"    # as given; no message tells it']
    for number, (regime, cost) in enumerate(zip(fit.regimes, laid_out, strict=True), 1):
        lines += ["", *_regime(number, regime, cost, fit)]
    return "\n".join(lines) + "\n"


def _head(fit: NetworkFit, machine: Machine) -> list[str]:
    one_way = [regime.accuracy for regime in fit.regimes]
    worst = max(one_way, key=lambda accuracy: accuracy.median)
    lines = [
        f"# Fitted by `hopcast calibrate fit` to the campaign '{fit.campaign}' of {machine.source}.",
        "#",
        "# Times of one message are half of the measured round trips; sizes are bytes.",
        f"# Measured: {fit.sizes[0]:.0f} B to {fit.sizes[1]:.0f} B, {fit.repetitions} repetitions of a size; "
        "longer messages are an extrapolation.",
        f"# Relative error of ping-pongs at these sizes: at most {percent(worst.median)} in the median "
        f"of a regime.",
        "# A value stands with its standard error, where the data give one.",
    ]
    for finding in fit.findings:
        lines.append(f"# note: {finding}")
    lines += [f'name = "{machine.name}"', f'source = "measured: {machine.source}, campaign {fit.campaign}"']
    return lines


def _memory(fit: NetworkFit, memory: NetworkFit | None, nic: float, laid_out: list[Cost]) -> list[str]:
    if memory is None:
        lines = ["[host.memory]    # not measured: as between hosts"]
        lines += [
            f'latency = "{_time(2 * nic + laid_out[0].latency_s)}"',
            f'bandwidth = "{_rate(laid_out[-1].rate_Bps)}"',
        ]
        return lines
    send, receive, rooms, findings = _memory_overheads(memory)

    def latency(regime: Regime) -> str:
        return _time(max(0.0, rooms[memory.regimes.index(regime)] - send - receive))

    last = memory.regimes[-1]
    lines = [
        f"[host.memory]    # campaign '{memory.campaign}'; longest regime: {last.accuracy}",
        f'latency = "{latency(last)}"',
        f'bandwidth = "{_rate(1 / last.lines["one_way"].slope)}"',
        f'send_overhead = "{_time(send)}"',
        f'receive_overhead = "{_time(receive)}"',
    ]
    lines[1:1] = [f"# note: {finding}" for finding in findings]
    for regime in memory.regimes[:-1]:
        line = regime.lines["one_way"]
        lines += [
            "",
            f"[[host.memory.regimes]]    # {regime.accuracy}",
            f'up_to = "{regime.up_to:.0f} B"',
            f'latency = "{latency(regime)}"',
            f'bandwidth = "{_rate(1 / line.slope)}"{_relative_error(line.slope, line.slope_error)}',
        ]
    return lines


def _memory_overheads(memory: NetworkFit) -> tuple[float, float, list[float], list[str]]:
    """Overheads, which all regimes within a host share, and what each leaves for them and its latency."""
    starts = [regime.lines["one_way"].intercept for regime in memory.regimes]
    rooms = [
        start - (0.0 if _is_eager(regime, memory.eager_limit) else 2 * starts[0])
        for regime, start in zip(memory.regimes, starts, strict=True)
    ]
    send, receive = _overheads(memory.regimes[0], None)
    least, findings = min(rooms), []
    if least < send + receive:
        cut = max(least, 0.0) / (send + receive)
        send, receive = cut * send, cut * receive
        findings.append(
            f"the start-up of a regime leaves {_time(max(least, 0.0))} beside its handshake, less than what "
            "sender and receiver take in the first: overheads are cut to it, and the rest is latency"
        )
    if least < 0:
        findings.append(
            f"the start-up of a regime is less than its handshake: its messages take {_time(-least)} longer"
        )
    return send, receive, rooms, findings


def _regime(number: int, regime: Regime, cost: Cost, fit: NetworkFit) -> list[str]:
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
    sources = {"send_overhead": ("send" if early else "isend"), "receive_overhead": "recv"}
    for key, value in (("send_overhead", cost.send_s), ("receive_overhead", cost.receive_s)):
        kind = regime.lines.get(sources[key])
        measured = "" if kind is None or not value else f"    # {sources[key]}: {_line(kind)}"
        lines.append(f'{key} = "{_time(value)}"{measured}')
    lines.append(f'latency = "{_time(cost.latency_s)}"    # of the line {_line(line)}')
    error = _relative_error(line.slope, line.slope_error)
    if regime.rate_is_doubtful:
        error = error.replace("#", "# not identified:", 1) or "    # not identified"
    lines.append(f'process_rate = "{_rate(cost.rate_Bps)}"{error}')
    if early and "isend" in regime.lines:
        lines.append(f"# isend: {_line(regime.lines['isend'])}, for which there is no key")
    return lines + [f"# note: {finding}" for finding in cost.findings]


def _overheads(regime: Regime, eager_limit: float | None) -> tuple[float, float]:
    """Constant time of sender and receiver."""
    kinds = ("send", "recv") if _is_eager(regime, eager_limit) else ("isend", "")
    send, receive = (regime.lines[kind].intercept if kind in regime.lines else 0.0 for kind in kinds)
    return send, receive


def _is_eager(regime: Regime, limit: float | None) -> bool:
    return limit is None or (regime.up_to is not None and regime.up_to <= limit)


def _beyond(fit: NetworkFit) -> float:
    return 2.0 ** math.ceil(math.log2(fit.sizes[1] + 1))


def _parts(early: bool) -> str:
    return "sender, receiver and wire" if early else "the handshake and the wire"


def _line(line) -> str:
    start = f"{1e6 * line.intercept:.4g} µs" + _plus_minus(1e6 * line.intercept_error)
    return f"{start} + {1e9 * line.slope:.4g} ns/B{_plus_minus(1e9 * line.slope_error)} n"


def _plus_minus(error: float) -> str:
    return f" (± {error:.2g})" if math.isfinite(error) else " (at its bound)"


def _relative_error(value: float, error: float) -> str:
    return f"    # ± {percent(error / value)}" if value > 0 and math.isfinite(error) else ""


def _time(seconds: float) -> str:
    return f"{round(1e6 * seconds, 6):.6g} us"


def _rate(bytes_per_second: float) -> str:
    return f"{1e-9 * bytes_per_second:.6g} GB/s"
