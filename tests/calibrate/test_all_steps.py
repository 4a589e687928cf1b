"""`hopcast calibrate -- LAUNCHER`: design, measurements and fit in one go; a simulated machine comes back."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from real_mpi import ENVIRONMENT, launch, works

from hopcast.calibrate import design
from hopcast.calibrate.check import ping_pong_s
from hopcast.live import library
from hopcast.toml import tomllib

HOPCAST = [sys.executable, "-m", "hopcast"]
DAHU = [*HOPCAST, "run", "dahu", "-n", "4", "--ppn", "2", "--quiet", "--compute", "none"]
REAL = [name for name in ("mpich", "openmpi") if works(name)]
FEW = ("--sizes", "150", "--repetitions", "2", "--polls", "4", "--flop-rate", "29.85 Gflop/s")
RATE = ("--flop-rate", "1 Gflop/s")

needs_hopcast = pytest.mark.skipif(not library.LIBRARY.exists(), reason="built without the MPI library")
needs_mpi = pytest.mark.skipif(not REAL, reason="neither MPICH nor Open MPI is installed")


def calibrate(*words: object) -> subprocess.CompletedProcess:
    command = [*HOPCAST, "calibrate", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, timeout=300, check=False)


@needs_hopcast
def test_a_simulated_machine_comes_back(tmp_path: Path) -> None:
    """Dahu's keys, and what ping-pongs on the fitted platform take beside those on dahu itself.

    A breakpoint is known as the last size that was measured below it.
    """
    out = tmp_path / "again"
    words = ("-o", out, *FEW, "--", *DAHU)
    done = calibrate(*words)
    assert done.returncode == 0, done.stderr
    platform = tomllib.loads((out / "again.toml").read_text())
    mpi = platform["mpi"]
    assert (mpi["eager_limit"], mpi["memory_eager_limit"]) == ("8133 B", "8133 B")
    first, last = mpi["regimes"][0], mpi["regimes"][-1]
    assert float(first["send_overhead"].split()[0]) == pytest.approx(0.296549, rel=0.02)
    assert float(first["receive_overhead"].split()[0]) == pytest.approx(1.37543, rel=0.02)
    assert float(first["process_rate"].split()[0]) == pytest.approx(2.8508, rel=0.02)
    assert float(last["process_rate"].split()[0]) == pytest.approx(12.3349, rel=0.02)
    ends = [float(regime["up_to"].split()[0]) for regime in mpi["regimes"][:-1]]
    assert ends[-1] == max(size for _, size in design.read_network(out / "design.csv") if size <= 63_305)
    memory = platform["host"]["memory"]
    assert float(memory["bandwidth"].split()[0]) == pytest.approx(18.348422, rel=0.02)
    sizes = [1, 100, 5000, 8000, 12_000, 25_000, 50_000, 200_000, 900_000]
    for within in (False, True):
        ours, theirs = (
            ping_pong_s(name, sizes, within_a_host=within) for name in (str(out / "again.toml"), "dahu")
        )
        assert ours == pytest.approx(theirs, rel=0.02)
    assert "<svg" in (out / "again.html").read_text()
    # Nothing is measured twice.
    before = {file: file.stat().st_mtime_ns for file in out.rglob("*.csv") if file.parent != out}
    again = calibrate(*words)
    assert again.returncode == 0, again.stderr
    assert len(re.findall("measurements are there", again.stdout)) == 2
    assert {file: file.stat().st_mtime_ns for file in before} == before
    other = calibrate("-o", out, *FEW, "--seed", "2", "--", *DAHU)
    assert (other.returncode, "begun with another design" in other.stderr) == (2, True)


@needs_mpi
def test_one_host_is_said_to_be_one(tmp_path: Path) -> None:
    options = ("--sizes", "16", "--repetitions", "3", "--polls", "2", *RATE)
    done = calibrate("all", "-o", tmp_path / "here", *options, "--", *launch(REAL[0], 2))
    assert done.returncode == 0, done.stderr
    assert "all ranks are on one host: its memory stands for the network" in done.stderr
    platform = tomllib.loads((tmp_path / "here" / "here.toml").read_text())
    assert platform["mpi"]["library"] == REAL[0]
    ran = subprocess.run(
        [*HOPCAST, "run", tmp_path / "here" / "here.toml", "-n", "2", "--quiet", "barrier"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            (*RATE, "--eager-limit", "many", "--", "true"),
            "--eager-limit: 'many' is not a size",
        ),
        ((*RATE, "--", "-n", "2"), "unknown option '-n' before the launcher"),
        (("-o", "x", "--", "true"), "--flop-rate"),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_measured(words, message: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [*HOPCAST, "calibrate", *words], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 2
    assert message in done.stderr
    assert list(tmp_path.iterdir()) == []
