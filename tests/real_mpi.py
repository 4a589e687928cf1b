"""The MPI libraries of this machine that tests compare with, by Debian's names of their commands."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

ENVIRONMENT = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
"""Open MPI asks whether root means it."""

_PROBE = """
#include <mpi.h>
int main(int count, char **words) {
    MPI_Init(&count, &words);
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Finalize();
}
"""


def launch(library: str, ranks: int, *words: object) -> list[str]:
    """Command that starts a number of ranks of a program."""
    more = ["--oversubscribe"] if library == "openmpi" else []
    return [f"mpiexec.{library}", *more, "-n", str(ranks), *map(str, words)]


@functools.cache
def works(library: str) -> bool:
    """True if `mpich` or `openmpi` is installed, and runs two ranks."""
    if not all(shutil.which(f"{command}.{library}") for command in ("mpicc", "mpiexec")):
        return False
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder) / "probe.c", Path(folder) / "probe"
        source.write_text(_PROBE)
        for words in (
            [f"mpicc.{library}", str(source), "-o", str(program)],
            launch(library, 2, program),
        ):
            try:
                done = subprocess.run(words, capture_output=True, env=ENVIRONMENT, timeout=60, check=False)
            except subprocess.TimeoutExpired:
                return False
            if done.returncode:
                return False
    return True


needs_mpich = pytest.mark.skipif(not works("mpich"), reason="Debian's MPICH (package mpich) is not installed")
"""For tests of what MPICH's compilers make, and of what programs do under it."""
