"""Symbols that several libraries define: the first in breadth-first order counts, as in any process."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from test_programs import hopcast, pytestmark  # noqa: F401

LIBRARY = ("cc", "-O1", "-shared", "-fPIC")
BESIDE = ("-L.", "-Wl,-rpath,$ORIGIN", "-Wl,--no-as-needed")
MAIN = """\
#include <mpi.h>
#include <stdio.h>
int which(void), asked(void);
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    printf("%d %d\\n", which(), asked());
    MPI_Finalize();
}
"""
KEEPS = "static int calls; int KEEP(void) { return ++calls; }\n"
"""A variable, so that each rank has a copy of the library."""


def build(folder: Path, name: str, text: str, *words: str) -> None:
    (folder / f"{name}.c").write_text(text)
    line = [*LIBRARY, f"{name}.c", "-o", f"lib{name}.so", *words]
    subprocess.run(line, check=True, cwd=folder)


def said(folder: Path, isolation: str) -> list[str]:
    words = ("-n", "2", "--quiet", "--isolation", isolation)
    done = hopcast("run", "crossbar", *words, folder / "main")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()[:-1]


def link(folder: Path, text: str, *libraries: str) -> None:
    (folder / "main.c").write_text(text)
    done = hopcast("cc", "main.c", "-o", "main", *BESIDE, *libraries)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("isolation", ["globals", "process"])
@pytest.mark.parametrize("kept", ["neither", "one", "two", "both"])
def test_the_first_library_that_is_linked_counts(isolation, kept, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, number in (("one", 1), ("two", 2)):
        keeps = KEEPS.replace("KEEP", f"of_{name}") if kept in (name, "both") else ""
        build(tmp_path, name, f"{keeps}int which(void) {{ return {number}; }}\n")
    build(tmp_path, "asks", "int which(void); int asked(void) { return which(); }\n")
    for libraries, expected in ((("-lone", "-ltwo"), "1 1"), (("-ltwo", "-lone"), "2 2")):
        link(tmp_path, MAIN, *libraries, "-lasks")
        assert said(tmp_path, isolation) == [expected] * 2


@pytest.mark.parametrize("isolation", ["globals", "process"])
@pytest.mark.parametrize("keeps", [True, False])
def test_what_the_program_needs_comes_before_what_its_libraries_need(
    isolation, keeps, tmp_path, monkeypatch
) -> None:
    """The library that the first one needs is loaded before the others, and defines it, too."""
    monkeypatch.chdir(tmp_path)
    own = KEEPS if keeps else ""
    build(tmp_path, "deep", "int which(void) { return 3; } int asked(void) { return which(); }\n")
    build(tmp_path, "first", own.replace("KEEP", "of_first"), *BESIDE, "-ldeep")
    build(tmp_path, "second", own.replace("KEEP", "of_second") + "int which(void) { return 2; }\n")
    link(tmp_path, MAIN, "-lfirst", "-lsecond", "-ldeep")
    assert said(tmp_path, isolation) == ["2 2"] * 2


@pytest.mark.parametrize("isolation", ["globals", "process"])
def test_a_symbolic_library_asks_itself_and_the_program_comes_first(isolation, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    build(tmp_path, "one", KEEPS.replace("KEEP", "of_one") + "int which(void) { return 1; }\n")
    asks = "int which(void) { return 2; } int asked(void) { return which(); }\n"
    build(tmp_path, "two", asks, "-Wl,-Bsymbolic")
    link(tmp_path, MAIN, "-lone", "-ltwo")
    assert said(tmp_path, isolation) == ["1 2"] * 2
    build(tmp_path, "two", asks)
    assert said(tmp_path, isolation) == ["1 1"] * 2
    link(tmp_path, MAIN + "int which(void) { return 0; }\n", "-lone", "-ltwo")
    assert said(tmp_path, isolation) == ["0 0"] * 2


@pytest.mark.parametrize("isolation", ["globals", "process"])
def test_a_library_that_was_built_again_with_a_shorter_variable(isolation, tmp_path, monkeypatch) -> None:
    """The program keeps a copy of a library's variable, as long as it was when it was linked."""
    monkeypatch.chdir(tmp_path)
    text = MAIN.replace("which(), asked()", "table[0], table[1] + table[2] + table[3]")
    text = text.replace("int which(void), asked(void);", "extern int table[4];")
    build(tmp_path, "table", "int table[4] = {1, 2, 3, 4};\n")
    link(tmp_path, text, "-ltable")
    assert said(tmp_path, isolation) == ["1 9"] * 2
    shorter = (
        '__asm__(".data; .globl table; .type table, @object; .size table, 4; table: .long 5, 6, 7, 8");\n'
    )
    build(tmp_path, "table", shorter)
    assert said(tmp_path, isolation) == ["5 0"] * 2


@pytest.mark.parametrize("isolation", ["globals", "process"])
def test_libraries_that_do_not_need_each_other_begin_the_last_first(isolation, tmp_path, monkeypatch) -> None:
    """As the dynamic linker has it; what both need begins before them."""
    monkeypatch.chdir(tmp_path)
    begins = "extern int order;\n"
    begins += "__attribute__((constructor)) static void begin(void) { order = order * 10 + %d; }\n"
    build(tmp_path, "order", "int order;\n" + begins % 3)
    for number, name in enumerate(("first", "second"), 1):
        build(tmp_path, name, begins % number, *BESIDE, "-lorder")
    text = MAIN.replace("which(), asked()", "order, 0")
    text = text.replace("int which(void), asked(void);", "extern int order;")
    link(tmp_path, text, "-Wl,--no-as-needed", "-lfirst", "-lsecond", "-lorder")
    assert said(tmp_path, isolation) == ["321 0"] * 2


@pytest.mark.parametrize("isolation", ["globals", "process"])
def test_of_a_variable_with_versions_the_program_has_the_default_one(
    isolation, tmp_path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "versions.map").write_text("OLD { };\nNEW { } OLD;\n")
    both = 'int old[2] = {1, 1}, now[2] = {2, 3};\n__asm__(".symver old, v@OLD; .symver now, v@@NEW");\n'
    build(tmp_path, "v", both, "-Wl,--version-script=versions.map,-soname,libv.so")
    text = MAIN.replace("which(), asked()", "v[0], v[1]").replace(
        "int which(void), asked(void);", "extern int v[2];"
    )
    link(tmp_path, text, "-lv")
    assert said(tmp_path, isolation) == ["2 3"] * 2
