"""A platform beside measurements: ping-pongs and calls of every measured size are simulated on it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hopcast.calibrate import quantities
from hopcast.calibrate.accuracy import Accuracy, accuracy
from hopcast.calibrate.series import Series
from hopcast.errors import InputError
from hopcast.toml import tomllib

REPEATS = 50


@dataclass(frozen=True)
class Row:
    """Errors at the sizes of one regime."""

    above: float
    up_to: float | None
    accuracy: Accuracy


def ping_pong_s(
    platform: str, sizes: Sequence[float] | np.ndarray, *, partner: int | None = None
) -> np.ndarray:
    """Predicted round trips between two processes, without the time of the clock.

    partner: slot of the second process on the host of the first, which has slot 0. Default: each has its
    own host.
    On a platform with noise they are means.
    """
    repeats = repetitions(platform)
    lengths = [int(size) for size in sizes] * repeats

    def program(comm):
        times = []
        start = comm.Wtime()
        clock = comm.Wtime() - start
        for nbytes in lengths:
            start = comm.Wtime()
            if comm.rank == 0:
                comm.send(nbytes=nbytes, dest=1)
                comm.recv(source=1)
            else:
                comm.recv(source=0)
                comm.send(nbytes=nbytes, dest=0)
            times.append(comm.Wtime() - start - clock)
        return times

    return np.array(first_result(platform, program, partner)).reshape(repeats, -1).mean(axis=0)


def first_result(platform: str, program: Callable, partner: int | None) -> list:
    """Result of the first of two ranks of `program`: on two hosts, or in slots 0 and `partner` of one."""
    import hopcast

    placement = None if partner is None else ["0:0", f"0:{partner}"]
    report = hopcast.run(platform, program, 2, ppn=1 if partner is None else None, placement=placement)
    assert report.results is not None, "it is a rank function"
    return report.results[0]


def partner_at(platform: str, level: str) -> int:
    """Slot of a process that is together with slot 0 at this level of a host, and at none inside it.

    level: its name, or `host` for processes that no level holds.
    """
    from hopcast import core

    host = tomllib.loads(core.platform_text(platform, (), True))["host"]
    levels = {one["name"]: one["processes"] for one in host.get("levels", [])}
    sizes = {**levels, "host": host["processes"]}
    if level not in sizes:
        raise InputError(f"--level: unknown level '{level}'; known: {', '.join(sizes)}")
    before = [0, 1, *levels.values()][list(sizes).index(level) + 1]
    if sizes[level] <= before:
        raise InputError(f"--level {level}: its groups have no two processes that no other level holds")
    if host["socket_order"] == "block":
        return before
    each = host["processes"] // host["sockets"]
    return before % each * host["sockets"] + before // each


def regimes_of(platform: str, level: str | None) -> list[float]:
    """Ends of the platform's regimes between hosts, or of those inside: of a level, or of `host`."""
    from hopcast import core

    text = tomllib.loads(core.platform_text(platform, (), True))
    host = text["host"]
    parts = {"host": host["memory"], **{one["name"]: one for one in host.get("levels", [])}}
    owner = text["mpi"] if level is None else parts[level]
    ends = [regime["up_to"] for regime in owner.get("regimes", []) if "up_to" in regime]
    limit = text["mpi"].get("eager_limit" if level is None else "memory_eager_limit")
    known = [end for end in [*ends, limit] if end not in (None, "infinite")]
    return sorted({size for end in known if (size := quantities.size(end, "up_to")) > 0})


def repetitions(platform: str) -> int:
    """Simulated calls of each size: many where their times vary."""
    from hopcast import core

    return REPEATS if "_modes = " in core.platform_text(platform, (), False) else 1


def check_room(platform: str, most: int, what: str) -> None:
    """Refuses a platform whose hosts have fewer than `most` processes; `what` needs them."""
    from hopcast import core

    processes = tomllib.loads(core.platform_text(platform, (), True))["host"]["processes"]
    if processes < most:
        raise InputError(
            f"{what}, and a host of {platform} has {processes} processes: a platform with "
            f"host.processes = {most} is wanted"
        )


def calls_s(
    platform: str, kind: str, sizes: Sequence[float] | np.ndarray, *, partner: int | None = None
) -> np.ndarray:
    """Predicted times of MPI_Send, MPI_Isend, or MPI_Recv of a message that has come, without the clock's.

    kind: send, isend or recv, measured as the program `network` does: a send answers a word of its partner,
    and a receive waits for as long as a message there and back takes before it begins.
    """
    repeats = repetitions(platform)
    lengths = [int(size) for size in sizes] * repeats

    def timed(comm, clock, call):
        start = comm.Wtime()
        result = call()
        return result, comm.Wtime() - start - clock

    def first(comm, clock, nbytes):
        if kind == "recv":
            start = comm.Wtime()
            comm.send(nbytes=nbytes, dest=1)
            comm.recv(source=1, tag=2)
            comm.compute(seconds=comm.Wtime() - start)
            return timed(comm, clock, lambda: comm.recv(source=1, tag=1))[1]
        comm.recv(source=1)
        if kind == "send":
            _, seconds = timed(comm, clock, lambda: comm.send(nbytes=nbytes, dest=1))
        else:
            request, seconds = timed(comm, clock, lambda: comm.isend(nbytes=nbytes, dest=1))
            comm.recv(source=1)
            request.wait()
        return seconds

    def second(comm, nbytes):
        if kind == "recv":
            comm.recv(source=0)
            request = comm.isend(nbytes=nbytes, dest=0, tag=1)
            comm.send(nbytes=nbytes, dest=0, tag=2)
            request.wait()
            return
        comm.send(nbytes=0, dest=0)
        comm.recv(source=0)
        if kind == "isend":
            comm.send(nbytes=0, dest=0)

    def program(comm):
        start = comm.Wtime()
        clock = comm.Wtime() - start
        if comm.rank == 0:
            return [first(comm, clock, nbytes) for nbytes in lengths]
        for nbytes in lengths:
            second(comm, nbytes)
        return []

    return np.array(first_result(platform, program, partner)).reshape(repeats, -1).mean(axis=0)


def check(
    platform: str, measured: Series, breakpoints: Sequence[float], *, partner: int | None = None
) -> list[Row]:
    """Errors of the platform's round trips by regime, and over all sizes (the last row)."""
    predicted = ping_pong_s(platform, measured.sizes, partner=partner)
    return by_regime(predicted, measured, breakpoints)


def check_calls(
    platform: str,
    kind: str,
    measured: Series,
    breakpoints: Sequence[float],
    *,
    partner: int | None = None,
) -> list[Row]:
    """The same of the calls of a kind, whose times are above zero."""
    predicted = calls_s(platform, kind, measured.sizes, partner=partner)
    return by_regime(predicted, measured, breakpoints)


def by_regime(predicted: np.ndarray, measured: Series, breakpoints: Sequence[float]) -> list[Row]:
    """Errors at the sizes between breakpoints, and over all sizes (the last row)."""
    edges = [0.0, *breakpoints, np.inf]
    rows = []
    for above, up_to in itertools.pairwise(edges):
        inside = (measured.sizes > above) & (measured.sizes <= up_to)
        if inside.any():
            errors = accuracy(predicted[inside], measured.seconds[inside])
            rows.append(Row(above, None if np.isinf(up_to) else up_to, errors))
    return [*rows, Row(0.0, None, accuracy(predicted, measured.seconds))]
