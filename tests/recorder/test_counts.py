"""Events counted between the calls of a recorded program (`--count`), and those that cannot be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from runs import RECORDS, Mpi, dumped, hopcast

from hopcast.errors import InputError
from hopcast.record import library

pytestmark = RECORDS

ROUNDS = (0, 1, 50, 400)
"""Numbers of pages touched in the rounds of pages.c after its first one."""
OTHERS = 4
"""No more faults come from anything else: a page of code that is needed for the first time, say."""


def refused(names: str) -> str:
    """Reason why this machine does not count them, or nothing."""
    try:
        library.check_counts(names)
    except InputError as error:
        return str(error)
    return ""


@pytest.fixture
def pages(mpi: Mpi, tmp_path: Path):
    """Records pages.c with these flags."""
    if reason := refused("page_faults"):
        pytest.skip(reason)

    def record(*flags: str, rounds: tuple[int, ...] = ROUNDS) -> Path:
        words = map(str, rounds)
        return mpi.record(tmp_path / "pages.hct", 2, "pages.c", *words, flags=("--count", *flags))

    return record


def faults_of_rounds(recording: Path, rank: int) -> list[list[int]]:
    """Faults before the five calls of each round."""
    outside = ("MPI_Init", "MPI_Finalize")
    calls = [call for call in dumped(recording, rank) if call["call"] not in outside]
    faults = [call["counts"]["page_faults"] for call in calls]
    return [faults[first : first + 5] for first in range(0, len(faults), 5)]


def test_a_fresh_page_is_a_fault_where_the_program_touches_it(pages) -> None:
    """Between two calls, and between polls in vain, which are no calls; not where it is MPI that does."""
    recording = pages("page_faults")
    for rank in range(2):
        rounds = faults_of_rounds(recording, rank)[1:]
        for touched, (_, plain, polled, sent, received) in zip(ROUNDS, rounds, strict=True):
            assert touched <= plain <= touched + OTHERS
            assert touched <= polled <= touched + OTHERS
            assert max(sent, received) <= OTHERS
    summary = json.loads(hopcast("trace", "info", "--json", recording).stdout)
    ((one),) = summary["counts"]
    assert (one["name"], one["unit"]) == ("page_faults", "page faults")
    each = [call["counts"]["page_faults"] for rank in range(2) for call in dumped(recording, rank)]
    assert one["total"] == sum(each) >= 2 * 2 * sum(ROUNDS)
    assert f"{one['total']:,} page faults" in hopcast("trace", "info", recording).stdout


def test_tallied_counts_have_the_recorded_sum(pages) -> None:
    """Three pages in the first round and seven in each of fifty: in which round is drawn, as for times."""
    recording = pages("page_faults", "--times", "tallied", rounds=(7,) * 50)
    for rank in range(2):
        rounds = faults_of_rounds(recording, rank)
        assert len(rounds) == 51
        for place in (1, 2):
            touched = 3 + 50 * 7
            assert touched <= sum(faults[place] for faults in rounds) <= touched + 10 * OTHERS
    copy = recording.with_name("copy.hct")
    hopcast("trace", "convert", "--times", "exact", recording, "-o", copy)
    totals = [
        json.loads(hopcast("trace", "info", "--json", one).stdout)["counts"] for one in (recording, copy)
    ]
    assert totals[0] == totals[1]


def test_what_the_kernel_does_not_count_is_refused_before_the_program_runs(mpi: Mpi, tmp_path: Path) -> None:
    reason = refused("instructions")
    ran, out = tmp_path / "ran", tmp_path / "out.hct"
    words = ["trace", "record", "-o", out, "--mpicc", f"mpicc.{mpi.name}", "--count", "instructions"]
    done = hopcast(
        *words, "--", "sh", "-c", f"touch {ran}; {' '.join(mpi.command(1, 'loop.c', '10'))}", check=False
    )
    if reason:
        assert (done.returncode, ran.exists(), out.exists()) == (2, False, False)
        assert done.stderr.count("\n") == 1 and reason in done.stderr
    else:
        (one,) = json.loads(hopcast("trace", "info", "--json", out).stdout)["counts"]
        assert done.returncode == 0 and one["total"] > 10


def test_what_nobody_can_count_is_refused(mpi: Mpi, tmp_path: Path) -> None:
    words = ["trace", "record", "-o", tmp_path / "out.hct", "--mpicc", f"mpicc.{mpi.name}"]
    for names, reason in (
        ("cycels", "'cycels' cannot be counted; known: instructions, cycles, flops, page_faults"),
        ("page_faults,page_faults", "page_faults is named twice"),
    ):
        done = hopcast(*words, "--count", names, "--", "true", check=False)
        assert (done.returncode, reason in done.stderr) == (2, True), done.stderr


def test_a_host_that_cannot_count_leaves_no_recording(pages, mpi: Mpi, tmp_path: Path) -> None:
    """Other hosts than the command's may differ: here ranks are asked for what nobody can count."""
    command = ["env", "HOPCAST_TRACE_COUNT=heartbeats", *mpi.command(2, "loop.c", "10")]
    out = tmp_path / "out.hct"
    words = ["trace", "record", "-o", out, "--mpicc", f"mpicc.{mpi.name}", "--count", "page_faults"]
    done = hopcast(*words, "--", *command, check=False)
    assert done.returncode == 1
    assert done.stderr.count("hopcast trace: nothing is recorded: on ") == 1
    assert "'heartbeats' cannot be counted" in done.stderr
    assert list(out.glob("rank-*")) == []


def test_without_it_nothing_is_counted(mpi: Mpi, tmp_path: Path) -> None:
    out = mpi.record(tmp_path / "plain.hct", 2, "loop.c", "10")
    assert json.loads(hopcast("trace", "info", "--json", out).stdout)["counts"] == []
    assert (out / "rank-000000.hct").read_bytes().startswith(b"HCT2")
