"""Exceptions of C++ that cross MPI calls which a real MPI does not survive, or that nobody catches."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_programs import compiled, pytestmark, run  # noqa: F401

PROGRAM = """
#include <mpi.h>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
static int rank, size, calls;
static void odd(void *in, void *out, int *count, MPI_Datatype *) {
    if (++calls, rank % 2) throw std::runtime_error("odd");
    for (int i = 0; i < *count; i++) static_cast<int *>(out)[i] += static_cast<int *>(in)[i];
}
static int extent(MPI_Datatype, MPI_Aint *bytes, void *) { *bytes = 4; return MPI_SUCCESS; }
static int convert(void *, MPI_Datatype, int, void *, MPI_Offset, void *) { throw 7; }
/* Those that throw have taken part: the others have the sum, and the next collective meets all again. */
static bool meet(MPI_Op op) {
    int sum = 0, other = 0, after = 0;
    bool thrown = false;
    MPI_Request requests[2];
    try {
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, op, MPI_COMM_WORLD);
    } catch (const std::runtime_error &) {
        thrown = true;
    }
    if (thrown != (rank % 2 == 1) || (!thrown && sum != size * (size - 1) / 2)) return false;
    MPI_Iallreduce(&rank, &sum, 1, MPI_INT, op, MPI_COMM_WORLD, &requests[0]);
    MPI_Iallreduce(&rank, &other, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[1]);
    try {
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        if (thrown) return false;
    } catch (const std::runtime_error &) {
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Allreduce(&rank, &after, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return other == size * (size - 1) / 2 && after == other;
}
/* What has thrown is over: a persistent request is inactive, and can be started again. */
static bool again(MPI_Op op) {
    int sum = 0, thrown = 0;
    MPI_Request request;
    MPI_Allreduce_init(&rank, &sum, 1, MPI_INT, op, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    for (int round = 0; round < 2; round++) {
        MPI_Start(&request);
        try {
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } catch (const std::runtime_error &) {
            thrown++;
        }
    }
    MPI_Request_free(&request);
    return thrown == (rank % 2 ? 2 : 0);
}
static bool write_own() {
    MPI_File file;
    char name[] = "own";
    MPI_Register_datarep(name, nullptr, convert, extent, nullptr);
    MPI_File_open(MPI_COMM_SELF, "/dev/null", MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, name, MPI_INFO_NULL);
    try {
        MPI_File_write(file, &rank, 1, MPI_INT, MPI_STATUS_IGNORE);
    } catch (int number) {
        MPI_File_close(&file);
        return number == 7;
    }
    return false;
}
int main(int argc, char **argv) {
    MPI_Op op;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Op_create(odd, 1, &op);
    std::printf("%d %d %d %d\\n", rank, meet(op), write_own(), again(op));
    const std::string when = rank == 1 && argc > 1 ? argv[1] : "never";
    if (when == "end") std::atexit([] { throw std::runtime_error("nobody catches this"); });
    if (when == "then") throw std::runtime_error("nobody catches this");
    MPI_Finalize();
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Path:
    source = tmp_path_factory.mktemp("exceptions") / "exceptions.cpp"
    source.write_text(PROGRAM)
    return compiled(source, source.parent)


def test_a_program_may_have_an_unwinder_of_its_own(tmp_path) -> None:
    source = tmp_path / "exceptions.cpp"
    source.write_text(PROGRAM)
    own = compiled(source, tmp_path, "-static-libstdc++", "-static-libgcc")
    report, printed, _ = run(own, 3)
    assert (report["failure"], sorted(printed.splitlines())) == (
        None,
        [f"{rank} 1 1 1" for rank in range(3)],
    )


@pytest.mark.parametrize("isolation", ["globals", "process"])
def test_an_exception_comes_out_of_the_call_and_the_run_goes_on(program, isolation) -> None:
    report, printed, _ = run(program, 5, flags=("--isolation", isolation))
    assert report["failure"] is None
    assert sorted(printed.splitlines()) == [f"{rank} 1 1 1" for rank in range(5)]


@pytest.mark.parametrize("when", ["then", "end"])
def test_one_that_nobody_catches_is_named(program, when) -> None:
    report, printed, _ = run(program, 2, when)
    assert "rank 1 was ended by SIGABRT" in report["failure"]["text"]
    assert "what():  nobody catches this" in printed
