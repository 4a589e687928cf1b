"""Causes of time in MPI while a rank works for one operation and waits for another.

Between hosts 1 us, and 10 kB in another; a rank combines 10 kB in 10 us. Nothing else takes time.
"""

from __future__ import annotations

import pytest

import hopcast

PLATFORM = """
name = "three hosts"
[topology]
kind = "crossbar"
hosts = 3
[link]
bandwidth = "10 GB/s"
latency = "0 ns"
[host]
processes = 1
[host.memory]
latency = "0 ns"
bandwidth = "10 GB/s"
[nic]
bandwidth = "10 GB/s"
latency = "500 ns"
[mpi]
eager_limit = "16 KiB"
reduce_rate = "1 GB/s"
progress = "asynchronous"
[compute]
flop_rate = "1 Gflop/s"
"""
MODELS = ("postal", "loggp", "flow", "packet")
SMALL, LARGE = 10_000, 50_000
"""The first is sent at once, the second by rendezvous, 5 us."""


@pytest.fixture
def platform(tmp_path):
    file = tmp_path / "platform.toml"
    file.write_text(PLATFORM)
    return file


def reduction(comm):
    return comm.ireduce(nbytes=SMALL, root=0, algorithm="linear")


@pytest.mark.parametrize("model", MODELS)
def test_work_of_a_sender_before_it_answers_is_software_not_contention(platform, model) -> None:
    """The clearance for its data comes at 2 us, as does what it combines until 12 us; they come at 18 us."""

    def program(comm):
        sums = reduction(comm)
        if comm.rank == 0:
            comm.isend(nbytes=LARGE, dest=1).wait()
        else:
            comm.recv(source=0)
        sums.wait()

    summary = hopcast.run(platform, program, 2, model=model).summary
    assert summary["makespan_s"] == pytest.approx(18e-6)
    # Rank 0 waits until its data have left at 17 us, rank 1 until 18 us, both 10 us for rank 0's work.
    assert summary["causes"]["contention_s"] == 0
    assert summary["causes"]["software_s"] == pytest.approx(20e-6, rel=1e-3)


@pytest.mark.parametrize("model", MODELS)
def test_a_wait_for_one_of_several_may_end_amid_the_work_for_another(platform, model) -> None:
    """Rank 0 combines what rank 1 sent at 2.5 us from 4.5 us on; its send, and the wait, are over at 7 us.

    What rank 2 sent at 20 us it combines from 22 us until 32 us. So 2.5 and 10 us of its time are work.
    """
    ends = []

    def program(comm):
        if comm.rank == 0:
            sums, sent = reduction(comm), comm.isend(nbytes=LARGE, dest=1)
            ends.append(type(sums).waitany([sums, sent])[0])
            ends.append(comm.Wtime())
            sums.wait()
        elif comm.rank == 1:
            received = comm.irecv(source=0)
            comm.compute(2.5e-6)
            sums = reduction(comm)
            received.wait()
            sums.wait()
        else:
            comm.compute(20e-6)
            reduction(comm).wait()

    summary = hopcast.run(platform, program, 3, model=model).summary
    assert ends == [1, pytest.approx(7e-6, rel=1e-3)]
    assert summary["makespan_s"] == pytest.approx(32e-6)
    assert summary["causes"]["software_s"] == pytest.approx(12.5e-6, rel=1e-3)
    in_mpi = summary["time"]["transfer_s"] + summary["time"]["waiting_s"]
    assert sum(summary["causes"].values()) == pytest.approx(in_mpi)
