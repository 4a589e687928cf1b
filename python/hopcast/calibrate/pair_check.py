"""Times of k pairs at once beside a platform: nodecomm's loop between two hosts, simulated.

Pairs (i of the first host, i of the second) begin behind a barrier, and each sends a message there and back
again and again, as nodecomm and the programs of BenchPress do. A time is that of the slowest process for one
way: half of its mean round trip. With `stream`, the first of each pair sends messages one behind the other,
and the other answers the last.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hopcast.calibrate import check
from hopcast.calibrate.check import Row
from hopcast.calibrate.pair_times import PairTimes
from hopcast.calibrate.series import Series

REPETITIONS = 10
"""Messages of a pair each way that are simulated for one time."""


@dataclass(frozen=True)
class Checked:
    """Errors of the times of some numbers of pairs."""

    name: str
    rows: Sequence[Row]


def pairs_s(platform: str, data: PairTimes, *, stream: bool = False) -> np.ndarray:
    """Predicted times of one way for every line of the data."""
    import hopcast

    most = int(data.pairs.max())
    check.check_room(platform, most, f"{data.name}: {most} pairs at once")
    lines = list(zip(data.pairs.astype(int).tolist(), data.sizes.astype(int).tolist(), strict=True))

    def program(comm):
        is_first, place = comm.rank < most, comm.rank % most
        peer = comm.rank + most if is_first else comm.rank - most
        times = []
        for pairs, nbytes in lines:
            comm.barrier()
            begun = comm.Wtime()
            if place < pairs:
                (_stream if stream else _ping_pongs)(comm, peer, nbytes, is_first=is_first)
            times.append((comm.Wtime() - begun) / REPETITIONS * (1.0 if stream else 0.5))
        return times

    placement = [f"{host}:{slot}" for host in (0, 1) for slot in range(most)]
    report = hopcast.run(platform, program, 2 * most, placement=placement)
    assert report.results is not None, "it is a rank function"
    return np.array(report.results).max(axis=0)


def _ping_pongs(comm, peer: int, nbytes: int, *, is_first: bool) -> None:
    for _ in range(REPETITIONS):
        if is_first:
            comm.send(nbytes=nbytes, dest=peer)
            comm.recv(source=peer)
        else:
            comm.recv(source=peer)
            comm.send(nbytes=nbytes, dest=peer)


def _stream(comm, peer: int, nbytes: int, *, is_first: bool) -> None:
    for _ in range(REPETITIONS):
        if is_first:
            comm.send(nbytes=nbytes, dest=peer)
        else:
            comm.recv(source=peer)
    if is_first:
        comm.recv(source=peer)
    else:
        comm.send(nbytes=0, dest=peer)


def check_all(
    platform: str, data: PairTimes, breakpoints: Sequence[float], *, stream: bool = False
) -> Iterator[Checked]:
    """Errors of one pair, and of several at once, by regime of the platform."""
    predicted = pairs_s(platform, data, stream=stream)
    most = int(data.pairs.max())
    for name, mask in (
        ("1 pair", data.pairs == 1),
        (f"2 to {most} pairs at once" if most > 2 else "2 pairs at once", data.pairs > 1),
    ):
        if mask.any():
            part = data.where(mask)
            none = np.full(len(part.sizes), np.nan)
            measured = Series(part.sizes, part.seconds, none, np.ones_like(part.sizes))
            yield Checked(name, check.by_regime(predicted[mask], measured, breakpoints))
