"""Jobs of Slurm: its daemons on this machine take studies and experiments."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_experiments import HOPCAST, contents, experiment, results, shell

DAEMONS = ("munged", "slurmctld", "slurmd", "sbatch", "srun")
missing = [name for name in DAEMONS if shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin") is None]
pytestmark = [
    pytest.mark.skipif(
        bool(missing), reason=f"needs {', '.join(missing)} (packages slurmctld, slurmd, munge)"
    ),
    pytest.mark.skipif(os.geteuid() != 0, reason="the daemons of Slurm need root"),
]


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Slurm:
    """A controller and a node on this machine, with keys, ports and files of their own."""

    def __init__(self, folder: Path) -> None:
        folder.chmod(0o755)
        self.folder, host = folder, socket.gethostname().partition(".")[0]
        (folder / "munge.key").write_bytes(os.urandom(128))
        (folder / "munge.key").chmod(0o400)
        for name in ("state", "spool"):
            (folder / name).mkdir()
        lines = {
            "ClusterName": "hopcast", "SlurmctldHost": f"{host}(127.0.0.1)", "SlurmUser": "root",
            "AuthType": "auth/munge", "AuthInfo": f"socket={folder}/munge.socket",
            "SlurmctldPort": free_port(), "SlurmdPort": free_port(), "StateSaveLocation": folder / "state",
            "SlurmdSpoolDir": folder / "spool", "SlurmctldPidFile": folder / "ctld.pid",
            "SlurmdPidFile": folder / "slurmd.pid", "ProctrackType": "proctrack/linuxproc",
            "TaskPlugin": "task/none", "SelectType": "select/cons_tres", "SwitchType": "switch/none",
            "MpiDefault": "none", "ReturnToService": 2, "SlurmctldTimeout": 300, "SlurmdTimeout": 300,
            "JobAcctGatherType": "jobacct_gather/none", "AccountingStorageType": "accounting_storage/none",
            "CommunicationParameters": "NoAddrCache",
        }  # fmt: skip
        text = "".join(f"{name}={value}\n" for name, value in lines.items())
        text += f"NodeName={host} NodeAddr=127.0.0.1 CPUs=1 State=UNKNOWN\n"
        text += (
            f"PartitionName=test Nodes={host} Default=YES State=UP MaxTime=INFINITE OverSubscribe=FORCE:4\n"
        )
        (folder / "slurm.conf").write_text(text)
        self.environment = {
            **os.environ,
            "SLURM_CONF": str(folder / "slurm.conf"),
            "PATH": f"{os.environ['PATH']}:/usr/sbin",
        }
        self.daemons = []

    def start(self) -> None:
        munge = [
            "munged", "--foreground", "--force", f"--socket={self.folder}/munge.socket",
            f"--key-file={self.folder}/munge.key", f"--log-file={self.folder}/munge.log",
            f"--pid-file={self.folder}/munge.pid", f"--seed-file={self.folder}/munge.seed",
        ]  # fmt: skip
        for words in (munge, ["slurmctld", "-D", "-c"], ["slurmd", "-D", "-c"]):
            log = (self.folder / f"{words[0]}.out").open("w")
            self.daemons.append(
                subprocess.Popen(words, env=self.environment, stdout=log, stderr=log, start_new_session=True)
            )
            time.sleep(0.5)
        until_s = time.monotonic() + 60
        while "idle" not in self.ask("sinfo", "-h", "-o", "%t"):
            if time.monotonic() > until_s:
                said = "".join(
                    (self.folder / f"{name}.out").read_text()[-800:] for name in ("slurmctld", "slurmd")
                )
                pytest.skip(f"Slurm's daemons do not work here: {said}")
            time.sleep(0.5)

    def ask(self, *words: str) -> str:
        return subprocess.run(words, env=self.environment, capture_output=True, text=True).stdout

    def stop(self) -> None:
        for daemon in reversed(self.daemons):
            daemon.terminate()
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(daemon.pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    made = Slurm(tmp_path_factory.mktemp("slurm"))
    try:
        made.start()
        yield made
    finally:
        made.stop()


STUDY = """
platform = "fat-tree"
workload = "halo3d"
[options]
ranks = 64
[factors]
"--bytes" = ["1 KiB", "2 KiB", "4 KiB"]
"""


def test_a_study_runs_in_jobs(tmp_path: Path, slurm: Slurm) -> None:
    (tmp_path / "study.toml").write_text(STUDY)
    tables = []
    for place in ("local", "slurm:--time=5 -p test"):
        words = [*HOPCAST, "study", "study.toml", "--out", place[:5], "--on", place, "--workers", "2"]
        done = subprocess.run(
            words, cwd=tmp_path, env=slurm.environment, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr
        tables.append((tmp_path / place[:5] / "results.parquet").read_bytes())
    assert tables[0] == tables[1]
    assert not list(tmp_path.glob(".hopcast-jobs*"))


def test_an_experiment_runs_in_a_job_on_its_nodes(tmp_path: Path, slurm: Slurm) -> None:
    shell(tmp_path, install="greeting: good day\n")
    words = (
        "run",
        "shell.py",
        "--pieces",
        "pieces.csv",
        "--install",
        "install.yaml",
        "--on",
        "slurm:-p test --time=5",
    )
    done = experiment(tmp_path, *words, "-o", "out.zip", env=slurm.environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 done" in done.stdout and "job " in done.stderr
    assert [row["said"] for row in results(tmp_path / "out.zip")] == ["good day 1", "good day 2"]
    assert "place: allocation" in contents(tmp_path / "out.zip")["info.yaml"]


def test_a_job_that_cannot_be_submitted_says_why(tmp_path: Path, slurm: Slurm) -> None:
    shell(tmp_path)
    words = ("run", "shell.py", "--pieces", "pieces.csv", "--on", "slurm:-p nonesuch")
    done = experiment(tmp_path, *words, "-o", "out.zip", env=slurm.environment)
    assert done.returncode == 2
    assert "nonesuch" in done.stderr or "partition" in done.stderr


def test_a_stopped_study_cancels_its_jobs(tmp_path: Path, slurm: Slurm) -> None:
    (tmp_path / "sleeps.py").write_text("import time\n\ndef main(comm):\n    time.sleep(100)\n")
    (tmp_path / "study.toml").write_text(
        'platform = "fat-tree"\nworkload = "sleeps.py"\n[options]\nranks = 1\n'
    )
    words = [*HOPCAST, "study", "study.toml", "--out", "out", "--on", "slurm"]
    process = subprocess.Popen(words, cwd=tmp_path, env=slurm.environment, stdout=subprocess.PIPE, text=True)
    until_s = time.monotonic() + 30
    while "RUNNING" not in slurm.ask("squeue", "-h", "-o", "%T"):
        assert time.monotonic() < until_s
        time.sleep(0.2)
    process.terminate()
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130 and "1 not run" in out
    assert "RUNNING" not in slurm.ask("squeue", "-h", "-o", "%T")
