"""Ranks whose clocks start apart, as their MPI_Init ended apart: the head has it, a replay leaves it out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from test_replay import seconds
from written_traces import allreduce, receive, send, write

import hopcast
from hopcast import core
from hopcast.record.files import converted, scaled, sliced

LATE_NS = 72_000_000
"""Rank 1 begins 72 ms later than rank 0."""


def asked_and_answered(rank: int) -> list[dict]:
    """Rank 0 computes for 1 ms and asks; rank 1 computes for 0.5 ms and answers: 1 ms for each message."""
    if rank == 0:
        return [send(1, 1000, gap_us=1000), receive(1)]
    return [receive(0), send(0, 1000, gap_us=500)]


@pytest.fixture
def late(tmp_path: Path) -> Path:
    return write(tmp_path / "late.hct", [asked_and_answered(rank) for rank in (0, 1)], [0, LATE_NS])


def outcome(recording: Path, **how) -> str:
    seconds(recording)
    return hopcast.run(recording.with_name("slow.toml"), recording, model="flow", **how).outcome_hash


@pytest.mark.parametrize("how", [{}, {"ignore": "dependencies"}, {"compute_scale": 2.0}])
def test_all_ranks_start_together(late: Path, how: dict) -> None:
    """Nothing says that the simulated machine is as busy as the recorded one was."""
    together = write(late.with_name("together.hct"), [asked_and_answered(rank) for rank in (0, 1)])
    assert seconds(late, **how) == seconds(together, **how) < 10e-3


def test_recorded_times_have_it(late: Path) -> None:
    """Rank 1 is in its first call 72 ms after rank 0, and takes 0.5 ms and a message from there."""
    assert seconds(late, mode="timestamps") == pytest.approx(LATE_NS / 1e9 + 0.5e-3 + 1e-3, rel=0.01)
    assert core.trace_summary(str(late))["starts_apart_s"] == LATE_NS / 1e9


@pytest.mark.parametrize(
    "write_copy",
    [
        lambda whole, out: converted(whole, out, False, None),
        lambda whole, out: converted(whole, out, True, True),
        lambda whole, out: sliced(whole, out, False, None, None, None, [(0, 1)]),
        lambda whole, out: sliced(whole, out, False, "0 s", None, None),
        lambda whole, out: sliced(whole, out, False, None, "1 s", None),
    ],
    ids=["converted", "converted into one file", "some ranks", "from", "to"],
)
def test_a_copy_has_it_in_the_head(late: Path, write_copy: Callable) -> None:
    copy = late.with_name("copy.hct")
    write_copy(str(late), str(copy))
    assert core.trace_summary(str(copy))["starts_apart_s"] == LATE_NS / 1e9
    for mode in ("dependencies", "timestamps"):
        assert outcome(copy, mode=mode) == outcome(late, mode=mode)


def test_what_is_scaled_has_it_in_the_heads(tmp_path: Path) -> None:
    """In a row of four, each rank starts as the one whose calls it makes; a replay starts all together."""
    calls = [[allreduce(gap_us=1000), allreduce(gap_us=500)] for _ in range(4)]
    late, out = tmp_path / "late.hct", tmp_path / "more.hct"
    scaled(str(write(late, calls, [0, LATE_NS, 0, 0])), str(out), False, None, [4])
    assert core.trace_summary(str(out))["starts_apart_s"] == LATE_NS / 1e9
    assert outcome(out) == outcome(late)


def test_a_part_from_later_on_counts_from_its_begin(late: Path) -> None:
    """At 72.2 ms rank 0 waits, and rank 1 answers in 0.3 ms: to nobody, as the receive began before."""
    part = late.with_name("part.hct")
    sliced(str(late), str(part), False, "72.2 ms", None, None)
    assert core.trace_summary(str(part))["starts_apart_s"] == 0
    assert seconds(part) == pytest.approx(0.3e-3, rel=0.01)


def turns(rank: int) -> list[dict]:
    """Ranks that share a processor: the second leaves the first allreduce 300 ms after the other, which
    waits for it in the second; between them each computes for 1 ms."""
    first = [allreduce(length_us=300_000), allreduce(gap_us=1000, length_us=300_000)]
    second = [allreduce(length_us=600_000), allreduce(gap_us=1000)]
    return second if rank else first


def test_ranks_start_together_after_a_meeting(tmp_path: Path) -> None:
    """After the first allreduce 1 ms of computing and the second are left; that rank 1 left the
    first 300 ms later was its turn on the processor."""
    whole = write(tmp_path / "turns.hct", [turns(rank) for rank in (0, 1)])
    part = tmp_path / "part.hct"
    sliced(str(whole), str(part), False, None, None, (1, 2))
    alone = write(tmp_path / "alone.hct", [[allreduce(gap_us=1000)] for _ in (0, 1)])
    assert seconds(part) == seconds(alone) < 0.01
    assert core.trace_summary(str(part))["starts_apart_s"] == 0.3


def test_a_rank_idles_until_the_end_of_a_window_at_most(tmp_path: Path) -> None:
    """Rank 0 is in a receive from 0 to 300 ms; between 80 ms and 250 ms rank 1 computes, and makes a call."""
    waits = [receive(1, length_us=300_000)]
    works = [{"call": "MPI_File_write", "did": "overhead", "gap_us": 90_000, "length_us": 1000}]
    works += [send(0, gap_us=208_000)]
    whole, part = write(tmp_path / "whole.hct", [waits, works]), tmp_path / "part.hct"
    sliced(str(whole), str(part), False, "80ms", "250ms", None)
    assert seconds(part) == pytest.approx(0.17, rel=0.01)
