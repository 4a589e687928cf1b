"""Runs of programs that are killed, or told to end: what is left of them, processes, folders and reports."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_programs import compiled, pytestmark  # noqa: F401

FOREVER_S = 60
"""Far longer than it takes; what does not come by then does not come."""

BUSY = """
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
    int rank, calls = argc > 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) { puts("busy"); fflush(stdout); }
    for (volatile long turns = 0; calls || rank == 1; turns++)
        if (calls) MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
"""

BUSY_IN_PYTHON = """
from mpi4py import MPI
comm = MPI.COMM_WORLD
comm.Barrier()
if comm.rank == 1: print("busy", flush=True)
while comm.rank == 1:
    pass
comm.Barrier()
"""


@pytest.fixture(scope="module")
def busy(tmp_path_factory) -> Path:
    """With an argument all ranks call MPI for ever; without one rank 1 computes for ever."""
    source = tmp_path_factory.mktemp("busy") / "busy.c"
    source.write_text(BUSY)
    return compiled(source, source.parent)


@pytest.fixture(autouse=True)
def _nothing_is_left_behind(tmp_path) -> Iterator[None]:
    yield
    for left in processes_in(tmp_path):
        with contextlib.suppress(ProcessLookupError):
            os.kill(left, signal.SIGKILL)


@contextlib.contextmanager
def run(folder: Path, *words: object, **options) -> Iterator[subprocess.Popen]:
    """A run whose temporary folders are in `folder`, once the program has said that it is busy."""
    temporary = folder / "temporary"
    temporary.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "hopcast", "run", "hopper", "-n", "3", *map(str, words)]
    environment = os.environ | {"TMPDIR": str(temporary)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": environment}
    with subprocess.Popen(command, cwd=folder, **(pipes | options)) as process:
        try:
            assert process.stdout is None or process.stdout.readline() == "busy\n", process.stderr.read()
            yield process
        finally:
            process.kill()


def processes_in(folder: Path) -> list[int]:
    """The processes that work there, but for this one."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (process / "cwd").resolve() == folder.resolve():
                found.append(int(process.name))
    return found


def wait_until_none_is_left(folder: Path) -> None:
    until = time.monotonic() + FOREVER_S
    while left := processes_in(folder):
        assert time.monotonic() < until, left
        time.sleep(0.05)


@pytest.mark.parametrize("isolation", ["globals", "process"])
def test_nothing_goes_on_after_a_kill_and_the_next_run_cleans_up(busy, tmp_path, isolation) -> None:
    with run(tmp_path, "--isolation", isolation, busy, "calls") as killed:
        with run(tmp_path, busy, "calls") as living:
            (theirs, others) = sorted((tmp_path / "temporary").iterdir(), key=os.path.getmtime)
            killed.kill()
            killed.wait(FOREVER_S)
            assert theirs.is_dir() and others.is_dir()
            with run(tmp_path, busy, "calls") as later:
                # That of the run that was killed has gone, and not that of the one that lives.
                assert not theirs.exists() and others.is_dir()
                later.send_signal(signal.SIGINT)
                later.communicate(timeout=FOREVER_S)
            living.send_signal(signal.SIGTERM)
            living.communicate(timeout=FOREVER_S)
        wait_until_none_is_left(tmp_path)
        assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_hopcast_alone_ends_the_run_with_a_report(busy, tmp_path, number) -> None:
    with run(tmp_path, "--out", "report", busy, "calls") as process:
        process.send_signal(number)
        _, err = process.communicate(timeout=FOREVER_S)
        assert process.returncode == 130, err
        report = json.loads((tmp_path / "report" / "report.json").read_text())
        assert (report["partial"], report["stopped"]["by"], report["failure"]) == (True, "interrupt", None)
        wait_until_none_is_left(tmp_path)


def check_broken_off(process: subprocess.Popen, folder: Path, number: int, place: str) -> None:
    """One signal is enough, and breaking off what computes is no failure of the program."""
    process.send_signal(number)
    _, err = process.communicate(timeout=FOREVER_S)
    assert process.returncode == 130, err
    report = json.loads((folder / "report" / "report.json").read_text())
    assert (report["failure"], report["stopped"]["by"], report["ranks_finished"]) == (None, "interrupt", 0)
    # In order of the time, which is measured: rank 1 may be anywhere among them.
    calls = {behind["rank"]: behind["call"] for behind in report["stopped"]["behind"]}
    assert calls[1] == "compute"
    said = "rank 1, which made no MPI call when the run was stopped, was broken off"
    assert any(text.startswith(said) and place in text for text in report["warnings"]), report["warnings"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("isolation", ["globals", "process"])
def test_a_rank_that_calls_nothing_is_broken_off(busy, tmp_path, isolation, number) -> None:
    with run(tmp_path, "--out", "report", "--isolation", isolation, busy) as process:
        check_broken_off(process, tmp_path, number, "at main")


def test_a_rank_of_an_mpi4py_program_is_broken_off(tmp_path) -> None:
    pytest.importorskip("mpi4py")
    (tmp_path / "busy.py").write_text(BUSY_IN_PYTHON)
    with run(tmp_path, "--out", "report", "busy.py") as process:
        check_broken_off(process, tmp_path, signal.SIGTERM, "")


def test_a_closed_terminal_ends_the_run_with_a_report(busy, tmp_path) -> None:
    """The kernel tells the processes of the terminal with SIGHUP; nothing can be printed any more."""
    ours, theirs = pty.openpty()
    streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs, "start_new_session": True}
    imports = "import fcntl, os, sys, termios"
    take_terminal = f"{imports}; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execvp(sys.argv[1], sys.argv[1:])"
    command = [sys.executable, "-c", take_terminal, sys.executable, "-m", "hopcast", "run", "hopper"]
    command += ["-n", "3", "--out", "report", str(busy), "calls"]
    with subprocess.Popen(command, cwd=tmp_path, **streams) as process:
        try:
            os.close(theirs)
            said = b""
            while b"busy" not in said:
                said += os.read(ours, 1000)
            os.close(ours)
            assert process.wait(FOREVER_S) == 130
            report = json.loads((tmp_path / "report" / "report.json").read_text())
            assert report["stopped"]["by"] == "interrupt"
            wait_until_none_is_left(tmp_path)
        finally:
            process.kill()


TALKING = """
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    for (int line = 0; line < 20000; line++) puts("a line that somebody may read");
    return MPI_Finalize();
}
"""


@pytest.mark.parametrize(
    ("isolation", "shell", "code", "said"),
    [
        ("globals", "{} | head -n 1; exit ${{PIPESTATUS[0]}}", 130, "the reader of its output has gone"),
        ("process", "{} | head -n 1; exit ${{PIPESTATUS[0]}}", 0, None),
        ("globals", "ulimit -f 100; {} > long.txt", 2, "a file that it writes is longer than allowed"),
        ("process", "ulimit -f 100; {} > long.txt", 2, "output: File too large"),
    ],
)
def test_a_program_whose_output_is_taken_no_more_ends(isolation, shell, code, said, tmp_path) -> None:
    source = tmp_path / "talking.c"
    source.write_text(TALKING)
    talking = compiled(source, tmp_path)
    command = f"{sys.executable} -m hopcast run crossbar -n 2 --isolation {isolation} {talking}"
    line = ["bash", "-c", shell.format(command)]
    done = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path, timeout=FOREVER_S)
    assert done.returncode == code, done.stderr
    if said is None:
        assert done.stderr == ""
    else:
        assert said in done.stderr and len(done.stderr.strip().splitlines()) == 1
