"""Calls of functions of a program as it runs: arguments, durations, processes; and what cannot be traced."""

from __future__ import annotations

import csv
import os
import platform
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from real_mpi import ENVIRONMENT, launch, works

from hopcast.calibrate import function_calls
from hopcast.calibrate.function_calls import ROOM
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


OWN = """
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((noipa)) static double relax(int n, double *grid, float w) {
    usleep(100 * n);
    for (int i = 0; i < n; i++) grid[i] = w * grid[i] + 1;
    return grid[n - 1];
}
__attribute__((noinline))
double _Complex many(int a, long b, short c, int d, int e, int f, int g, double h, double s) {
    return a + b + c + d + e + f + g + 1i * h * s;
}
__attribute__((noipa)) long tree(int depth) { return depth ? tree(depth - 1) + tree(depth - 1) + 1 : 1; }
int main(void) {
    double *grid = calloc(100, sizeof *grid), sum = 0;
    for (int n = 10; n <= 50; n += 10) sum += relax(n, grid, 0.5f);
    double _Complex of = many(1, -2, 3, 4, 5, 6, 7, 8.5, 1e-3);
    printf("%.17g %g %g %ld\\n", sum, __real__ of, __imag__ of, tree(6));
    return 0;
}
"""
OWN_FUNCTIONS = ("double relax(int n, double *grid, float w)", "long tree(int depth)")
MANY = "double _Complex many(int a, long b, short c, int d, int e, int f, int g, double h, double s)"
"""Arguments in both kinds of register and on the stack, a result in two registers."""


def own_program(folder: Path, *flags: str, source: str = OWN) -> Path:
    """A program whose functions are its own."""
    (folder / "own.c").write_text(source)
    subprocess.run(["cc", "-w", *flags, "own.c", "-o", "own"], cwd=folder, check=True)
    return folder / "own"


@pytest.mark.parametrize(
    "flags",
    [
        ("-O0",),
        ("-O2",),
        ("-O3", "-fcf-protection=full"),
        ("-O2", "-fno-pie", "-no-pie"),
        ("-Os", "-rdynamic"),
    ],
    ids=" ".join,
)
def test_functions_of_the_executable_are_traced(flags: tuple[str, ...], tmp_path: Path) -> None:
    """Numbers by value, in registers and on the stack; the program computes what it does untraced."""
    if platform.machine() != "x86_64" and "-fcf-protection=full" in flags:
        pytest.skip("no such protection on this processor")
    own = own_program(tmp_path, *flags, ROOM)
    untraced = subprocess.run([own], capture_output=True, text=True, check=True).stdout
    words = [word for one in (*OWN_FUNCTIONS, MANY) for word in ("--function", one)]
    done = calls(tmp_path / "out", *words, "--", own)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(untraced)
    found = rows(tmp_path / "out" / "relax.csv")
    assert [(int(row["n"]), float(row["w"])) for row in found] == [(n, 0.5) for n in range(10, 51, 10)]
    assert all(1e-4 * int(row["n"]) <= float(row["duration"]) < 1 for row in found)
    [many] = rows(tmp_path / "out" / "many.csv")
    assert [float(many[name]) for name in "abcdefghs"] == [1, -2, 3, 4, 5, 6, 7, 8.5, 1e-3]
    assert [row["depth"] for row in rows(tmp_path / "out" / "tree.csv")] == ["6"]


def test_a_function_of_fortran_is_traced(tmp_path: Path) -> None:
    if shutil.which("gfortran") is None:
        pytest.skip("no gfortran")
    (tmp_path / "own.f90").write_text(
        "subroutine relax(n, x)\n  integer :: n\n  real(8) :: x(n)\n  x = 0.5d0 * x + 1\nend subroutine\n"
        "program own\n  real(8) :: x(300)\n  integer :: n\n  x = 0\n"
        "  do n = 100, 300, 100\n    call relax(n, x)\n  end do\n  if (x(1) /= 1.75d0) stop 1\nend program\n"
    )
    words = ["gfortran", "-O1", "-fno-inline", ROOM, "own.f90", "-o", "own"]
    subprocess.run(words, cwd=tmp_path, check=True)
    words = ["--function", "void relax_(const int *n, double *x)", "--arguments", "n"]
    done = calls(tmp_path / "out", *words, "--", tmp_path / "own")
    assert done.returncode == 0, done.stderr
    assert [row["n"] for row in rows(tmp_path / "out" / "relax_.csv")] == ["100", "200", "300"]


@pytest.mark.parametrize("library", ["mpich", "openmpi"])
def test_functions_of_every_process_of_a_launcher_are_traced(library: str, tmp_path: Path) -> None:
    if not works(library):
        pytest.skip(f"{library} is not installed")
    own = own_program(tmp_path, "-O2", ROOM)
    done = calls(tmp_path / "out", "--function", OWN_FUNCTIONS[0], "--", *launch(library, 2, own))
    assert done.returncode == 0, done.stderr
    found = rows(tmp_path / "out" / "relax.csv")
    assert len(found) == 10 and len({row["process"] for row in found}) == 2


CHANGED = """
__attribute__((noinline)) static double scale(int n, double *x, int unused, double w) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i] * w;
    return sum;
}
int main(int count, char **words) {
    double x[10] = {0}, sum = 0;
    for (int i = 0; i < count + 3; i++) sum += scale(10, x, count, 0.5);
    return sum > 3;
}
"""
SCALE = "double scale(int n, double *x, int unused, double w)"
INLINED = "double half(double x) { return x / 2; } int main(int n, char **w) { return half(n) > 1; }"


@pytest.mark.parametrize(
    ("flags", "source", "function", "says"),
    [
        (("-O2",), OWN, "long tree(int depth)", f"without room at its beginning: compile it with {ROOM}"),
        (("-O2", ROOM), OWN, "int absent(int n)", "has no function of that name ('nm "),
        (("-O2", ROOM, "-s"), OWN, "long tree(int depth)", "or that 'strip' has removed"),
        (("-O2", ROOM), INLINED, "double half(double x)", "which __attribute__((noinline)) forbids"),
        (("-O2", ROOM), CHANGED, SCALE, "to scale.constprop.0: compile it with __attribute__((noipa))"),
    ],
    ids=["no room", "absent", "stripped", "inlined", "changed"],
)
def test_what_cannot_be_traced_in_an_executable_says_why(
    flags: tuple[str, ...], source: str, function: str, says: str, tmp_path: Path
) -> None:
    own = own_program(tmp_path, *flags, source=source)
    done = calls(tmp_path / "out", "--function", function, "--", own)
    assert done.returncode == 2 and says in done.stderr, done.stderr


def test_a_name_of_two_functions_is_refused(tmp_path: Path) -> None:
    one = "__attribute__((noinline)) static int f(int n) { return n + n / 7; }\n"
    (tmp_path / "other.c").write_text(f"{one}int other(int n) {{ return f(n); }}\n")
    source = f"{one}int other(int n);\nint main(int n, char **words) {{ return f(n) - other(n); }}\n"
    own = own_program(tmp_path, "-O1", "-fno-ipa-cp", "-fno-ipa-sra", ROOM, "other.c", source=source)
    done = calls(tmp_path / "out", "--function", "int f(int n)", "--", own)
    assert done.returncode == 2 and "it is the name of 2 functions of the program" in done.stderr, done.stderr


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
