"""Polls and the clock of a platform beside measurements: MPI_Iprobe, MPI_Test and MPI_Wtime, simulated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hopcast.calibrate import check
from hopcast.calibrate.accuracy import accuracy
from hopcast.calibrate.call_times import FUNCTIONS
from hopcast.calibrate.campaigns import POLLS, Campaign
from hopcast.calibrate.check import Row
from hopcast.calibrate.series import by_size

CALLS = 100
"""Calls of MPI_Wtime that are simulated in a row."""


@dataclass(frozen=True)
class Checked:
    """Errors of one kind of call."""

    name: str
    about: str
    """Number of measurements, for the screen."""
    rows: Sequence[Row]


def poll_s(platform: str, kind: str, *, partner: int | None = None) -> float:
    """Predicted time of a poll that finds nothing, without the clock's; the mean of many with noise.

    kind: iprobe or test.
    """
    repeats = check.repetitions(platform)

    def program(comm):
        if comm.rank == 1:
            comm.recv(source=0)
            comm.send(nbytes=0, dest=0)
            return []
        start = comm.Wtime()
        clock = comm.Wtime() - start
        request = comm.irecv(source=1) if kind == "test" else None
        times = []
        for _ in range(repeats):
            start = comm.Wtime()
            if request is not None:
                request.test()
            else:
                comm.iprobe(source=1)
            times.append(comm.Wtime() - start - clock)
        comm.send(nbytes=0, dest=1)
        if request is not None:
            request.wait()
        else:
            comm.recv(source=1)
        return times

    return float(np.mean(check.first_result(platform, program, partner)))


def clock_s(platform: str) -> float:
    """Predicted time of a call of MPI_Wtime."""

    def program(comm):
        start = now = comm.Wtime()
        for _ in range(CALLS):
            now = comm.Wtime()
        return [(now - start) / CALLS]

    return float(check.first_result(platform, program, None)[0])


def check_all(
    platform: str, measured: Campaign, breakpoints: Sequence[float], *, partner: int | None = None
) -> Iterator[Checked]:
    """Errors of all polls that were measured, by the size of the message that they await, and of the clock.

    measured: without the time of the clock in polls.
    """
    for kind in POLLS:
        if kind not in measured.calls:
            continue
        calls = measured.calls[kind]
        series = by_size(calls.sizes, calls.seconds)
        series = series.where(series.seconds > 0)
        if not len(series.sizes):
            continue
        predicted = np.full(len(series.sizes), poll_s(platform, kind, partner=partner))
        about = f"{len(calls.seconds)} polls that wait for messages of {len(series.sizes)} sizes"
        yield Checked(FUNCTIONS[kind], about, check.by_regime(predicted, series, breakpoints))
    if measured.wtime_s:
        totals = np.array(measured.wtime_each)
        errors = accuracy(np.full(len(totals), clock_s(platform)), totals)
        yield Checked("MPI_Wtime", f"loops of calls, {len(totals)} in all", [Row(0.0, None, errors)])
