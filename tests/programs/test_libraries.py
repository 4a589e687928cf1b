"""Programs that bring libraries: what these keep is each rank's own."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from real_mpi import launch, needs_mpich
from test_programs import ENVIRONMENT, HERE, hopcast, pytestmark  # noqa: F401

SOURCES = HERE / "libraries"


def build(folder: Path, *words: str | Path) -> None:
    subprocess.run(list(map(str, words)), check=True, cwd=folder)


@pytest.fixture(scope="module", params=["named", "unnamed"])
def folder(request, tmp_path_factory) -> Path:
    """With both libraries; a program knows a named one by that name, any other by that of its file."""
    folder = tmp_path_factory.mktemp(request.param)
    library = ("cc", "-O2", "-shared", "-fPIC")
    names = ("-Wl,-soname,libcounter.so",) if request.param == "named" else ()
    build(folder, *library, SOURCES / "counter.c", *names, "-o", "libcounter.so")
    build(folder, *library, SOURCES / "caller.c", "-o", "libcaller.so", "-L.", "-lcounter")
    return folder


USER = """\
#include <mpi.h>
#include <stdio.h>
int count(void);
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    puts(count() == 1 ? "once" : "more");
    MPI_Finalize();
}
"""
USES = ("-L.", "-lcaller", "-lcounter", "-Wl,-rpath,$ORIGIN")


@pytest.mark.parametrize("isolation", ["globals", "process"])
def test_what_a_library_keeps_is_each_ranks_own(folder, isolation, monkeypatch) -> None:
    monkeypatch.chdir(folder)
    done = hopcast("cc", "-O2", SOURCES / "main.c", "-o", "main", *USES)
    assert done.returncode == 0, done.stderr
    done = hopcast("run", "hopper", "-n", "5", "--quiet", "--verbose", "--isolation", isolation, "./main")
    assert done.returncode == 0, done.stderr
    names = ["none", "one", "two", "none", "one"]
    expected = [f"rank {rank} {name}" for rank, name in enumerate(names)]
    expected += [f"counter ends after {9 * (rank + 1)}" for rank in range(5)]
    assert sorted(done.stdout.splitlines()[:-1]) == sorted(expected)
    assert "libcounter.so" in done.stderr
    assert ("a copy for each rank" if isolation == "globals" else "in each process") in done.stderr


@pytest.mark.parametrize("stripped", ["-g", "-s", "-Wl,-x"])
@pytest.mark.parametrize(
    "variable",
    [
        "static char calls;",
        "static int calls;",
        "static _Thread_local char calls;",
        'static int calls __attribute__((section("own")));',
        "static int completed;\n#define calls completed",
    ],
)
def test_so_is_a_library_that_keeps_a_few_bytes(variable, stripped, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "few.c").write_text(f"{variable}\nint count(void) {{ return ++calls; }}\n")
    build(tmp_path, "cc", "-shared", "-fPIC", stripped, "few.c", "-o", "libfew.so")
    (tmp_path / "user.c").write_text(USER)
    done = hopcast("cc", "user.c", "-o", "user", "./libfew.so")
    assert done.returncode == 0, done.stderr
    done = hopcast("run", "hopper", "-n", "3", "--quiet", "./user")
    assert done.stdout.splitlines()[:-1] == ["once"] * 3, done.stdout


@pytest.mark.parametrize("isolation", ["globals", "process", "none"])
@pytest.mark.parametrize("body", ["static int calls; return ++calls;", "return 1;"])
def test_versions_may_be_of_a_library_that_does_not_say_its_name(
    body, isolation, tmp_path, monkeypatch
) -> None:
    """The program needs version V of a file; the C library's loader knows no library by that name."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "counts.c").write_text(f"int count(void) {{ {body} }}\n")
    (tmp_path / "versions").write_text("V { global: count; local: *; };\n")
    build(
        tmp_path, "cc", "-shared", "-fPIC", "counts.c", "-Wl,--version-script=versions", "-o", "libcounts.so"
    )
    (tmp_path / "user.c").write_text(USER)
    done = hopcast("cc", "user.c", "-o", "user", "-L.", "-lcounts", "-Wl,-rpath,$ORIGIN")
    assert done.returncode == 0, done.stderr
    done = hopcast("run", "hopper", "-n", "2", "--quiet", "--isolation", isolation, "./user")
    assert done.returncode == 0, done.stderr
    second = "more" if isolation == "none" and "static" in body else "once"
    assert done.stdout.splitlines()[:-1] == ["once", second], done.stdout


