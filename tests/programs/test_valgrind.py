"""Ranks in valgrind: it finds nothing in programs that are right; what is wrong has rank and line.

All programs of this folder take minutes: `make valgrind` (HOPCAST_VALGRIND=all); a few are run always.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from test_programs import ARGUMENTS, SOURCES, compiled, hopcast, pytestmark

FEW = ("globals", "objects")
CHOSEN = [path for path in SOURCES if os.environ.get("HOPCAST_VALGRIND") == "all" or path.stem in FEW]
MEANT = {"library": "Invalid write of size 4"}
"""Errors that a program makes on purpose, once on each rank."""
TOOL = "valgrind -q --error-exitcode=99"

pytestmark = [
    pytestmark,
    pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not installed"),
]

WRONG = """\
#include <mpi.h>
#include <stdlib.h>
static int decide(const int *numbers, int rank) {
    if (numbers[rank] > 7)
        return 1;
    return 0;
}
int main(int argc, char **argv) {
    int rank, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int *numbers = malloc(3 * sizeof *numbers);
    numbers[0] = numbers[1] = 1;
    int one = decide(numbers, rank);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 1) numbers[3] = sum;
    MPI_Finalize();
}
"""


def in_valgrind(program: Path, *words: str) -> list[str]:
    """Valgrind's report about three ranks."""
    done = hopcast("run", "hopper", "-n", "3", "--model", "loggp", "--quiet", "--tool", TOOL, program, *words)
    said = re.compile(r"==\d+==|\*\*\d+\*\*|--\d+--|hopcast: ")
    return [line for line in done.stderr.splitlines() if said.match(line)]


@pytest.mark.parametrize("source", CHOSEN, ids=lambda source: source.stem)
def test_nothing_is_found_in_a_program_that_is_right(source, tmp_path) -> None:
    said = in_valgrind(compiled(source, tmp_path), *ARGUMENTS.get(source.stem, ()))
    found = [line.split("== ")[1] for line in said if re.match(r"==\d+== \S", line)]
    ranks = [line for line in said if line.startswith("hopcast: ")]
    meant = range(3) if source.stem in MEANT else []
    assert found == [MEANT[source.stem] for _ in meant], said
    assert sorted(ranks) == [f"hopcast: valgrind found 1 in rank {rank}" for rank in meant], said


def test_what_is_found_has_rank_and_line(tmp_path) -> None:
    source = tmp_path / "wrong.c"
    source.write_text(WRONG)
    done = hopcast("cc", "-g", "-O0", source, "-o", tmp_path / "wrong")
    assert done.returncode == 0, done.stderr
    said = "\n".join(in_valgrind(tmp_path / "wrong"))
    assert said.count("Conditional jump or move depends on uninitialised value(s)") == 1, said
    assert "decide (wrong.c:4)" in said
    assert "hopcast: valgrind found 1 in rank 2" in said
    assert said.count("Invalid write of size 4") == 1
    assert "main (wrong.c:16)" in said
    assert "hopcast: valgrind found 1 in rank 1" in said


LIBRARY = """\
static int calls;
int count(void) { return ++calls; }
"""
USER = """\
#include <mpi.h>
int count(void);
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int sum, mine = count();
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return sum != 3;
}
"""


def test_a_library_may_be_named_by_a_symbolic_link(tmp_path) -> None:
    (tmp_path / "library.c").write_text(LIBRARY)
    (tmp_path / "user.c").write_text(USER)
    made, named = tmp_path / "libcounts.so.1.0", tmp_path / "libcounts.so.1"
    named.symlink_to(made.name)
    shared = ("-shared", "-fPIC", f"-Wl,-soname,{named.name}")
    built = hopcast("cc", "-g", *shared, tmp_path / "library.c", "-o", made)
    assert built.returncode == 0, built.stderr
    rest = (made, f"-Wl,-rpath,{tmp_path}", "-o", tmp_path / "user")
    built = hopcast("cc", "-g", tmp_path / "user.c", *rest)
    assert built.returncode == 0, built.stderr
    done = hopcast(
        "run", "hopper", "-n", "3", "--model", "loggp", "--quiet", "--tool", TOOL, tmp_path / "user"
    )
    assert done.returncode == 0, done.stderr
