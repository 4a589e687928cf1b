"""Replays at recorded times (--mode timestamps), what begins and ends a run, and the names of calls."""

from __future__ import annotations

from pathlib import Path

import pytest
from written_traces import INIT, NOTHING, allreduce, complete, receive, send, slow_network, write

import hopcast

BARRIER = allreduce(0) | {"call": "MPI_Barrier", "kind": "barrier"}
ROUNDS = 5


def run(folder: Path, **how) -> hopcast.Report:
    return hopcast.run(slow_network(folder.parent), folder, model="flow", **how)


def rounds(folder: Path, *calls_of_ranks: list[dict]) -> Path:
    """Each round again and again, with 100 µs after it."""
    pause = NOTHING | {"gap_us": 100}
    return write(folder, [[*calls, pause] * ROUNDS for calls in calls_of_ranks])


@pytest.fixture
def computing_late(tmp_path: Path) -> Path:
    """150 bytes, received without delay in the recording, before 800 µs of computing that all wait for."""
    sender = [send(1, 150, gap_us=100), BARRIER | {"gap_us": 600, "length_us": 200}]
    receiver = [receive(0, length_us=100), BARRIER | {"gap_us": 800}]
    return rounds(tmp_path / "late.hct", sender, receiver)


@pytest.mark.parametrize(
    "how, round_us",
    [
        # The message comes 150 µs late, and all that was computed is.
        ({}, 1150),
        ({"mode": "timestamps", "time_shift": True}, 1150),
        # Of the 800 µs 650 are left until the recorded begin of the barrier.
        ({"mode": "timestamps"}, 1000),
    ],
)
def test_shifted_starts_cut_no_computing_short(computing_late: Path, how: dict, round_us: float) -> None:
    assert run(computing_late, **how).makespan_s == pytest.approx(ROUNDS * round_us * 1e-6, abs=1e-9)


@pytest.fixture
def waiting_less(tmp_path: Path) -> Path:
    """The same message, but the receiver then has 700 µs to wait for its sender."""
    sender = [send(1, 150, gap_us=100), BARRIER | {"gap_us": 800}]
    receiver = [receive(0, length_us=100), NOTHING, BARRIER | {"gap_us": 100, "length_us": 700}]
    return rounds(tmp_path / "less.hct", sender, receiver)


@pytest.mark.parametrize("shift", [False, True])
def test_waiting_less_makes_up_for_a_delay(waiting_less: Path, shift: bool) -> None:
    """All ranks leave the barrier when they did in the recording: nobody drifts from the others."""
    report = run(waiting_less, mode="timestamps", time_shift=shift)
    assert report.makespan_s == pytest.approx(ROUNDS * 1000e-6, abs=1e-9)


def test_what_is_computed_at_recorded_times_is_computing(tmp_path: Path) -> None:
    """900 µs of 1,000 are computed on rank 0 and 500 on rank 1, which waits for it."""
    calls = [
        [BARRIER | {"gap_us": 900}, NOTHING | {"length_us": 100}],
        [BARRIER | {"gap_us": 500, "length_us": 400}, NOTHING | {"length_us": 100}],
    ]
    trace = write(tmp_path / "computes.hct", calls)
    for how in ({}, {"mode": "timestamps"}, {"mode": "timestamps", "time_shift": True}):
        ranks = run(trace, **how).table("ranks")
        assert ranks["compute_s"].to_pylist() == pytest.approx([900e-6, 500e-6], abs=1e-9), how


def test_recorded_times_that_contradict_the_messages_are_told(tmp_path: Path) -> None:
    """Rank 1 has three messages 4 ms before rank 0 sends them, by the clock of their host."""
    calls = [[send(1, gap_us=5000), send(1), send(1)], [receive(0, gap_us=1000), receive(0), receive(0)]]
    trace = write(tmp_path / "before.hct", calls)

    def said(**how) -> list[str]:
        warnings = run(trace, **how).summary["warnings"]
        return [text for text in warnings if "before they were sent" in text]

    assert said() == []
    for threads in (1, 2):
        [text] = said(mode="timestamps", threads=threads)
        place = "(first call #2 MPI_Recv of rank 1: returns 0.004000 s before"
        assert text.startswith("3 messages were received before they were sent") and place in text
    assert said(mode="timestamps", check_clocks=False) == []


def test_calls_have_the_names_that_were_recorded(tmp_path: Path) -> None:
    """A wait for some requests is replayed as one for those that were complete, and a test as a wait."""
    begun = [send(1, request={"active": number}, call="MPI_Isend") for number in (0, 1, 2, 3)]
    some = complete(0) | {"call": "MPI_Waitsome"}
    more = complete(1, 2) | {"call": "MPI_Waitsome"}
    last = complete(3) | {"call": "MPI_Test"}
    trace = write(tmp_path / "names.hct", [[*begun, some, more, last], [receive(0)] * 4])
    for how in ({}, {"mode": "timestamps"}):
        calls = run(trace, **how).table("calls")
        count = dict(zip(calls["call"].to_pylist(), calls["count"].to_pylist(), strict=True))
        assert (count["MPI_Waitsome"], count["MPI_Test"]) == (2, 1)
        assert not {"MPI_Wait", "MPI_Waitall"} & set(count)


def test_ending_the_library_takes_what_it_took_and_waiting_is_simulated(tmp_path: Path) -> None:
    """Rank 0 waits in MPI_Finalize for 300 ms of 365: ending the library takes 65 ms, as on rank 1."""
    trace = write(tmp_path / "ends.hct", [[], [NOTHING | {"gap_us": 300_000}]], finalize_us=(365_000, 65_000))
    assert run(trace).makespan_s == pytest.approx(0.365, abs=1e-9)
    # On a processor of three times the speed less is waited, and ending the library takes as long.
    assert run(trace, compute_scale=1 / 3).makespan_s == pytest.approx(0.165, abs=1e-9)
    assert run(trace, ignore="compute").makespan_s == 0


def test_beginning_the_library_takes_what_it_took(tmp_path: Path) -> None:
    begin = INIT | {"call": "MPI_Init_thread", "length_us": 2000}
    assert run(write(tmp_path / "begins.hct", [[begin], []])).makespan_s == pytest.approx(2e-3, abs=1e-9)


def test_lengths_of_blocks_are_looked_at(tmp_path: Path) -> None:
    """Two lengths for each of three ranks, 10 µs each; one block of 100 bytes takes its 100 µs after that."""

    def alltoallv(send: list[int], receive: list[int]) -> dict:
        sizes = {"own": {"send": send, "receive": receive}}
        return allreduce(0) | {"call": "MPI_Alltoallv", "kind": "alltoallv", "sizes": sizes}

    none = [0, 0, 0]
    empty = write(tmp_path / "empty.hct", [[alltoallv(none, none)]] * 3)
    one = [alltoallv([0, 100, 0], none), alltoallv(none, [100, 0, 0]), alltoallv(none, none)]
    full = write(tmp_path / "full.hct", [[call] for call in one])
    alike = write(tmp_path / "alike.hct", [[allreduce(0) | {"call": "MPI_Alltoall", "kind": "alltoall"}]] * 3)
    how = {"set": {"mpi.block_overhead": "10 us"}}
    assert run(empty).makespan_s == 0
    assert run(empty, **how).makespan_s == pytest.approx(60e-6, abs=1e-9)
    assert run(full, **how).makespan_s == pytest.approx(160e-6, abs=1e-9)
    assert run(alike, **how).makespan_s == 0
