"""Each program of this folder, under a real MPI and under hopcast, with the same answers."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from real_mpi import launch, needs_mpich

from hopcast.live import library

HERE = Path(__file__).parent
COMPILERS = {".c": ("cc", "mpicc.mpich"), ".cpp": ("cxx", "mpicxx.mpich")}
if shutil.which("gfortran"):
    COMPILERS |= {".f": ("fc", "mpifort.mpich"), ".f90": ("fc", "mpifort.mpich")}
SOURCES = sorted(path for path in HERE.iterdir() if path.suffix in COMPILERS)
ARGUMENTS = {"process": ["one", "two words"], "library": ["-a", "--long=more", "-b", "value", "rest"]}
FOLDER = tempfile.TemporaryDirectory(prefix="hopcast-programs-")
ENVIRONMENT = os.environ | {"HOPCAST_TEST_VALUE": "here", "HOPCAST_TEST_FOLDER": FOLDER.name}

pytestmark = pytest.mark.skipif(not library.LIBRARY.exists(), reason="built without the MPI library")


def hopcast(*words: str | Path) -> subprocess.CompletedProcess:
    """The command, as a user calls it; in runs computing takes no time, unless they say how much."""
    if words[0] == "run" and "--compute" not in words:
        words = ("run", "--compute", "none", *words[1:])
    command = [sys.executable, "-m", "hopcast", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, timeout=300)


def compiled(source: Path, folder: Path, *flags: str) -> Path:
    """The program of a source, for hopcast."""
    target = folder / source.stem
    compiler = COMPILERS[source.suffix][0]
    strict = (
        ("-w", f"-J{folder}")
        if compiler == "fc"
        else ("-Wall", "-Wextra", "-Werror", "-Wno-maybe-uninitialized")
    )
    done = hopcast(compiler, *strict, "-O2", *flags, source, "-o", target)
    assert done.returncode == 0, done.stderr
    return target


def run(program: Path, ranks: int, *words: str, flags: tuple[str, ...] = ()) -> tuple[dict, str, str]:
    """The report, and the program's output on both of its streams."""
    done = hopcast("run", "hopper", "-n", str(ranks), "--json", "--quiet", *flags, program, *words)
    start = done.stdout.index("{")
    return json.loads(done.stdout[start:]), done.stderr, done.stderr


