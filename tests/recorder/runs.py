"""Programs of this folder, compiled and recorded under a real MPI."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from real_mpi import ENVIRONMENT, launch, works

from hopcast.record import library

HERE = Path(__file__).parent
LIBRARIES = [name for name in ("mpich", "openmpi") if works(name)]

RECORDS = [
    pytest.mark.skipif(
        not LIBRARIES, reason="neither MPICH nor Open MPI (packages mpich, libopenmpi-dev) is installed"
    ),
    pytest.mark.skipif(not library.CORE.exists(), reason="built without the recorder"),
]
"""Marks of tests that record."""


def hopcast(*words: str | Path, check: bool = True) -> subprocess.CompletedProcess:
    """The command, as a user calls it."""
    command = [sys.executable, "-m", "hopcast", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, timeout=300)
    assert done.returncode == 0 or not check, done.stderr
    return done


class Mpi:
    """One MPI library, and the programs that it has compiled."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.folder = name, folder

    def program(self, source: str) -> Path:
        """A program of this folder, compiled."""
        built = self.folder / source.replace(".", "-")
        if not built.exists():
            compiler = f"mpif90.{self.name}" if source.endswith(".f90") else f"mpicc.{self.name}"
            subprocess.run(
                [compiler, "-O2", "-w", str(HERE / source), "-o", str(built)], check=True, env=ENVIRONMENT
            )
        return built

    def command(self, ranks: int, source: str, *words: str) -> list[str]:
        """Command that starts the program."""
        return launch(self.name, ranks, self.program(source), *words)

    def record(self, out: Path, ranks: int, source: str, *words: str, flags: tuple[str, ...] = ()) -> Path:
        """A recording of it."""
        hopcast(
            "trace", "record", "-o", out, "--mpicc", f"mpicc.{self.name}", *flags, "--",
            *self.command(ranks, source, *words),
        )  # fmt: skip
        return out


def dumped(recording: Path, rank: int) -> list[dict]:
    lines = hopcast("trace", "dump", "--json", "--rank", str(rank), recording).stdout.splitlines()
    return [json.loads(line) for line in lines]


def of(calls: list[dict], name: str) -> list[dict]:
    """Those of a function, without what differs from run to run."""
    when = ("rank", "number", "begin_ns", "end_ns", "clock", "call", "did")
    return [
        {key: value for key, value in one.items() if key not in when} for one in calls if one["call"] == name
    ]


def processes(program: Path) -> list[int]:
    """Those that run a program."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and (folder / "exe").resolve() == program.resolve():
                found.append(int(folder.name))
        except OSError:
            continue  # it has ended meanwhile
    return found
