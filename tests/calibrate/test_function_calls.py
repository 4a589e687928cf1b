"""Calls of functions of a program as it runs: arguments, durations, processes; and what cannot be traced."""

from __future__ import annotations

import csv
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from real_mpi import ENVIRONMENT, launch, works

from hopcast.calibrate import function_calls
from hopcast.errors import InputError

LIBRARY = """
#include <time.h>
#include <unistd.h>
static void rest(int us) { usleep(us); }
double work(int us, double *unused) { rest(us); return 2.0 * us; }
void outer_(const int *us, const double *alpha) { work(*us, 0); rest(*us); }
"""
PROGRAM = """
#include <signal.h>
#include <stdlib.h>
double work(int us, double *unused);
void outer_(const int *us, const double *alpha);
int main(int count, char **words) {
    double sum = 0, alpha = 0.5;
    for (int us = 1000; us <= 5000; us += 1000)
        sum += work(us, 0);
    int us = 2000;
    outer_(&us, &alpha);
    return count > 1 ? atoi(words[1]) : sum != 30000;
}
"""
WORK, OUTER = "double work(int us, double *unused)", "void outer_(const int *us, const double *alpha);"


@pytest.fixture(scope="module")
def app(tmp_path_factory) -> Path:
    """A program that calls two functions of a library."""
    folder = tmp_path_factory.mktemp("app")
    (folder / "work.c").write_text(LIBRARY)
    (folder / "app.c").write_text(PROGRAM)
    compile_ = ["cc", "-O1", "-w"]
    subprocess.run([*compile_, "-shared", "-fPIC", "work.c", "-o", "libwork.so"], cwd=folder, check=True)
    link = ["-L.", "-lwork", f"-Wl,-rpath,{folder}", "-o", "app"]
    subprocess.run([*compile_, "app.c", *link], cwd=folder, check=True)
    return folder / "app"


def calls(out: Path, *words: object) -> subprocess.CompletedProcess:
    """Runs `hopcast calibrate calls`."""
    command = [sys.executable, "-m", "hopcast", "calibrate", "calls", "-o", out, *words]
    return subprocess.run(
        list(map(str, command)), capture_output=True, text=True, env=ENVIRONMENT, check=False
    )


def rows(file: Path) -> list[dict[str, str]]:
    """Lines of a table."""
    return list(csv.DictReader(file.open()))


def test_each_call_stands_with_its_arguments_and_its_duration(app: Path, tmp_path: Path) -> None:
    done = calls(tmp_path / "out", "--function", WORK, "--", app)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"work: 6 calls: {tmp_path / 'out' / 'work.csv'}\n"
    found = rows(tmp_path / "out" / "work.csv")
    assert [int(row["us"]) for row in found] == [1000, 2000, 3000, 4000, 5000, 2000]
    assert all(float(row["duration"]) >= 1e-6 * int(row["us"]) for row in found)
    starts = [float(row["start"]) for row in found]
    assert starts == sorted(starts)
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["work.csv"]


def test_of_functions_that_call_each_other_the_outermost_counts(app: Path, tmp_path: Path) -> None:
    words = ("--function", WORK, "--function", OUTER, "--arguments", "us,alpha")
    assert calls(tmp_path / "out", *words, "--", app).returncode == 0
    assert len(rows(tmp_path / "out" / "work.csv")) == 5
    [outer] = rows(tmp_path / "out" / "outer_.csv")
    assert (outer["us"], outer["alpha"]) == ("2000", "0.5")
    assert float(outer["duration"]) >= 4e-3


@pytest.mark.parametrize("library", ["mpich", "openmpi"])
def test_every_process_of_a_launcher_is_traced(library: str, app: Path, tmp_path: Path) -> None:
    if not works(library):
        pytest.skip(f"{library} is not installed")
    done = calls(tmp_path / "out", "--function", WORK, "--", *launch(library, 2, app))
    assert done.returncode == 0, done.stderr
    found = rows(tmp_path / "out" / "work.csv")
    assert len(found) == 12 and len({row["process"] for row in found}) == 2


def test_what_a_program_did_before_it_failed_is_kept(app: Path, tmp_path: Path) -> None:
    done = calls(tmp_path / "out", "--function", WORK, "--", app, "7")
    assert done.returncode == 2
    assert "ended with code 7; calls up to there are kept" in done.stderr
    assert len(rows(tmp_path / "out" / "work.csv")) == 6


def test_ctrl_c_keeps_the_calls(app: Path, tmp_path: Path) -> None:
    """The shell's Ctrl-C goes to the program, too."""
    script = tmp_path / "forever.sh"
    script.write_text(f"while true; do {app} 0; done\n")
    words = ["calibrate", "calls", "-o", tmp_path / "out", "--function", WORK, "--", "sh", script]
    command = [sys.executable, "-m", "hopcast", *map(str, words)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=ENVIRONMENT, start_new_session=True, **pipes) as process:
        while not list(tmp_path.glob("out/.calls-*/work-*.csv")):
            time.sleep(0.05)
        time.sleep(0.2)
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert process.returncode != 0 and "calls up to there are kept" in errors
    assert rows(tmp_path / "out" / "work.csv")
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["work.csv"]


def test_what_cannot_be_traced_says_why(app: Path, tmp_path: Path) -> None:
    done = calls(tmp_path / "out", "--function", "void nothing(int n)", "--", app)
    assert done.returncode == 2 and "no call of nothing was seen" in done.stderr
    done = calls(tmp_path / "out", "--function", "void f(int n, strange *x)", "--", app)
    assert done.returncode == 2 and "the prototypes do not compile: unknown type name" in done.stderr
    done = calls(tmp_path / "out", "--function", WORK, "--arguments", "ms", "--", app)
    assert done.returncode == 2 and "no function has a parameter 'ms'" in done.stderr
    assert shutil.which("no-such-program") is None
    done = calls(tmp_path / "out", "--function", WORK, "--", "no-such-program")
    assert done.returncode == 2 and "no-such-program: no such program" in done.stderr


@pytest.mark.parametrize(
    ("prototype", "traced"),
    [
        ("int f(void)", []),
        ("double f(double a, const char *text, unsigned long n)", ["a", "n"]),
        ("void f(size_t n, double x[], const int *m)", ["n"]),
    ],
)
def test_numbers_are_traced_where_none_are_named(prototype: str, traced: list[str]) -> None:
    assert [one.name for one in function_calls.function(prototype).traced] == traced


@pytest.mark.parametrize("prototype", ["f", "void f(int)", "void f(double *)", "int"])
def test_what_is_no_prototype_is_refused(prototype: str) -> None:
    with pytest.raises(InputError):
        function_calls.function(prototype)


def test_a_pointer_to_what_is_no_number_is_refused() -> None:
    with pytest.raises(InputError, match="'text' is no number"):
        function_calls.function("void f(char **text)", ["text"])
