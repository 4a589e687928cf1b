"""Times of MPI's functions by name, in compiled and in Python programs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from test_models import build
from test_programs import ENVIRONMENT, hopcast, pytestmark  # noqa: F401
from test_times import PLATFORM

FUNCTIONS = """
[[mpi.functions]]
function = "MPI_Wtime"
time = "25 ns"
[[mpi.functions]]
function = "MPI_Comm_rank"
time = "4 ns"
[[mpi.functions]]
function = "MPI_Iprobe"
time = "211 ns"
[[mpi.functions]]
function = "MPI_Isend"
time = "40 ns"
[[mpi.functions]]
function = "MPI_Test"
time = "300 ns"
modes = [{ weight = 0.5, mean = "9 ns" }, { weight = 0.5, mean = "9 ns" }]
"""
TIMES_NS = {
    "MPI_Wtime": 25,
    "MPI_Comm_rank": 4,
    "MPI_Comm_size": 0,
    "MPI_Iprobe": 211,
    "MPI_Test": 309,
    "MPI_Isend": 40,
}
LOOP = """
from hopcast import MPI


def main(comm):
    start = comm.Wtime()
    clock = comm.Wtime() - start
    start = comm.Wtime()
    for _ in range(10):
        comm.iprobe(tag=99)
    probe = comm.Wtime() - start - clock
    print(f"MPI_Wtime {clock * 1e9:.3f}\\nMPI_Iprobe {probe * 1e8:.3f}")
"""


def command(*words: str | Path) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "hopcast", *map(str, words)], capture_output=True, text=True, env=ENVIRONMENT
    )


def printed(text: str) -> dict[str, float]:
    lines = (line.split() for line in text.splitlines() if line.startswith("MPI_"))
    return {name: float(value) for name, value in lines}


@pytest.mark.parametrize("isolation", ["globals", "process"])
def test_calls_take_the_times_of_their_functions(tmp_path: Path, isolation: str) -> None:
    """A poll takes 100 ns where its function has no time of its own."""
    program = build(tmp_path, "local_calls")
    (tmp_path / "named.toml").write_text(PLATFORM + FUNCTIONS)
    (tmp_path / "plain.toml").write_text(PLATFORM)
    words = ("-n", "2", "--quiet", "--compute", "none", "--isolation", isolation, program)
    named = hopcast("run", tmp_path / "named.toml", *words)
    assert printed(named.stdout) == pytest.approx(TIMES_NS, abs=0.01), named.stderr
    plain = hopcast("run", tmp_path / "plain.toml", *words)
    polls = {"MPI_Iprobe": 100, "MPI_Test": 100}
    assert printed(plain.stdout) == pytest.approx(dict.fromkeys(TIMES_NS, 0) | polls, abs=0.01), plain.stderr


def test_python_programs_have_them_too(tmp_path: Path) -> None:
    (tmp_path / "named.toml").write_text(PLATFORM + FUNCTIONS)
    (tmp_path / "loop.py").write_text(LOOP)
    words = ("run", tmp_path / "named.toml", "-n", "1", "--quiet", tmp_path / "loop.py")
    done = command(*words)
    assert printed(done.stdout) == pytest.approx({"MPI_Wtime": 25, "MPI_Iprobe": 211}, abs=0.01), done.stderr


@pytest.mark.parametrize(
    ("function", "word"), [("MPI_Iprob", "did you mean 'MPI_Iprobe'"), ("MPI_Bcast", "a time already")]
)
def test_a_name_that_is_wrong_or_comes_twice_is_refused(tmp_path: Path, function: str, word: str) -> None:
    entry = '[[mpi.functions]]\nfunction = "{}"\ntime = "1 us"\n'
    (tmp_path / "wrong.toml").write_text(PLATFORM + entry.format("MPI_Bcast") + entry.format(function))
    done = command("run", tmp_path / "wrong.toml", "-n", "2", "--quiet", "bcast")
    assert done.returncode == 2 and word in done.stderr, done.stderr


NOISE = """
[[mpi.regimes]]
name = "all"
send_overhead = "200 ns"
send_modes = [{ weight = 0.8, mean = "0 ns", deviation = "60 ns" }, { weight = 0.2, mean = "1 us" }]
receive_modes = [{ mean = "300 ns", deviation = "50 ns", shape = "half-normal" }]
latency_modes = [{ mean = "0 ns", deviation = "400 ns", shape = "half-normal" }]
"""


@pytest.mark.parametrize("model", ["packet", "flow", "loggp"])
def test_noise_is_the_same_on_any_threads_and_differs_by_seed(tmp_path: Path, model: str) -> None:
    platform = PLATFORM.replace("hosts = 4", "hosts = 16") + NOISE
    (tmp_path / "noisy.toml").write_text(platform)

    def outcome(*words: str) -> str:
        flags = ("-n", "16", "--json", "--model", model, *words)
        done = command("run", tmp_path / "noisy.toml", *flags, "alltoall", "--bytes", "4KiB")
        return json.loads(done.stdout)["outcome_hash"]

    first = outcome("--seed", "1")
    ways = [("--threads", "1"), ("--threads", "2"), ("--threads", "4")]
    assert {outcome("--seed", "1", *way) for way in ways} == {first}
    assert outcome("--seed", "2") != first
