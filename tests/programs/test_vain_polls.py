"""Programs whose ranks only poll for what nobody sends: a deadlock where messages end polls, or a warning."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_programs import hopcast, pytestmark, run  # noqa: F401

# Rank 0 probes, rank 1 tests, rank 2 waits. With "sends", rank 2 computes and sends to both; with "counts",
# all give up at last.
SOURCE = """\
#include <hopcast.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv) {
    int rank, there = 0, value = 0, sends = argc > 1 && !strcmp(argv[1], "sends");
    long polls = 0, most = argc > 1 && !strcmp(argv[1], "counts") ? 200000 : -1;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1)
        MPI_Irecv(&value, 1, MPI_INT, 2, 7, MPI_COMM_WORLD, &request);
    if (rank == 2 && sends) {
        hopcast_compute(30);
        for (int to = 0; to < 2; to++)
            MPI_Send(&value, 1, MPI_INT, to, 7, MPI_COMM_WORLD);
    } else if (rank == 2 && most < 0)
        MPI_Recv(&value, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    while (rank == 0 && !there && polls++ != most)
        MPI_Iprobe(2, 7, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    while (rank == 1 && !there && polls++ != most)
        MPI_Test(&request, &there, MPI_STATUS_IGNORE);
    if (rank == 0 && there)
        MPI_Recv(&value, 1, MPI_INT, 2, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank < 2 && !there)
        printf("rank %d gives up\\n", rank);
    MPI_Finalize();
    return 0;
}
"""
PROBES, TESTS, RECEIVES = (
    next(number for number, line in enumerate(SOURCE.splitlines(), 1) if call in line)
    for call in ("MPI_Iprobe(", "MPI_Test(", "MPI_Recv(&value, 1, MPI_INT, 0")
)


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("vain")
    (folder / "vain.c").write_text(SOURCE)
    done = hopcast("cc", "-Wall", "-Wextra", "-Werror", "-g", "-O0", folder / "vain.c", "-o", folder / "vain")
    assert done.returncode == 0, done.stderr
    return folder / "vain"


@pytest.mark.parametrize("isolation", ["globals", "process"])
def test_polls_that_messages_alone_end_are_a_deadlock_with_places(program: Path, isolation: str) -> None:
    flags = ("--polls", "endless", "--isolation", isolation)
    report, _, _ = run(program, 3, flags=flags)
    failure = report["failure"]
    assert failure["kind"] == "deadlock"
    assert failure["text"] == "deadlock: nothing can happen any more, and 3 ranks are not done"
    told = [(rank["call"], rank["waits_for"]) for rank in failure["ranks"]]
    assert told[0] == ("polling with MPI_Iprobe", "a message from any rank")
    assert told[1] == ("polling with MPI_Test", "a message from rank 2")
    assert told[2][1] == "a message from rank 0"
    if isolation == "globals":
        for rank, line in zip(failure["ranks"], (PROBES, TESTS, RECEIVES), strict=True):
            assert rank["place"].endswith(f"/vain.c:{line} in main")
    assert hopcast("run", "hopper", "-n", "3", *flags, program).returncode == 3


@pytest.mark.parametrize("polls", ["few", "endless"])
def test_polls_that_a_message_ends_go_on_and_there_is_no_warning(program: Path, polls: str) -> None:
    report, errors, _ = run(program, 3, "sends", flags=("--polls", polls))
    assert report["failure"] is None and report["makespan_s"] == pytest.approx(30, rel=1e-3)
    assert "only poll" not in errors and "only poll" not in str(report["warnings"])


def test_polls_that_a_count_may_end_go_on_with_one_warning(program: Path) -> None:
    """At their 65,536th poll that stands for 1,024 of the platform's."""
    report, errors, _ = run(program, 3, flags=("--stop-at", "20s", "--set", "mpi.poll=100ns"))
    warnings = [line for line in errors.splitlines() if line.startswith("hopcast: warning: ")]
    assert len(warnings) == 1
    assert "all ranks that are not done only poll" in warnings[0] and "--polls endless" in warnings[0]
    assert report["failure"] is None and report["makespan_s"] == 20
    assert [text for text in report["warnings"] if "only poll" in text] == [
        warnings[0].removeprefix("hopcast: warning: ")
    ]
    report, errors, printed = run(program, 3, "counts")
    assert report["failure"] is None and "rank 0 gives up" in printed and "rank 1 gives up" in printed
