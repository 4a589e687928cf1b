"""Built-in experiments that measure as `hopcast calibrate measure` does: their archives can be fitted."""

from __future__ import annotations

import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

HOPCAST = [sys.executable, "-m", "hopcast"]


def hopcast(folder: Path, *words: str) -> str:
    done = subprocess.run([*HOPCAST, *words], cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(("name", "longest_us"), [("memory", 5.0), ("network", None)])
def test_messages_are_measured_between_hosts_and_within_one(name, longest_us, tmp_path: Path) -> None:
    """Two ranks of one host of ethernet-25 take less than the 10 us of its wire."""
    kinds = ("--kinds", "Recv,Isend,PingPong,Memory", "--sizes", "12", "--repetitions", "2", "--to", "1kB")
    hopcast(tmp_path, "calibrate", "design", *kinds, "-o", "small.csv")
    design = (tmp_path / "small.csv").resolve()
    launcher = f"{shlex.join(HOPCAST)} run ethernet-25 -n {{ranks}} --compute none"
    launcher += "" if name == "memory" else " --ppn 1"
    (tmp_path / "install.yaml").write_text(f"design: {design}\nlauncher: {launcher!r}\n")
    hopcast(tmp_path, "experiment", "run", name, "--install", "install.yaml", "-o", "out.zip")
    with zipfile.ZipFile(tmp_path / "out.zip") as archive:
        archive.extractall(tmp_path / "out")
    (memory,) = (tmp_path / "out").rglob("*_Memory.csv")
    assert memory.parent.name == f"{name}-none-1" and "memcpy" in memory.read_text()
    (trips,) = (tmp_path / "out").rglob("*_PingPong.csv")
    times = [1e6 * float(line.split(",")[3]) for line in trips.read_text().splitlines()]
    assert (max(times) < longest_us) if longest_us else (max(times) > 5.0)
