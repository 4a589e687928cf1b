"""Ranks that end before the others are done, and what is said first of a run that fails for it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from test_programs import compiled, hopcast, pytestmark  # noqa: F401

ENDS = """
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    switch (argc > 1 ? atoi(argv[1]) : 0) {
    case 1: return 0;
    case 2: if (rank == 2) return 7; break;
    case 3: MPI_Finalize(); return rank == 2 ? 7 : 0;
    case 4: if (rank == 2) MPI_Recv(&rank, 1, MPI_INT, 3, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
"""


@pytest.fixture(scope="module")
def ends(tmp_path_factory) -> Path:
    source = tmp_path_factory.mktemp("ends") / "ends.c"
    source.write_text(ENDS)
    return compiled(source, source.parent, "-g")


@pytest.mark.parametrize("isolation", ["globals", "process"])
def test_all_ranks_without_a_finalize_are_a_failure(ends, isolation) -> None:
    done = hopcast("run", "hopper", "-n", "4", "--isolation", isolation, "--json", ends, "1")
    failure = json.loads(done.stdout)["failure"]
    assert done.returncode == 3
    assert failure["text"] == "rank 0 ended without MPI_Finalize, as did all 4 ranks"
    assert (failure["kind"], len(failure["ranks"])) == ("exit", 4)


def test_the_rank_that_ended_is_the_first_thing_that_is_said(ends) -> None:
    """The others wait for it forever, which is no more than what follows from that."""
    said = "rank 2 ended with exit code 7 without MPI_Finalize; then deadlock: nothing can happen any more"
    done = hopcast("run", "hopper", "-n", "4", "--quiet", ends, "2")
    assert done.returncode == 3
    assert f"failed: {said}" in done.stdout.splitlines()[0]
    lines = hopcast("run", "hopper", "-n", "4", ends, "2").stdout.splitlines()
    at = lines.index("The simulated program failed")
    assert " ".join(lines[at + 1 : at + 3]).startswith(said)
    assert any(line.startswith("  rank 2, since") for line in lines[at + 2 : at + 4])


def test_an_exit_code_after_mpi_finalize_is_a_failure_too(ends) -> None:
    done = hopcast("run", "hopper", "-n", "4", "--json", ends, "3")
    assert done.returncode == 3
    assert json.loads(done.stdout)["failure"]["text"] == "rank 2 ended with exit code 7"


def test_a_deadlock_of_many_ranks_is_grouped_by_call_and_place(ends) -> None:
    """All but rank 2 stand in the barrier, which is three lines below rank 2's receive."""
    done = hopcast("run", "hopper", "-n", "3000", ends, "4")
    assert done.returncode == 3
    said = " ".join(done.stdout.split())
    assert re.search(r"rank 2: MPI_Recv\([^)]*\) at \S*ends\.c:12 in main", said), said
    assert re.search(r"ranks 0, 1, 3 and 2,996 more: MPI_Barrier at \S*ends\.c:14 in main", said), said
    assert "more ranks" not in said
