"""The wheel in an environment of its own, outside the repository and without Rust: it holds everything."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from real_mpi import needs_mpich

from hopcast import _core

HERE = Path(__file__).resolve().parents[2]
MATURIN = Path(sysconfig.get_path("scripts")) / "maturin"
PATTERN = ("run", "hopper", "-n", "64", "alltoall", "--bytes", "4KiB", "--json")

pytestmark = pytest.mark.skipif(
    not MATURIN.exists() or shutil.which("cargo") is None, reason="maturin or cargo is not installed"
)


class Installed:
    """The command of a wheel that was installed into a new environment."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        self.bin = folder / "environment" / "bin"
        self.work = folder / "work"
        self.work.mkdir()
        subprocess.run([sys.executable, "-m", "venv", self.bin.parent], check=True)
        install = [self.bin / "python", "-m", "pip", "install", "--quiet", "--no-compile"]
        done = subprocess.run([*install, wheel, "mpi4py"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        kept = {name: os.environ[name] for name in ("HOME", "TMPDIR") if name in os.environ}
        self.environment = kept | {"PATH": f"{self.bin}:/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}

    def __call__(self, *words: object) -> str:
        """Standard output of `hopcast`."""
        done = subprocess.run(
            [self.bin / "hopcast", *map(str, words)],
            cwd=self.work,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("wheel")
    build = [MATURIN, "build", "--quiet", "--profile", _core.PROFILE or "release", "--out", folder / "dist"]
    environment = os.environ | ({"HOPCAST_PROFILE": _core.PROFILE} if _core.PROFILE else {})
    subprocess.run(build, cwd=HERE, env=environment, check=True)
    (wheel,) = (folder / "dist").glob("*.whl")
    return Installed(folder, wheel)


def test_its_types_can_be_checked(installed: Installed) -> None:
    (package,) = installed.bin.parent.glob("lib/python*/site-packages/hopcast")
    assert (package / "py.typed").is_file() and (package / "_core.pyi").is_file()


def test_a_pattern_gives_what_it_gives_here(installed: Installed) -> None:
    here = subprocess.run([sys.executable, "-m", "hopcast", *PATTERN], capture_output=True, check=True).stdout
    report = json.loads(installed(*PATTERN))
    assert report["outcome_hash"] == json.loads(here)["outcome_hash"]


def test_a_page_is_written(installed: Installed) -> None:
    installed(*PATTERN, "--out", installed.work / "page")
    assert "alltoall" in (installed.work / "page" / "report.html").read_text()


def test_a_program_in_c_compiles_and_runs(installed: Installed) -> None:
    installed("cc", "-O2", HERE / "examples" / "heat.c", "-o", "heat", "-lm")
    installed("run", "hopper", "-n", "4", "--out", "heat-report", "./heat", "64", "5")
    report = json.loads((installed.work / "heat-report" / "report.json").read_text())
    assert (report["ranks_finished"], report["failure"]) == (4, None)


def test_a_program_of_mpi4py_runs(installed: Installed) -> None:
    installed("run", "hopper", "-n", "4", "--quiet", HERE / "examples" / "conjugate.py", "16")


@needs_mpich
def test_a_recording_is_made_and_replayed(installed: Installed) -> None:
    source, program = HERE / "examples" / "heat.c", installed.work / "native"
    subprocess.run(["mpicc.mpich", "-O2", source, "-o", program, "-lm"], check=True)
    trace = installed.work / "heat.hct"
    launch = ("mpiexec.mpich", "-n", "2", program, "64", "5")
    installed("trace", "record", "-o", trace, "--mpicc", "mpicc.mpich", "--", *launch)
    assert json.loads(installed("run", "hopper", "--json", trace))["ranks"] == 2


def test_a_machine_is_measured(installed: Installed) -> None:
    """The measuring programs come with the package, and are compiled where they run."""
    words = ("--kinds", "PingPong", "--sizes", "4", "--repetitions", "1")
    installed("calibrate", "design", *words, "-o", installed.work / "list.csv")
    simulated = ("hopcast", "run", "hopper", "-n", "2", "--ppn", "1", "--compute", "none")
    installed("calibrate", "measure", "--design", installed.work / "list.csv", "--", *simulated)
    assert (installed.work / "measured" / "network_PingPong.csv").read_text().count("\n") == 8


def test_rust_is_not_there(installed: Installed) -> None:
    assert shutil.which("cargo", path=installed.environment["PATH"]) is None
