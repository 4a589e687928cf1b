"""Experiments on the workers of a Dask cluster: commands on all, pieces of workers that die, and Ctrl-C."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_experiments import HOPCAST, RUN, contents, experiment, results, shell, wait_for

pytest.importorskip("distributed")


class Cluster:
    """A scheduler and two workers, each a process of its own, as on a cluster."""

    def __init__(self) -> None:
        self.processes = []
        words = [
            "-m",
            "distributed.cli.dask_scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--no-dashboard",
        ]
        self.address = self._begun(words, "Scheduler at: ").split()[-1]
        for _ in range(2):
            words = ["-m", "distributed.cli.dask_worker", self.address, "--no-nanny", "--nthreads", "1"]
            self._begun([*words, "--no-dashboard"], "Registered to: ")

    def _begun(self, words: list[str], mark: str) -> str:
        """Starts a process, and gives the line by which it says that it is ready."""
        process = subprocess.Popen([sys.executable, *words], stderr=subprocess.PIPE, text=True)
        self.processes.append(process)
        for line in process.stderr:
            if mark in line:
                return line
        raise AssertionError(f"{words} says nothing like '{mark}'")

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()
            process.stderr.close()


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    made = Cluster()
    yield made
    made.close()


def started(folder: Path, *words: str) -> subprocess.Popen:
    return subprocess.Popen([*HOPCAST, "experiment", *words], cwd=folder, stderr=subprocess.PIPE, text=True)


def processes_with(mark: str) -> list[str]:
    return subprocess.run(["pgrep", "-f", mark], capture_output=True, text=True).stdout.split()


def test_pieces_run_on_the_workers_of_this_machine(tmp_path: Path) -> None:
    shell(tmp_path, "n\n1\n2\n3\n4\n", "monitoring: 100 ms\nsleep: 0.5\n", each_node=True)
    done = experiment(tmp_path, *RUN, "--on", "dask", "-o", "out.zip")
    assert done.returncode == 0, done.stderr
    rows = results(tmp_path / "out.zip")
    assert [row["state"] for row in rows] == ["done"] * 4
    nodes = {row["node"] for row in rows}
    assert all(node.startswith("127.0.0.1-") for node in nodes)
    assert len(nodes) == min(len(os.sched_getaffinity(0)), 4)
    found = contents(tmp_path / "out.zip")
    assert {line.split(",")[1] for line in found["monitoring.csv"].splitlines()[1:]} >= nodes


def test_pieces_of_a_worker_that_dies_run_elsewhere(tmp_path: Path, cluster: Cluster) -> None:
    shell(tmp_path, "n\n" + "".join(f"{n}\n" for n in range(8)), "sleep: 0.7\n", each_node=True)
    process = started(tmp_path, *RUN, "--on", f"dask:{cluster.address}", "-o", "out.zip")
    wait_for((tmp_path / "out.zip.d" / "work" / "pieces-work").exists)
    cluster.processes[2].kill()
    _, error = process.communicate(timeout=60)
    assert "died" in error and "its pieces run elsewhere" in error and "distributed" not in error
    assert [row["state"] for row in results(tmp_path / "out.zip")] == ["done"] * 8, error


def test_a_command_ends_with_ctrl_c_and_with_its_worker(tmp_path: Path, cluster: Cluster) -> None:
    shell(tmp_path, "n\n1\n", "sleep: 98.7654\n")
    process = started(tmp_path, *RUN, "--on", f"dask:{cluster.address}", "-o", "out.zip")
    wait_for(lambda: processes_with("sleep 98.7654"))
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130 and not processes_with("sleep 98.7654")
    process = started(tmp_path, *RUN, "--on", f"dask:{cluster.address}", "-o", "out.zip")
    wait_for(lambda: processes_with("sleep 98.7654"))
    cluster.close()
    wait_for(lambda: not processes_with("sleep 98.7654"))
    process.kill()
    process.communicate()


def test_ctrl_c_in_a_terminal_ends_the_workers_of_this_machine(tmp_path: Path) -> None:
    """A terminal sends it to all processes: workers that heed it would wait for their commands."""
    shell(tmp_path, "n\n1\n", "sleep: 95.4321\n")
    number, terminal = pty.fork()
    if number == 0:
        os.chdir(tmp_path)
        os.execv(sys.executable, [*HOPCAST, "experiment", *RUN, "--on", "dask", "-o", "out.zip"])
    try:
        wait_for(lambda: processes_with("sleep 95.4321"))
        os.write(terminal, b"\x03")
        codes = []
        wait_for(lambda: codes.extend(ended(number)) or codes)
        assert codes == [130] and not processes_with("sleep 95.4321")
    finally:
        os.close(terminal)


def ended(number: int) -> list[int]:
    """Exit code of a child that has ended."""
    found, status = os.waitpid(number, os.WNOHANG)
    return [os.waitstatus_to_exitcode(status)] if found else []


def test_nothing_runs_on_where_hopcast_was_killed(tmp_path: Path, cluster: Cluster) -> None:
    shell(tmp_path, "n\n1\n", "monitoring: 100 ms\nsleep: 97.6543\n")
    process = started(tmp_path, *RUN, "--on", f"dask:{cluster.address}", "-o", "out.zip")
    wait_for(lambda: processes_with("sleep 97.6543"))
    assert processes_with(f"mkdir -p {tmp_path}")
    process.kill()
    process.communicate()
    wait_for(lambda: not processes_with("sleep 97.6543") and not processes_with(f"mkdir -p {tmp_path}"))
    # The workers are free: the same command goes on.
    (tmp_path / "install.yaml").write_text("sleep: 0.1\n")
    done = experiment(tmp_path, *RUN, "--on", f"dask:{cluster.address}", "-o", "out.zip")
    assert done.returncode == 0 and results(tmp_path / "out.zip")[0]["state"] == "done", done.stderr


def test_a_scheduler_that_dies_ends_the_experiment(tmp_path: Path, cluster: Cluster) -> None:
    shell(tmp_path, "n\n1\n2\n", "sleep: 96.5432\n", each_node=True)
    process = started(tmp_path, *RUN, "--on", f"dask:{cluster.address}", "-o", "out.zip")
    wait_for(lambda: processes_with("sleep 96.5432"))
    cluster.processes[0].kill()
    _, error = process.communicate(timeout=100)
    assert process.returncode == 3, error
    assert "died: its scheduler is gone" in error and "Traceback" not in error
    assert [row["state"] for row in results(tmp_path / "out.zip")] == ["lost"] * 2


def test_a_scheduler_without_workers_is_an_error(tmp_path: Path, cluster: Cluster) -> None:
    for worker in cluster.processes[1:]:
        worker.kill()
    shell(tmp_path)
    command = (*RUN, "--on", f"dask:{cluster.address}", "-o", "out.zip")
    wait_for(lambda: "has no worker" in experiment(tmp_path, *command).stderr)


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("dask:", "write dask, or dask:ADDRESS"),
        ("dask:nowhere", "is no address of a scheduler"),
        ("dask:tcp://127.0.0.1:1", "no scheduler answers"),
    ],
)
def test_clusters_that_are_not_there_are_named(tmp_path: Path, place: str, said: str) -> None:
    shell(tmp_path)
    done = experiment(tmp_path, *RUN, "--on", place, "-o", "out.zip")
    assert done.returncode == 2 and said in done.stderr, done.stderr
