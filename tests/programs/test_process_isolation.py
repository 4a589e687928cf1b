"""Programs whose ranks are processes: with threads, and at fixed addresses."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from real_mpi import launch, needs_mpich
from test_programs import HERE, compiled, hopcast, pytestmark, run  # noqa: F401

SOURCE = HERE / "process_isolation" / "threads.c"
ISOLATED = ("--isolation", "process")


def build(folder: Path, *flags: str, source: Path = SOURCE) -> Path:
    target = folder / source.stem
    done = hopcast("cc", "-Wall", "-Wextra", "-Werror", "-O2", source, "-pthread", *flags, "-o", target)
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture(scope="module")
def fixed(tmp_path_factory) -> Path:
    return build(tmp_path_factory.mktemp("fixed"), "-fno-pie", "-no-pie")


def lines(ranks: int) -> list[str]:
    total = 4 * (7 * ranks + ranks * (ranks - 1) // 2) + 6 * ranks
    return [f"rank {rank} of {ranks}: {total}" for rank in range(ranks)]


@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_a_program_at_fixed_addresses_gets_processes_and_says_so(fixed, ranks) -> None:
    report, printed, _ = run(fixed, ranks)
    assert report["failure"] is None, (report["failure"], printed)
    assert "--isolation process" in printed
    done = hopcast("run", "hopper", "-n", str(ranks), "--quiet", fixed)
    assert sorted(done.stdout.splitlines()[:-1]) == lines(ranks)


def test_so_does_one_with_threads(tmp_path) -> None:
    report, printed, _ = run(build(tmp_path), 3, flags=ISOLATED)
    assert report["failure"] is None, (report["failure"], printed)


@pytest.mark.parametrize(("name", "flags"), [("openmp", ["-fopenmp"]), ("long", [])])
def test_threads_of_openmp_and_long_messages(tmp_path, name, flags) -> None:
    program = build(tmp_path, *flags, source=HERE / "process_isolation" / f"{name}.c")
    report, printed, _ = run(program, 2, flags=ISOLATED)
    assert report["failure"] is None, (report["failure"], printed)
    if name == "openmp":
        numbers = 3 * 3 * sum(number % 7 for number in range(100_000))
        assert f"2 ranks of 3 threads: {numbers}" in printed


@needs_mpich
def test_it_prints_the_same_under_a_real_mpi(tmp_path) -> None:
    subprocess.run(["mpicc.mpich", "-O2", SOURCE, "-pthread", "-o", tmp_path / "real"], check=True)
    done = subprocess.run(launch("mpich", 3, tmp_path / "real"), capture_output=True, text=True, timeout=300)
    assert sorted(done.stdout.splitlines()) == lines(3)


ALIKE = [
    "point_to_point.c",
    "collectives.c",
    "requests.c",
    "objects.cpp",
    "windows.c",
    "files.c",
    "operations.c",
]


@pytest.mark.parametrize("name", ALIKE)
def test_the_outcome_is_that_of_fibers(tmp_path, name) -> None:
    program = compiled(HERE / name, tmp_path)
    apart, together = run(program, 3, flags=ISOLATED)[0], run(program, 3)[0]
    assert apart["failure"] is None
    assert apart["outcome_hash"] == together["outcome_hash"]


@pytest.mark.parametrize(
    ("how", "said"),
    [("crash", "rank 1 was ended by SIGSEGV"), ("kill", "process of rank 1 was ended by SIGKILL")],
)
def test_who_ends_badly_is_named_and_no_process_is_left(fixed, how, said) -> None:
    report, _, _ = run(fixed, 3, how)
    assert said in report["failure"]["text"]
    assert not processes_of(fixed)


def processes_of(program: Path) -> list[str]:
    """The command lines of what runs a job of this program."""
    found = []
    for folder in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path("/proc", folder, "cmdline").read_bytes().split(b"\0")
            job = next(Path(os.fsdecode(word)) for word in words if word.endswith(b"job.json"))
            if str(program) in job.read_text():
                found.append(folder)
        except (OSError, StopIteration):
            continue
    return found


def test_what_cannot_be_had_is_refused_by_name(tmp_path, fixed) -> None:
    done = hopcast("run", "hopper", "-n", "2", "--isolation", "globals", fixed)
    assert done.returncode == 2 and "--isolation process" in done.stderr
    source = tmp_path / "static.c"
    source.write_text("int main(void) { return 0; }\n")
    subprocess.run(["cc", "-static", source, "-o", tmp_path / "static"], check=True)
    done = hopcast("run", "hopper", "-n", "2", tmp_path / "static")
    assert done.returncode == 2 and "statically linked" in done.stderr
    cut = tmp_path / "cut"
    cut.write_bytes(fixed.read_bytes()[:5000])
    cut.chmod(0o755)
    done = hopcast("run", "hopper", "-n", "2", cut)
    assert done.returncode == 2 and "cut off" in done.stderr


CLASH = """
#include "check.h"
#include <pthread.h>
static void *receive(void *unused) {
    int got;
    MPI_Recv(&got, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return unused;
}
int main(int argc, char **argv) {
    pthread_t thread;
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    if (level != MPI_THREAD_SERIALIZED) return 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1) MPI_Recv(&size, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    pthread_create(&thread, NULL, receive, NULL);
    for (int found;;)
        MPI_Iprobe(1, 2, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
}
"""


def test_two_threads_in_mpi_at_once_are_a_failure_of_the_program(tmp_path) -> None:
    source = tmp_path / "clash.c"
    source.write_text(CLASH.replace('"check.h"', f'"{HERE / "check.h"}"'))
    program = build(tmp_path, "-Wno-unused-function", source=source)
    done = hopcast("run", "hopper", "-n", "2", *ISOLATED, program)
    assert done.returncode == 3, done.stderr
    said = " ".join(done.stdout.split())
    assert "while another of its threads was in a function of MPI" in said, said


OPENS = """
#include <dlfcn.h>
#include <mpi.h>
int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    void *library = dlopen(argv[1], RTLD_NOW);
    if (rank == 1) ((void (*)(void))dlsym(library, "at_end"))();
    MPI_Finalize();
}
"""


@pytest.mark.parametrize(
    ("dies", "how"),
    [
        ("*(volatile int *)16 = 1", "was ended by SIGSEGV"),
        ("abort()", "was ended by SIGABRT"),
        ("_Exit(5)", "ended by itself, with exit code 5"),
        ("for (;;) pause()", "did not end, and was killed"),
        ("ended = 1", None),
    ],
)
def test_a_process_that_dies_in_a_handler_of_atexit_is_a_failure(dies, how, tmp_path) -> None:
    """A handler that the C library runs for a library, and not hopcast."""
    source, library = tmp_path / "opens.c", tmp_path / "dies.c"
    source.write_text(OPENS)
    handler = f"static int ended; static void dies(void) {{ {dies}; }}"
    headers = "#include <stdlib.h>\n#include <unistd.h>\n"
    library.write_text(f"{headers}{handler}\nint at_end(void) {{ return ended + atexit(dies); }}\n")
    opened = library.with_suffix(".so")
    subprocess.run(["cc", "-shared", "-fPIC", library, "-o", opened], check=True)
    program = build(tmp_path, "-Wno-unused-parameter", source=source)
    done = hopcast("run", "crossbar", "-n", "3", "--json", *ISOLATED, program, opened)
    failure = json.loads(done.stdout)["failure"]
    if how is None:
        assert (done.returncode, failure) == (0, None)
        return
    after = "in what runs after its end (atexit, ends of libraries)"
    assert (done.returncode, failure["kind"]) == (3, "crash")
    assert failure["text"] == f"the process of rank 1 {how}, {after}"
