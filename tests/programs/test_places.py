"""Reports of programs that go wrong name the line of each rank's call, or of its crash."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_programs import COMPILERS, hopcast, pytestmark  # noqa: F401

EXCHANGE = """\
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
static int rank, size, value;
static void exchange(int from, int tag) {
    MPI_Recv(&value, 1, MPI_INT, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void agree(void) {
    if (rank == 1)
        MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    else
        MPI_Alltoall(MPI_IN_PLACE, 1, MPI_INT, calloc(size, sizeof(int)), 1, MPI_INT, MPI_COMM_WORLD);
}
static int compare(const void *one, const void *other) {
    return *(volatile int *)(rank == 2 ? 0 : one) - *(const int *)other;
}
static void sort(void) {
    int numbers[] = {3, 1, 2};
    qsort(numbers, 3, sizeof(int), compare);
}
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    switch (argv[1][0]) {
    case 'd': exchange((rank + 1) % size, 7); break;
    case 'm': agree(); break;
    case 's': sort(); break;
    case 'l': if (rank == 2) value = strlen((char *)16L + value);
              break;
    case 'a': if (rank == 2) abort();
              break;
    case 'x': if (rank == 2) MPI_Abort(MPI_COMM_WORLD, 9);
              break;
    case 'r': if (rank == 2)
                  MPI_Send(&value, 1, MPI_INT, size, 0, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return value;
}
"""


def line_of(text: str) -> int:
    """The line of the source that has this text."""
    return next(number for number, line in enumerate(EXCHANGE.splitlines(), 1) if text in line)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Holds `plain`, and `exchange` with the debug information of its source."""
    folder = tmp_path_factory.mktemp("places")
    source = folder / "exchange.c"
    source.write_text(EXCHANGE)
    for flags, name in ((("-g", "-O1"), "exchange"), (("-O1",), "plain")):
        done = hopcast("cc", *flags, source, "-o", folder / name)
        assert done.returncode == 0, done.stderr
    return folder


def failure(program: Path, *words: str) -> tuple[dict, str]:
    """Message about the failure of three ranks, and their output."""
    done = hopcast("run", "hopper", "-n", "3", "--model", "loggp", "--json", program, *words)
    assert done.returncode == 3, done.stderr
    return json.loads(done.stdout[done.stdout.index("{") :])["failure"], done.stderr


def test_a_deadlock_names_the_line_of_each_call(folder) -> None:
    found, _ = failure(folder / "exchange", "deadlock")
    line = line_of("MPI_Recv")
    places = [f"{folder}/exchange.c:{line} in exchange"] * 3
    assert [rank["place"] for rank in found["ranks"]] == places
    assert all("tag=7" in rank["call"] for rank in found["ranks"])


def test_the_screen_says_it_in_one_line(folder) -> None:
    done = hopcast("run", "hopper", "-n", "3", folder / "exchange", "deadlock")
    words = " ".join(done.stdout.split())
    assert f"at {folder}/exchange.c:{line_of('MPI_Recv')} in exchange, since" in words


def test_a_mismatch_names_the_line_of_each_call(folder) -> None:
    found, _ = failure(folder / "exchange", "mismatch")
    assert found["kind"] == "mismatch"
    lines = {"MPI_Allreduce": line_of("MPI_Allreduce("), "MPI_Alltoall": line_of("MPI_Alltoall(")}
    assert len(found["ranks"]) == 2
    for rank in found["ranks"]:
        line = lines[rank["call"].partition("(")[0]]
        assert rank["place"] == f"{folder}/exchange.c:{line} in agree"


@pytest.mark.parametrize(
    ("how", "text", "function", "said"),
    [
        ("segfault", "return *(volatile", "compare", "SIGSEGV (address 0x0) at {}"),
        ("library", "value = strlen", "main", "libc.so.6, called at {}"),
        ("abort", "abort();", "main", "SIGABRT (the program called abort) at {}"),
    ],
)
def test_a_crash_names_its_line(folder, how, text, function, said) -> None:
    found, _ = failure(folder / "exchange", how)
    place = f"{folder}/exchange.c:{line_of(text)} in {function}"
    assert found["ranks"][0]["place"] == place
    assert said.format(place) in found["text"]


def test_an_error_names_the_line_of_its_call(folder) -> None:
    found, printed = failure(folder / "exchange", "rank")
    place = f"{folder}/exchange.c:{line_of('MPI_Send(')} in main"
    assert f"(at {place})" in printed
    assert found["ranks"][0]["place"] == place
    found, _ = failure(folder / "exchange", "x")
    assert found["ranks"][0]["place"] == f"{folder}/exchange.c:{line_of('MPI_Abort')} in main"


def test_without_debug_information_it_is_the_function(folder) -> None:
    found, _ = failure(folder / "plain", "deadlock")
    program = folder / "plain"
    assert all("+0x" in rank["place"] and f" of {program}" in rank["place"] for rank in found["ranks"])


@pytest.mark.skipif(".f90" not in COMPILERS, reason="gfortran is not installed")
def test_a_call_of_fortran_has_the_line_of_the_user(tmp_path) -> None:
    source = tmp_path / "ring.f90"
    source.write_text(
        "program ring\n  use mpi_f08\n  integer :: value\n  call MPI_Init()\n"
        "  call MPI_Recv(value, 1, MPI_INTEGER, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE)\nend program\n"
    )
    done = hopcast("fc", "-g", source, "-o", tmp_path / "ring")
    assert done.returncode == 0, done.stderr
    found, _ = failure(tmp_path / "ring")
    assert {rank["place"] for rank in found["ranks"]} == {f"{source}:5 in ring"}