@pytest.fixture(scope="session")
def programs(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("programs")
    return {source.stem: compiled(source, folder) for source in SOURCES}


@pytest.mark.parametrize("model", ["loggp", "packet"])
@pytest.mark.parametrize("ranks", [1, 2, 5, 24])
@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_a_program_is_right_under_hopcast(programs, source, ranks, model) -> None:
    report, printed, _ = run(
        programs[source.stem], ranks, *ARGUMENTS.get(source.stem, ()), flags=("--model", model)
    )
    assert report["failure"] is None, (report["failure"], printed)
    assert report["ranks_finished"] == ranks


@needs_mpich
@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_a_program_prints_what_it_prints_under_a_real_mpi(programs, source, tmp_path) -> None:
    real = tmp_path / "real"
    compiler = COMPILERS[source.suffix][1]
    # Where it writes what modules have, too.
    subprocess.run([compiler, "-O2", source.resolve(), "-o", real], cwd=real.parent, check=True)
    words = ARGUMENTS.get(source.stem, [])
    native = subprocess.run(
        launch("mpich", 3, real, *words), capture_output=True, text=True, env=ENVIRONMENT, timeout=300
    )
    assert native.returncode == 0, native.stderr
    # Below MPICH, the transport has warnings of its own.
    said = "".join(line for line in native.stdout.splitlines(keepends=True) if "UCX  WARN" not in line)
    _, printed, _ = run(programs[source.stem], 3, *words)
    # Letter by letter: mpiexec mixes the lines of ranks.
    assert sorted(printed) == sorted(said)
    assert printed
    if not compiler.startswith("mpifort"):
        # What they have compiled runs as it is. Ranks may end in another order.
        _, of_real, _ = run(real, 3, *words)
        assert sorted(of_real.splitlines()) == sorted(printed.splitlines())


def test_lines_of_ranks_are_whole_and_in_the_order_of_simulated_time(programs) -> None:
    _, printed, _ = run(programs["process"], 9, *ARGUMENTS["process"])
    lines = printed.splitlines()
    assert sorted(lines[:9]) == [f"rank {rank} says this in one line" for rank in range(9)]
    assert sorted(lines[9:]) == [f"rank {rank} ends after {rank + 100}" for rank in range(9)]


FAULTS = """
#include "check.h"
#include <assert.h>
static volatile int zero;
int *volatile nowhere = (int *)16L;
__attribute__((noinline)) static void write_to(int *place) { *place = 1; }
__attribute__((noinline)) static int deep(int n) {
    volatile char room[1000];
    room[n % 1000] = 1;
    return n ? deep(n + 1) + room[1] : 0;
}
__attribute__((noinline)) static int wide(size_t bytes) {
    volatile char room[bytes];
    room[0] = 1;
    MPI_Barrier(MPI_COMM_SELF);
    return room[0];
}
int main(int argc, char **argv) {
    begin(&argc, &argv);
    char how = rank == 3 ? argv[1][0] : ' ';
    if (how == 's') write_to(nowhere);
    if (how == 'a') assert(zero);
    if (how == 'o') deep(1);
    if (how == 'w') wide((size_t)(8.01 * (1 << 20)));
    if (how == 'W') wide(64 << 20);
    if (how == '4') wide((size_t)4 << 30);
    if (how == 'f') return 5 / zero;
    static char many[1 << 20];
    MPI_Request request;
    MPI_Win window;
    if (argv[1][0] == 'R' && rank == 4) MPI_Send(many, sizeof many, MPI_CHAR, 3, 0, MPI_COMM_WORLD);
    if (how == 'R') MPI_Irecv(nowhere, sizeof many, MPI_CHAR, 4, 0, MPI_COMM_WORLD, &request);
    if (how == 'R') MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (how == 'S') MPI_Send(nowhere, sizeof many, MPI_CHAR, 4, 0, MPI_COMM_WORLD);
    if (argv[1][0] == 'S' && rank == 4)
        MPI_Recv(many, sizeof many, MPI_CHAR, 3, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (argv[1][0] == 'p') {
        MPI_Win_create(rank == 3 ? (void *)nowhere : many, 4, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
        MPI_Win_fence(0, window);
        if (rank == 2) MPI_Put(&size, 1, MPI_INT, 3, 0, 1, MPI_INT, window);
        MPI_Win_fence(0, window);
    }
    if (how == 'e') exit(7);
    if (how == 'u') { char port[MPI_MAX_PORT_NAME]; MPI_Open_port(MPI_INFO_NULL, port); }
    if (how == 't') { int longer[9] = {0}; MPI_Send(longer, 9, MPI_INT, 4, 0, MPI_COMM_WORLD); }
    if (rank == 4 && argv[1][0] == 't')
        MPI_Recv(&rank, 1, MPI_INT, 3, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (argv[1][0] != 'e') MPI_Barrier(MPI_COMM_WORLD);
    return 0;
}
"""


@pytest.fixture(scope="module")
def faults(tmp_path_factory) -> Path:
    source = tmp_path_factory.mktemp("faults") / "faults.c"
    source.write_text(FAULTS.replace('"check.h"', f'"{HERE / "check.h"}"'))
    return compiled(source, source.parent)


@pytest.mark.parametrize(
    ("how", "kind", "said"),
    [
        ("s", "crash", "rank 3 was ended by SIGSEGV (address 0x10) at write_to+"),
        ("a", "crash", "rank 3 was ended by SIGABRT"),
        ("o", "crash", "stack of 8 MiB is too small, --stack-size names a larger one: it was full at deep"),
        ("w", "crash", "rank 3's stack of 8 MiB is too small, --stack-size names a larger one: it was full "),
        ("W", "crash", "it was full at wide"),
        (
            "4",
            "crash",
            "the stack pointer is outside of the rank's stack of 8 MiB, which --stack-size enlarges) at wide",
        ),
        ("f", "crash", "rank 3 was ended by SIGFPE (an arithmetic error) at main+"),
        ("R", "crash", "rank 3's receive buffer of 1 MiB at 0x10 cannot be read or written (SIGSEGV"),
        ("R", "crash", "in MPI_Wait at main+"),
        ("S", "crash", "rank 3's send buffer of 1 MiB at 0x10 cannot be read or written (SIGSEGV"),
        ("p", "crash", "rank 3's window memory of 4 B at 0x10 cannot be read or written (SIGSEGV"),
        ("e", "exit", "rank 3 ended with exit code 7"),
        ("u", "abort", "rank 3 called MPI_Abort with code 55"),
        ("t", "truncation", "36 bytes from rank 3 does not fit into the 4 bytes of rank 4"),
    ],
)
def test_a_fault_names_the_rank_and_what_it_did(faults, how, kind, said) -> None:
    report, printed, _ = run(faults, 6, how)
    assert report["failure"]["kind"] == kind
    assert said in report["failure"]["text"]
    if how == "a":
        assert printed.startswith("faults: ") and "Assertion `zero' failed" in printed
    if how == "u":
        assert "rank 3: MPI_Open_port: MPI_ERR_UNSUPPORTED_OPERATION" in printed


ARRAYS = """
      program arrays
      use mpi
      implicit none
      integer :: ierror, rank
      call MPI_Init(ierror)
      call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
      if (rank == 1) call work(1500000)
      call MPI_Barrier(MPI_COMM_WORLD, ierror)
      call MPI_Finalize(ierror)
      contains
      subroutine work(n)
      integer, intent(in) :: n
      double precision :: a(n)
      a(1:n) = 1
      call MPI_Barrier(MPI_COMM_SELF, ierror)
      if (sum(a) /= n) stop 3
      end subroutine
      end program
"""


@pytest.mark.skipif(not shutil.which("gfortran"), reason="no Fortran compiler is installed")
def test_local_arrays_of_fortran_need_a_larger_stack(tmp_path) -> None:
    source = tmp_path / "arrays.f90"
    source.write_text(ARRAYS)
    program = compiled(source, tmp_path, "-fstack-arrays")
    said = "rank 1's stack of 8 MiB is too small, --stack-size names a larger one: it was full at"
    assert said in run(program, 2)[0]["failure"]["text"]
    assert run(program, 2, flags=("--stack-size", "16MiB"))[0]["failure"] is None


def test_of_many_ranks_a_stack_that_is_too_small_is_seen_at_the_next_call(faults) -> None:
    report, _, _ = run(faults, 8100, "w", flags=("--model", "loggp"))
    assert report["failure"]["text"].startswith("rank 3's stack of 8 MiB is too small")


TIMES = """
#include <mpi.h>
int main(int argc, char **argv) {
    char text[MPI_MAX_ERROR_STRING], how = argv[1][0];
    int number, size;
    MPI_Info info;
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Initialized(&number);
    MPI_Get_version(&number, &size);
    MPI_Error_string(MPI_ERR_RANK, text, &number);
    MPI_Info_create(&info);
    MPI_Info_free(&info);
    if (how == 'b' || MPI_Wtime() < 0) MPI_Comm_rank(MPI_COMM_WORLD, &number);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "times", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    MPI_Barrier(comm);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
    if (how == 's') MPI_Type_size(MPI_INT, &size);
    MPI_Init(&argc, &argv);
    MPI_Type_size(MPI_INT, &size);
    MPI_Finalize();
    MPI_Finalized(&number);
    MPI_Error_class(MPI_ERR_RANK, &number);
    if (how == 'f') MPI_Barrier(MPI_COMM_WORLD);
    return 0;
}
"""


def test_calls_are_between_init_and_finalize_or_for_any_time(tmp_path) -> None:
    source = tmp_path / "times.c"
    source.write_text(TIMES)
    program = compiled(source, tmp_path)
    assert run(program, 2, "-")[0]["failure"] is None
    for how, said in (
        ("b", "rank 0: MPI_Comm_rank: MPI_ERR_OTHER: called before MPI_Init, and without a session (at main"),
        ("s", "MPI_Type_size: MPI_ERR_OTHER: called before MPI_Init, and without a session (at main"),
        ("f", "MPI_Barrier: MPI_ERR_OTHER: called after MPI_Finalize (at main"),
    ):
        report, printed, _ = run(program, 2, how)
        assert said in printed
        assert report["failure"]["kind"] == "abort"


COMPUTES = """
#include "check.h"
int main(int argc, char **argv) {
    begin(&argc, &argv);
    volatile double sum = 0;
    double start = MPI_Wtime();
    for (int i = 0; i < 20000000; i++) sum += i;
    printf("%.9f\\n", MPI_Wtime() - start);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
"""


def test_computing_costs_what_is_asked(tmp_path) -> None:
    source = tmp_path / "computes.c"
    source.write_text(COMPUTES.replace('"check.h"', f'"{HERE / "check.h"}"'))
    program = compiled(source, tmp_path)
    report, printed, _ = run(program, 1)
    assert float(printed) == 0 and report["time"]["compute_s"] == 0
    assert "takes no time (--compute none)" in report["computing"]["sentence"]
    once, printed, _ = run(program, 1, flags=("--compute", "measured"))
    assert float(printed) > 0.001
    assert once["time"]["compute_s"] >= float(printed)
    thousandfold, _, _ = run(program, 1, flags=("--compute", "measured=1000"))
    assert thousandfold["time"]["compute_s"] > 100 * once["time"]["compute_s"]
    assert once["computing"]["sentence"].startswith("computing was measured on this machine (")
    wrong = hopcast("run", "hopper", "-n", "1", "--compute", "fast", program)
    assert (
        wrong.returncode == 2 and "measured, measured=SCALE (above 0), profile=FILE or none" in wrong.stderr
    )


def test_computing_is_measured_unless_it_is_said_otherwise(tmp_path) -> None:
    source = tmp_path / "computes.c"
    source.write_text(COMPUTES.replace('"check.h"', f'"{HERE / "check.h"}"'))
    command = [sys.executable, "-m", "hopcast", "run", "hopper", "-n", "1", compiled(source, tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, timeout=300)
    assert float(done.stdout.split()[0]) > 0.001
    screen = " ".join(done.stdout.split())
    assert "computing was measured on this machine (" in screen and "times 1" in screen


def test_the_outcome_is_the_same_again(programs) -> None:
    hashes = {run(programs["collectives"], 7)[0]["outcome_hash"] for _ in range(2)}
    assert len(hashes) == 1


def test_what_cannot_be_run_is_refused_in_words(tmp_path) -> None:
    source = tmp_path / "plain.c"
    source.write_text("int main(void) { return 0; }")
    subprocess.run(["cc", "-no-pie", source, "-o", tmp_path / "fixed"], check=True)
    done = hopcast("run", "hopper", "-n", "2", "--isolation", "globals", tmp_path / "fixed")
    assert done.returncode == 2 and "not position-independent" in done.stderr
    other = tmp_path / "libmpi.so.40"
    empty = tmp_path / "empty.c"
    empty.write_text("")
    subprocess.run(["cc", "-shared", "-Wl,-soname,libmpi.so.40", empty, "-o", other], check=True)
    command = ["cc", "-Wl,--no-as-needed", source, other, "-o", tmp_path / "foreign"]
    subprocess.run(command, check=True)
    done = hopcast("run", "hopper", "-n", "2", tmp_path / "foreign")
    assert done.returncode == 2 and "compile it again with 'hopcast cc'" in done.stderr


def test_what_is_no_program_is_refused_by_what_it_is(tmp_path) -> None:
    (tmp_path / "start").write_text("#!/bin/sh\nexec ./app\n")
    (tmp_path / "program").write_text("#!/usr/bin/env python3\n")
    (tmp_path / "app.cpp").write_text("int main() {}\n")
    (tmp_path / "empty").write_text("")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "bare").write_text("exec ./app\n")
    (tmp_path / "bare").chmod(0o755)
    (tmp_path / "dangling").symlink_to("nowhere")
    subprocess.run(["cc", "-shared", "-x", "c", "/dev/null", "-o", tmp_path / "library.so"], check=True)
    for name, said in (
        ("empty", "the file is empty"),
        ("start", "a script for /bin/sh: run what it starts"),
        ("program", "a Python program, which hopcast knows by its name: call it program.py"),
        ("app.cpp", "a source file: compile it ('hopcast cxx "),
        ("bare", "not a compiled program, and not a trace in a known format"),
        ("library.so", "a shared library, and no program that could be run"),
        ("pipe", "is neither a file nor a folder; a workload is"),
        ("nothing\udcfe", "its name is no text in UTF-8"),
    ):
        words = [sys.executable, "-m", "hopcast", "run", "hopper", "-n", "2", tmp_path / name]
        done = subprocess.run(words, capture_output=True, text=True)
        assert done.returncode == 2 and said in done.stderr, (name, done.stderr)


def test_a_program_without_mpi_is_told_of(tmp_path) -> None:
    source = tmp_path / "plain.c"
    source.write_text("int main(void) { return 0; }")
    report, _, _ = run(compiled(source, tmp_path), 3)
    assert ["none of the 3 ranks has called MPI_Init" in warning for warning in report["warnings"]] == [True]


CONSTANTS = HERE.parents[1] / "crates/libmpi/mpich/constants.txt"


@needs_mpich
def test_constants_of_mpich_are_those_of_its_header(tmp_path) -> None:
    rows = [line.split() for line in CONSTANTS.read_text().splitlines() if line and line[0] != "#"]
    source = tmp_path / "constants.c"
    source.write_text("#include <mpi.h>")
    header = subprocess.run(
        ["mpicc.mpich", "-E", "-dD", source], check=True, capture_output=True, text=True
    ).stdout
    known = set(re.findall(r"\bMPI_\w+", header))
    # Those of later versions are not in the header of an older MPICH.
    rows = [row for row in rows if row[1] in known]
    assert len(rows) > 250
    checks = [
        f'_Static_assert((unsigned)(long)({name}) == (unsigned)({value}), "");' for _, name, value in rows
    ]
    source.write_text("\n".join(["#include <mpi.h>", *checks]))
    subprocess.run(["mpicc.mpich", "-w", "-c", source, "-o", tmp_path / "constants.o"], check=True)
