"""A persistent receive from any source, recorded under a real MPI and replayed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from runs import RECORDS, Mpi, dumped, hopcast, of

pytestmark = RECORDS

RANKS = 4


@pytest.fixture(scope="module")
def recorded(mpi: Mpi, tmp_path_factory) -> tuple[Path, list[int]]:
    """The recording, and from whom each start received, as the program says."""
    out = tmp_path_factory.mktemp(f"persistent-{mpi.name}") / "persistent.hct"
    words = ("trace", "record", "-o", out, "--mpicc", f"mpicc.{mpi.name}", "--")
    done = hopcast(*words, *mpi.command(RANKS, "persistent.c"))
    return out, [int(source) for source in done.stdout.split()]


def test_each_start_has_what_it_received(recorded: tuple[Path, list[int]]) -> None:
    out, sources = recorded
    # In turns, there and back; then four of each.
    assert sources[:6] == [1, 2, 3, 3, 2, 1]
    assert sorted(sources[6:]) == sorted([1, 2, 3] * 4)
    zero = dumped(out, 0)
    (init,) = of(zero, "MPI_Recv_init")
    assert (init["from"], init.get("tag"), init["request"]) == ("any", None, {"persistent": 0})
    assert [call["requests"] for call in of(zero, "MPI_Start")] == [[0]] * len(sources)
    assert [call["matched"][0][1]["source"] for call in of(zero, "MPI_Wait")] == sources


def test_lint_finds_nothing(recorded: tuple[Path, list[int]]) -> None:
    """No message is received before it was sent, and none is left."""
    assert json.loads(hopcast("trace", "lint", "--json", recorded[0]).stdout)["findings"] == []


@pytest.mark.parametrize(
    "flags",
    [
        ("--check-clocks",),
        ("--check-clocks", "--ignore", "compute"),
        ("--mode", "timestamps"),
        ("--ignore", "dependencies"),
        ("--mode", "none"),
    ],
    ids=" ".join,
)
def test_a_replay_receives_the_same(recorded: tuple[Path, list[int]], flags: tuple[str, ...]) -> None:
    """A start that takes another sender's message than the recorded one leaves a later one waiting."""
    report = json.loads(hopcast("run", "crossbar", "--json", *flags, recorded[0]).stdout)
    assert (report["failure"], report["partial"], report["ranks_finished"]) == (None, False, RANKS)
    assert not [warning for warning in report["warnings"] if "logical clock" in warning]
