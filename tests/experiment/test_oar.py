"""Jobs of OAR, with commands that behave as OAR's do: scripts, submission, following, ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import fake_oar
import pytest
import yaml
from test_experiments import HOPCAST, RUN, contents, experiment, results, shell

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="looks at /proc")

STUDY = """
platform = "fat-tree"
workload = "halo3d"
[options]
ranks = 64
[factors]
"--bytes" = ["1 KiB", "2 KiB", "4 KiB"]
"""
SLEEPS = """
from hopcast.experiment import Experiment


class Sleeps(Experiment):
    def piece(self, n):
        self.node.run(f"touch begun-{n}; sleep 60")
"""


@pytest.fixture
def oar(tmp_path: Path) -> dict[str, str]:
    """The environment in which OAR's commands are found."""
    (tmp_path / "bin").mkdir()
    return fake_oar.install(tmp_path / "bin")


def jobs(oar: dict[str, str]) -> list[dict]:
    return [json.loads(file.read_text()) for file in sorted(Path(oar["FAKE_OAR"]).glob("*.json"))]


def deleted(oar: dict[str, str]) -> list[str]:
    return [file.read_text() for file in sorted(Path(oar["FAKE_OAR"]).glob("*.deleted"))]


def wait_for(condition) -> None:
    until_s = time.monotonic() + 90
    while not condition():
        assert time.monotonic() < until_s
        time.sleep(0.1)


def test_a_study_runs_in_jobs_with_their_options(tmp_path: Path, oar: dict[str, str]) -> None:
    (tmp_path / "study.toml").write_text(STUDY)
    tables = []
    for place in ("local", "oar:-l nodes=1,walltime=0:10 -t besteffort"):
        words = [*HOPCAST, "study", "study.toml", "--out", place[:3], "--on", place, "--workers", "2"]
        done = subprocess.run(words, cwd=tmp_path, env=oar, capture_output=True, text=True, timeout=200)
        assert done.returncode == 0, done.stderr
        tables.append((tmp_path / place[:3] / "results.parquet").read_bytes())
    assert tables[0] == tables[1]
    first, second = jobs(oar)
    for job in (first, second):
        assert job["options"]["-l"] == "nodes=1,walltime=0:10" and job["options"]["-t"] == "besteffort"
        assert job["options"]["-n"] == "hopcast" and job["options"]["-O"] == job["options"]["-E"]
    assert not list(tmp_path.glob(".hopcast-jobs*")) and not deleted(oar)


def test_an_experiment_runs_in_a_job_on_its_nodes(tmp_path: Path, oar: dict[str, str]) -> None:
    shell(tmp_path, install="greeting: good day\n")
    words = (
        "run",
        "shell.py",
        "--pieces",
        "pieces.csv",
        "--install",
        "install.yaml",
        "--on",
        "oar:-l nodes=1",
    )
    done = experiment(tmp_path, *words, "-o", "out.zip", env=oar)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 done" in done.stdout and "job 1000" in done.stderr
    assert [row["said"] for row in results(tmp_path / "out.zip")] == ["good day 1", "good day 2"]
    info = yaml.safe_load(contents(tmp_path / "out.zip")["info.yaml"])
    # A node stands in the file of nodes once for each of its cores.
    assert info["place"] == "allocation" and info["nodes"] == [os.uname().nodename]


def test_a_job_that_is_refused_says_why(tmp_path: Path, oar: dict[str, str]) -> None:
    shell(tmp_path)
    words = ("run", "shell.py", "--pieces", "pieces.csv", "-o", "out.zip")
    done = experiment(tmp_path, *words, "--on", "oar:-l nodes=999", env=oar)
    assert done.returncode == 2 and "not enough resources" in done.stderr
    done = experiment(tmp_path, *words, "--on", "oar:--colour red", env=oar)
    assert done.returncode == 2 and "Unknown option: --colour" in done.stderr
    bare = {**os.environ, "PATH": "/usr/bin:/bin"}
    done = experiment(tmp_path, *words, "--on", "oar", env=bare)
    assert done.returncode == 2 and "oarsub: there is no such command here" in done.stderr


def test_oarsh_reaches_other_nodes_alone(tmp_path: Path, oar: dict[str, str]) -> None:
    """The script's own node needs none: sites without cpusets have no `oarsh`."""
    shell(tmp_path)
    done = experiment(tmp_path, *RUN, "--on", "oar:-l nodes=2", "-o", "out.zip", env=oar)
    assert done.returncode == 0, done.stderr
    history = json.loads(contents(tmp_path / "out.zip")["history.json"])
    marks = [one["node"] for one in history if one["command"] == "cat mark"]
    assert sorted(marks) == sorted([os.uname().nodename, "other"])


def test_a_stopped_study_deletes_its_jobs(tmp_path: Path, oar: dict[str, str]) -> None:
    (tmp_path / "sleeps.py").write_text(
        "import pathlib, time\n\ndef main(comm):\n    pathlib.Path('begun').touch()\n    time.sleep(100)\n"
    )
    (tmp_path / "study.toml").write_text(
        'platform = "fat-tree"\nworkload = "sleeps.py"\n[options]\nranks = 1\n'
    )
    words = [*HOPCAST, "study", "study.toml", "--out", "out", "--on", "oar"]
    process = subprocess.Popen(words, cwd=tmp_path, env=oar, stdout=subprocess.PIPE, text=True)
    wait_for((tmp_path / "begun").exists)
    process.terminate()
    out, _ = process.communicate(timeout=100)
    assert process.returncode == 130 and "1 not run" in out
    assert deleted(oar) == ["1000"]
    wait_for(lambda: not fake_oar.alive(jobs(oar)[0]["pid"]))


def test_a_stopped_experiment_still_writes_its_archive(tmp_path: Path, oar: dict[str, str]) -> None:
    """`oardel` alone would kill it: its script is asked first."""
    (tmp_path / "sleeps.py").write_text(SLEEPS)
    (tmp_path / "pieces.csv").write_text("n\n1\n2\n")
    words = [
        *HOPCAST,
        "experiment",
        "run",
        "sleeps.py",
        "--pieces",
        "pieces.csv",
        "--on",
        "oar",
        "-o",
        "out.zip",
    ]
    process = subprocess.Popen(words, cwd=tmp_path, env=oar, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for((tmp_path / "out.zip.d" / "work" / "begun-1").exists)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=100)
    assert process.returncode == 130
    assert yaml.safe_load(contents(tmp_path / "out.zip")["info.yaml"])["aborted"] == "SIGTERM"
    assert deleted(oar) == ["-s SIGTERM 1000"]


def test_a_job_that_dies_leaves_cells_that_are_run_again(tmp_path: Path, oar: dict[str, str]) -> None:
    (tmp_path / "dies.py").write_text(
        "import os, signal\n\ndef main(comm):\n    if not os.path.exists('healed'):\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    (tmp_path / "study.toml").write_text(
        'platform = "fat-tree"\nworkload = "dies.py"\n[options]\nranks = 1\n'
    )
    words = [*HOPCAST, "study", "study.toml", "--out", "out", "--on", "oar"]
    done = subprocess.run(words, cwd=tmp_path, env=oar, capture_output=True, text=True, timeout=200)
    assert done.returncode == 3 and "its job ended without a result" in done.stderr
    (tmp_path / "healed").touch()
    done = subprocess.run(words, cwd=tmp_path, env=oar, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0 and "1 cell: 1 done" in done.stdout, done.stderr
