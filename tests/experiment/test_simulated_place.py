"""Experiments on a simulated platform of one's own: what decides their results, and what repeats them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from test_experiments import contents, experiment, results

SCRIPT = """
from hopcast.experiment import Experiment


class Patterns(Experiment):
    def piece(self, size):
        done = self.mpi_run("pingpong", "--bytes", f"{size}B", ranks=2)
        return {"said": done.stdout.split("  ")[0]}
"""
PLATFORM = """name = "mine"
[topology]
kind = "graph"
file = "net/pair.edges"
[host]
processes = 1
[host.memory]
latency = "100 ns"
bandwidth = "8 GB/s"
[nic]
bandwidth = "12.5 GB/s"
latency = "{latency} ns"
[compute]
flop_rate = "20 Gflop/s"
"""
GRAPH = "host a b\na middle 10 GB/s\nb middle 10 GB/s\n"
RUN = ("run", "patterns.py", "--pieces", "pieces.csv", "--on", "simulated:mine.toml", "-o", "out.zip")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Folder with an experiment and a platform that names another file."""
    (tmp_path / "patterns.py").write_text(SCRIPT)
    (tmp_path / "pieces.csv").write_text("size\n8\n")
    (tmp_path / "mine.toml").write_text(PLATFORM.replace("{latency}", "100"))
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "pair.edges").write_text(GRAPH)
    return tmp_path


def said(folder: Path) -> str:
    done = experiment(folder, *RUN)
    assert done.returncode == 0, done.stderr
    return results(folder / "out.zip")[0]["said"]


def test_results_of_a_platform_that_was_changed_are_not_kept(folder: Path) -> None:
    before = said(folder)
    (folder / "mine.toml").write_text(PLATFORM.replace("{latency}", "5000"))
    after = said(folder)
    assert after != before
    (folder / "mine.toml").write_text(PLATFORM.replace("{latency}", "100"))
    assert said(folder) == before


def test_an_archive_holds_the_platform_that_repeats_it(folder: Path, tmp_path_factory) -> None:
    before = said(folder)
    assert "platform/net/pair.edges" in contents(folder / "out.zip")
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    shutil.copy(folder / "out.zip", elsewhere)
    done = experiment(elsewhere, "run", "out.zip", "-o", "again.zip")
    assert done.returncode == 0, done.stderr
    assert results(elsewhere / "again.zip")[0]["said"] == before
    done = experiment(elsewhere, "run", "again.zip", "-o", "third.zip")
    assert done.returncode == 0, done.stderr
    done = experiment(elsewhere, "run", "out.zip", "--on", "simulated:crossbar", "-o", "other.zip")
    assert done.returncode == 0, done.stderr
    assert results(elsewhere / "other.zip")[0]["said"] != before


@pytest.mark.parametrize(
    ("script", "on", "message"),
    [
        ("class A(Experiment:\n", "local", "invalid syntax"),
        ("\nimport nonsense_of_no_one\n", "local", "line 2: ModuleNotFoundError"),
        (SCRIPT, "simulated:", "write simulated:PLATFORM"),
        (SCRIPT, "ssh:hosts.txt", "no such file of hosts"),
    ],
)
def test_errors_of_a_script_and_of_a_place_are_no_bugs_of_hopcast(folder, script, on, message) -> None:
    (folder / "patterns.py").write_text(script)
    done = experiment(folder, "run", "patterns.py", "--pieces", "pieces.csv", "--on", on)
    assert done.returncode == 2
    assert message in done.stderr and "Traceback" not in done.stderr