def test_one_that_keeps_nothing_is_shared(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "none.c").write_text("int count(void) { return 1; }\n")
    build(tmp_path, "cc", "-shared", "-fPIC", "none.c", "-o", "libnone.so")
    (tmp_path / "user.c").write_text(USER)
    assert hopcast("cc", "user.c", "-o", "user", "./libnone.so").returncode == 0
    done = hopcast("run", "hopper", "-n", "3", "--quiet", "--verbose", "./user")
    assert done.stdout.splitlines()[:-1] == ["once"] * 3, done.stdout
    assert "libnone.so (./libnone.so): shared, without variables" in done.stderr


OPENER = """\
#include <mpi.h>
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    void *library = dlopen(argv[1], RTLD_NOW);
    int (*count)(void) = (int (*)(void))dlsym(library, "count");
    puts(count() == 1 ? "once" : "more");
    MPI_Finalize();
    return dlclose(library);
}
"""


@pytest.mark.parametrize(
    ("variable", "isolation", "shares", "warns"),
    [
        ("static", "globals", True, True),
        ("static", "process", False, False),
        ("static", "none", True, False),
        ("", "globals", False, False),
    ],
)
def test_one_that_is_opened_and_keeps_something_is_said_to_be_shared(
    variable, isolation, shares, warns, tmp_path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "opened.c").write_text(f"int count(void) {{ {variable} int calls = 0; return ++calls; }}\n")
    build(tmp_path, "cc", "-shared", "-fPIC", "opened.c", "-o", "opened.so")
    (tmp_path / "opener.c").write_text(OPENER)
    assert hopcast("cc", "opener.c", "-o", "opener").returncode == 0
    done = hopcast("run", "hopper", "-n", "3", "--json", "--isolation", isolation, "./opener", "./opened.so")
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stderr.splitlines() if line in ("once", "more")]
    assert sorted(said) == (["more", "more", "once"] if shares else ["once"] * 3)
    warnings = [one for one in json.loads(done.stdout)["warnings"] if "dlopen" in one]
    expected = (
        "all ranks share the variables of what the program opened with dlopen: ./opened.so; link the program "
        "with it, or run with --isolation process"
    )
    assert warnings == ([expected] if warns else [])


