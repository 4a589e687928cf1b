"""gdb stops in one rank of a program, with its symbols."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from test_programs import ENVIRONMENT, hopcast, pytestmark  # noqa: F401

RING = """\
#include <mpi.h>
static int rank, size;
static int exchange(int to, int from) {
    int other = -1;
    MPI_Sendrecv(&rank, 1, MPI_INT, to, 7, &other, 1, MPI_INT, from, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return other;
}
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int got = exchange((rank + 1) % size, (rank + size - 1) % size);
    MPI_Finalize();
    return got != (rank + size - 1) % size;
}
"""
COMMANDS = """\
backtrace
break exchange
continue
backtrace
print rank + 100
finish
print size + 200
continue
"""


@pytest.fixture(scope="module")
def ring(tmp_path_factory) -> Path:
    source = tmp_path_factory.mktemp("debugger") / "ring.c"
    source.write_text(RING)
    done = hopcast("cc", "-g", "-O0", source, "-o", source.parent / "ring")
    assert done.returncode == 0, done.stderr
    return source.parent / "ring"


def debug(program: Path, commands: str, *flags: str, **environment: str) -> subprocess.CompletedProcess:
    """A run in which gdb reads its commands from standard input."""
    words = [sys.executable, "-m", "hopcast", "run", "hopper", "-n", "5", "--model", "loggp"]
    words += ["--compute", "none", *flags, program]
    variables = ENVIRONMENT | {"DEBUGINFOD_URLS": ""} | environment
    return subprocess.run(words, input=commands, capture_output=True, text=True, env=variables, timeout=200)


@pytest.mark.skipif(not shutil.which("gdb"), reason="gdb is not installed")
def test_gdb_stops_in_the_rank_with_its_symbols(ring) -> None:
    said = debug(ring, COMMANDS, "--debug-rank", "3")
    text = " ".join(said.stdout.split())
    assert re.search(r"main \(argc=1, argv=0x[0-9a-f]+\) at \S*ring\.c:9 ", text), (text, said.stderr)
    # No other rank stops there: it is the breakpoint of one copy.
    assert len(re.findall(r"Breakpoint \S+, exchange \(to=4, from=2\) at \S*ring\.c:4 ", text)) == 1
    assert re.search(r"#1 \S+ in main \(argc=1, argv=\S+\) at \S*ring\.c:12 ", text)
    assert "$1 = 103 " in text
    assert "Value returned is $2 = 2 " in text
    assert "$3 = 205 " in text
    assert "exited normally" in text
    assert "Predicted time" in text
    assert said.returncode == 0, said.stderr


def test_what_cannot_be_debugged_is_refused(ring, tmp_path) -> None:
    said = debug(ring, "", "--debug-rank", "5")
    assert said.returncode == 2 and "a rank from 0 to 4, not 5" in said.stderr
    program = tmp_path / "program.py"
    program.write_text("import mpi4py.MPI\n")
    said = debug(program, "", "--debug-rank", "0")
    assert said.returncode == 2 and "is an mpi4py program" in said.stderr
    said = debug(ring, "", "--debug-rank", "0", PATH=os.path.dirname(sys.executable))
    assert said.returncode == 2 and "apt-get install -y gdb" in said.stderr
