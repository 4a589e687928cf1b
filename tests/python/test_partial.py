"""Recordings that end before MPI_Finalize: their replay ends as a partial result, and not as a deadlock."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_replay import seconds
from written_traces import receive, send, write

import hopcast
from hopcast import core
from hopcast.record.files import converted, scaled, sliced

STANDING = {"call": "MPI_Recv", "since_ns": 1_500_000, "message": {"peer": {"rank": 1}, "tag": 3, "comm": 0}}


@pytest.fixture
def cut(tmp_path: Path) -> Path:
    """Rank 0 sends 1000 bytes and waits for an answer, which rank 1, killed first, has not recorded."""
    asks, was_killed = [send(1, 1000, gap_us=1000), receive(1)], [receive(0)]
    return write(tmp_path / "cut.hct", [asks, was_killed], killed={1: STANDING})


def test_a_rank_that_waits_for_what_was_not_recorded_is_partial(cut: Path) -> None:
    """The message arrives after 1 ms of computing and 1 ms on the way; there all stands still."""
    seconds(cut)
    report = hopcast.run(cut.with_name("slow.toml"), cut, model="flow")
    assert (report.failure, report.summary["partial"], report.summary["ranks_finished"]) == (None, True, 1)
    stopped = report.summary["stopped"]
    assert stopped["by"] == "recording"
    assert stopped["at_s"] == pytest.approx(2e-3, rel=0.01)
    assert [(behind["rank"], behind["call"].split("(")[0]) for behind in stopped["behind"]] == [
        (0, "MPI_Recv")
    ]
    assert any("a partial recording: 1 of 2 ranks" in warning for warning in report.warnings)


def test_a_deadlock_of_a_whole_recording_is_one(tmp_path: Path) -> None:
    whole = write(tmp_path / "whole.hct", [[send(1, 1000), receive(1)], [receive(0)]])
    with pytest.raises(hopcast.DeadlockError):
        hopcast.run("crossbar", whole)


def test_a_job_that_stands_still_is_partial_only_if_its_own_recording_is(cut: Path) -> None:
    stuck = write(cut.with_name("stuck.hct"), [[receive(1)], []])
    jobs = cut.with_name("jobs.toml")
    text = '[[job]]\nname = "cut"\nrun = "cut.hct"\n[[job]]\nname = "{0}"\nrun = "{0}.hct"\n'
    jobs.write_text(text.format(stuck.stem))
    with pytest.raises(hopcast.DeadlockError):
        hopcast.run("crossbar", jobs)
    fine = write(cut.with_name("fine.hct"), [[send(1)], [receive(0)]])
    jobs.write_text(text.format(fine.stem))
    assert hopcast.run("crossbar", jobs).summary["stopped"]["by"] == "recording"


def test_lint_says_what_is_missing(cut: Path) -> None:
    found = {one["kind"]: one for one in core.trace_lint(str(cut))["findings"]}
    missing, stuck = found["missing MPI_Finalize"], found["stuck rank"]
    (first,) = missing["first"]
    # After MPI_Init and a receive.
    assert (first["rank"], first["number"], first["call"]) == (1, 3, "MPI_Recv")
    assert "MPI_Recv with rank 1, tag 3, begun at 0.001500000 s" in first["cause"]
    assert [one["rank"] for one in stuck["first"]] == [0]
    assert missing["replay"] == stuck["replay"] == "a replay stops there, with a partial result"


@pytest.mark.parametrize(
    "write_copy",
    [
        lambda whole, out: converted(whole, out, False, None),
        lambda whole, out: sliced(whole, out, False, None, None, None, [(0, 1)]),
        lambda whole, out: sliced(whole, out, False, None, "1 s", None),
        lambda whole, out: scaled(whole, out, False, None, [2]),
    ],
    ids=["converted", "some ranks", "to", "scaled"],
)
def test_a_copy_is_partial_too(write_copy, tmp_path: Path) -> None:
    """Rank 1 was killed in what it did after its receive."""
    killed = write(tmp_path / "killed.hct", [[send(1)], [receive(0)]], killed={1: STANDING})
    copy = tmp_path / "copy.hct"
    write_copy(str(killed), str(copy))
    (missing,) = core.trace_lint(str(copy))["findings"]
    assert missing == core.trace_lint(str(killed))["findings"][0]
    assert (missing["kind"], missing["count"]) == ("missing MPI_Finalize", 1)


def test_a_part_that_ends_before_is_whole(cut: Path) -> None:
    """Up to 0.5 ms, rank 0 does nothing, and rank 1 posts its receive: of nobody, in the part."""
    part = cut.with_name("part.hct")
    late = [send(1, gap_us=1000), receive(1)], [receive(0, length_us=900), send(0, gap_us=10), receive(0)]
    sliced(
        str(write(cut.with_name("long.hct"), late, killed={1: None})), str(part), False, None, "0.5 ms", None
    )
    assert core.trace_lint(str(part))["findings"] == []
    assert not hopcast.run("crossbar", part).summary["partial"]
