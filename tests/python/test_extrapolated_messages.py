"""Messages of sizes to which a platform was not fitted: their share, and that of their time, in a warning."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import hopcast

PLATFORM = """
name = "measured"
topology = {{ kind = "crossbar", hosts = 2 }}
host = {{ processes = 2, memory = {{ latency = "0 ns", bandwidth = "1 GB/s"{memory} }} }}
nic = {{ bandwidth = "1 GB/s", latency = "0 ns" }}
mpi = {{ eager_limit = "1 GB"{mpi} }}
compute = {{ flop_rate = "1 Gflop/s" }}
"""
WARNING = re.compile(r"(between|within) hosts ([\d.]+) % of the messages, ([\d.]+) % of their time")


def warned(folder: Path, function, ranks: int = 2, mpi: str = "", memory: str = "", **options) -> list[str]:
    """Warnings about sizes of a run."""
    place = folder / "measured.toml"
    place.write_text(PLATFORM.format(mpi=mpi, memory=memory))
    report = hopcast.run(str(place), function, ranks=ranks, model="postal", **options)
    return [line for line in report.warnings if "to which the platform was not fitted" in line]


def four_messages(comm) -> None:
    """Three of 1,000 B, of a microsecond each, and one of 7,000 B, from the first to the last rank."""
    last = comm.size - 1
    for nbytes in (1000, 1000, 7000, 1000):
        if comm.rank == 0:
            comm.send(nbytes=nbytes, dest=last)
        elif comm.rank == last:
            comm.recv(source=0)


def test_shares_of_messages_and_of_their_time_are_said(tmp_path: Path) -> None:
    """The time of a message is from its send to its receive: 1, 1, 7 and 1 µs, with nothing to wait for."""

    def one_by_one(comm) -> None:
        last = comm.size - 1
        for step, nbytes in enumerate((1000, 1000, 7000, 1000)):
            if comm.rank == 0:
                comm.compute(seconds=1e-3)
                comm.send(nbytes=nbytes, dest=last, tag=step)
            elif comm.rank == last:
                comm.recv(source=0, tag=step)

    limits = ', longest_measured = "6999 B"'
    [line] = warned(tmp_path, one_by_one, ranks=2, mpi=limits, ppn=1)
    assert WARNING.findall(line) == [("between", "25.0", "70.0")]
    assert "measured: 0 B to 6999 B; longest message: 7000 B" in line
    [line] = warned(tmp_path, one_by_one, ranks=2, memory=limits)
    assert WARNING.findall(line) == [("within", "25.0", "70.0")]


@pytest.mark.parametrize("limits", ["", ', longest_measured = "7000 B"'])
def test_measured_sizes_and_unknown_ranges_are_not_warned_of(limits: str, tmp_path: Path) -> None:
    assert warned(tmp_path, four_messages, mpi=limits, ppn=1) == []


def test_each_kind_of_message_has_its_own_range(tmp_path: Path) -> None:
    """A range of messages between hosts says nothing of those within one."""
    limits = ', longest_measured = "10 B"'
    assert warned(tmp_path, four_messages, mpi=limits) == []
    assert len(warned(tmp_path, four_messages, mpi=limits, ppn=1)) == 1


def test_short_messages_are_beyond_the_range_too_but_empty_ones_count_as_a_byte(tmp_path: Path) -> None:
    limits = ', shortest_measured = "1001 B", longest_measured = "1 MB"'
    [line] = warned(tmp_path, four_messages, mpi=limits, ppn=1)
    assert WARNING.search(line)[2] == "75.0"
    whole = ', shortest_measured = "1 B", longest_measured = "1 MB"'
    assert warned(tmp_path, lambda comm: comm.barrier(), mpi=whole, ppn=1) == []


def test_the_warning_is_the_same_on_any_threads(tmp_path: Path) -> None:
    limits = ', longest_measured = "100 B"'

    def ring(comm) -> None:
        comm.sendrecv(nbytes=50 * (comm.rank + 1), dest=(comm.rank + 1) % comm.size, source=comm.rank - 1)

    lines = [
        warned(tmp_path, ring, ranks=4, mpi=limits, memory=limits, threads=threads) for threads in (1, 2)
    ]
    assert lines[0] == lines[1] and len(WARNING.findall(lines[0][0])) == 2