@pytest.mark.parametrize("isolation", ["globals", "process", "none"])
def test_one_is_opened_by_its_name_in_the_folders_of_the_program(isolation, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder, calls in (("beside", 0), ("elsewhere", 1)):
        (tmp_path / folder).mkdir()
        (tmp_path / "opened.c").write_text(f"int count(void) {{ return {calls} + 1; }}\n")
        build(tmp_path, "cc", "-shared", "-fPIC", "opened.c", "-o", f"{folder}/libopened.so")
    (tmp_path / "opener.c").write_text(OPENER)
    for program, tags in (("opener", "--enable-new-dtags"), ("older", "--disable-new-dtags")):
        folders = f"-Wl,{tags},-rpath,/nowhere:$ORIGIN/beside"
        assert hopcast("cc", "opener.c", "-o", program, folders).returncode == 0

    def said(program: str, variable: str) -> list[str]:
        monkeypatch.setitem(ENVIRONMENT, "LD_LIBRARY_PATH", variable)
        options = ("-n", "2", "--quiet", "--isolation", isolation)
        done = hopcast("run", "hopper", *options, f"./{program}", "libopened.so")
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()[:2]

    assert said("opener", "") == said("older", "") == ["once"] * 2
    assert said("opener", str(tmp_path / "elsewhere")) == ["more"] * 2, "LD_LIBRARY_PATH goes before RUNPATH"
    assert said("older", str(tmp_path / "elsewhere")) == ["once"] * 2, "RPATH goes before LD_LIBRARY_PATH"


@needs_mpich
def test_it_is_so_under_a_real_mpi(folder) -> None:
    build(folder, "mpicc.mpich", "-O2", SOURCES / "main.c", "-o", "real", *USES)
    build(folder, *launch("mpich", 3, "./real"))


@pytest.mark.skipif(not shutil.which("gfortran"), reason="no Fortran compiler is installed")
def test_units_of_fortran_are_each_ranks_own(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    build(tmp_path, "gfortran", "-O2", "-fPIC", "-c", SOURCES / "say.f90")
    assert hopcast("cc", SOURCES / "units.c", "say.o", "-o", "units", "-lgfortran").returncode == 0
    done = hopcast("run", "hopper", "-n", "4", "--quiet", "./units")
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()[:-1]]
    expected = [["hello", "of", str(rank)] for rank in range(4)]
    expected += [["part", str(rank), "rest", str(rank)] for rank in range(4)]
    assert sorted(lines) == sorted(expected)
    assert not list(tmp_path.glob("fort.out.*"))


OBJECTS = """
#include <cstdio>
#include <map>
#include <string>
std::string name = "short";
std::map<int, int> table = {{1, 2}};
int plain = 1;
static int *seen;
static int begun;
int add(int, int);
struct Begins {
    Begins() { seen = &plain; begun += add(1, 0); }
    ~Begins() { std::printf("ended %d\\n", begun); }
};
static Begins begins;
int shown() { return *seen; }
int times_begun() { return begun; }
"""
USES_OBJECTS = """
#include <mpi.h>
#include <cstdio>
#include <map>
#include <string>
extern std::string name;
extern std::map<int, int> table;
extern int plain;
int shown(), times_begun();
static int added;
int add(int one, int other) { added += one + other; return added; }
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    name = "a name of forty characters, or even of more than that";
    table[3] = 4;
    plain = 5;
    int sum = 0;
    for (const auto &[key, value] : table) sum += value;
    std::printf("%d %d %d %zu\\n", sum, shown(), times_begun(), name.size());
    MPI_Finalize();
}
"""


@pytest.mark.parametrize("isolation", ["globals", "process"])
@pytest.mark.parametrize("linked", [(), ("-no-pie",)], ids=["pie", "no-pie"])
def test_objects_of_a_library_are_made_for_each_rank(isolation, linked, tmp_path, monkeypatch) -> None:
    """A constructor calls the program, and keeps the address of a variable that the program copies."""
    if linked and isolation == "globals":
        pytest.skip("not position-independent: ranks are processes")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "objects.cc").write_text(OBJECTS)
    build(tmp_path, "c++", "-O1", "-std=c++17", "-shared", "-fPIC", "objects.cc", "-o", "libobjects.so")
    (tmp_path / "user.cc").write_text(USES_OBJECTS)
    words = ("-std=c++17", *linked, "user.cc", "-o", "user", "-L.", "-lobjects", "-Wl,-rpath,$ORIGIN")
    done = hopcast("cxx", *words)
    assert done.returncode == 0, done.stderr
    done = hopcast("run", "crossbar", "-n", "2", "--quiet", "--isolation", isolation, "./user")
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(done.stdout.splitlines()[:-1]) == ["6 5 1 53"] * 2 + ["ended 1"] * 2


def test_thread_local_variables_of_the_program_are_refused_to_libraries_of_processes(
    tmp_path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.c").write_text("extern _Thread_local int own; int count(void) { return ++own; }\n")
    build(tmp_path, "cc", "-shared", "-fPIC", "own.c", "-o", "libown.so")
    (tmp_path / "user.c").write_text(f"_Thread_local int own;\n{USER}")
    assert hopcast("cc", "user.c", "-o", "user", "./libown.so").returncode == 0
    done = hopcast("run", "crossbar", "-n", "2", "--quiet", "./user")
    assert done.stdout.splitlines()[:-1] == ["once"] * 2, done.stderr
    done = hopcast("run", "crossbar", "-n", "2", "--quiet", "--isolation", "process", "./user")
    assert done.returncode == 2
    assert "libown.so uses the thread-local variable own of the program" in done.stderr
