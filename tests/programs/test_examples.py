"""The example programs in C: they say the same on any number of ranks, under a real MPI and under hopcast."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from real_mpi import launch, works

from hopcast.live import library

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

pytestmark = pytest.mark.skipif(not library.LIBRARY.exists(), reason="built without the MPI library")


def printed(text: str) -> str:
    """Output of a program, but for how long it took and on how many ranks."""
    return re.sub(r"[\d.e+-]+ s\b|(\d+ x )?\d+ ranks", "…", text)


def here(program: Path, ranks: int, *words: str) -> str:
    command = [
        sys.executable,
        "-m",
        "hopcast",
        "run",
        "hopper",
        "-n",
        str(ranks),
        "--compute",
        "none",
        "--json",
        "--quiet",
        program,
        *words,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout[done.stdout.index('{\n  "') :])["ranks_finished"] == ranks
    return printed(done.stderr)


@pytest.mark.parametrize(
    ("name", "cases"),
    [
        ("heat", [(1, "64", "20"), (6, "64", "20"), (7, "64", "20")]),
        ("hydro", [(1, "12", "10"), (8, "6", "10"), (27, "4", "10")]),
    ],
)
def test_examples_say_the_same_on_any_number_of_ranks(name: str, cases: list[tuple], tmp_path: Path):
    program = tmp_path / name
    compiler = [sys.executable, "-m", "hopcast", "cc", "-Wall", "-Wextra", "-Werror", "-O2"]
    subprocess.run([*compiler, EXAMPLES / f"{name}.c", "-o", program, "-lm"], check=True, timeout=60)
    said = {here(program, ranks, *words) for ranks, *words in cases}
    assert len(said) == 1, said
    assert "NOT" not in said.pop()
    if works("mpich"):
        native = tmp_path / f"{name}-native"
        subprocess.run(
            ["mpicc.mpich", "-O2", EXAMPLES / f"{name}.c", "-o", native, "-lm"], check=True, timeout=60
        )
        ranks, *words = cases[0]
        done = subprocess.run(
            launch("mpich", ranks, native, *words), capture_output=True, text=True, timeout=60
        )
        assert printed(done.stdout) == here(program, ranks, *words)
