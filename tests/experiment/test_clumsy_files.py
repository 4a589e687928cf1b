"""Experiment files and install files as users get them wrong, and what is said of pieces that fail."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_experiments import contents, experiment, results

from hopcast.errors import InputError
from hopcast.experiment import files

SCRIPT = """
from hopcast.experiment import Experiment


class Halves(Experiment):
    def piece(self, n, mode="x"):
        return {"half": 10 // n}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "halves.py").write_text(SCRIPT)
    return tmp_path


def test_the_screen_says_why_a_piece_failed(folder: Path) -> None:
    (folder / "pieces.csv").write_text("n\n0\n5\n")
    done = experiment(folder, "run", "halves.py", "--pieces", "pieces.csv")
    assert done.returncode == 3
    assert "piece 0 failed: ZeroDivisionError" in done.stderr and "piece 1" not in done.stderr


def test_an_archive_stays_where_nothing_can_be_run(folder: Path) -> None:
    (folder / "pieces.csv").write_text("n\n5\n")
    assert experiment(folder, "run", "halves.py", "--pieces", "pieces.csv").returncode == 0
    before = contents(folder / "halves.zip")
    done = experiment(folder, "run", "halves.py")
    assert done.returncode == 2 and "missing a required argument: 'n'" in done.stderr
    assert contents(folder / "halves.zip") == before


def test_files_of_spreadsheets_and_names_with_underscores_are_read(folder: Path) -> None:
    (folder / "pieces.csv").write_text("\ufeffn,mode\n5,1_000\n")
    done = experiment(folder, "run", "halves.py", "--pieces", "pieces.csv")
    assert done.returncode == 0, done.stderr
    assert results(folder / "halves.zip")[0]["mode"] == "1_000"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("warm_up: 5 parsec", "unknown unit 'parsec'"),
        ("monitoring: 0 s", "a time above 0"),
        ("frequency: fast", "write 2.1 GHz"),
    ],
)
def test_values_of_an_install_file_are_checked_before_anything_runs(tmp_path, text, message) -> None:
    (tmp_path / "install.yaml").write_text(text)
    with pytest.raises(InputError, match=message):
        files.read_install(tmp_path / "install.yaml", {})


def test_names_in_a_launcher_that_are_unknown_are_said(folder: Path) -> None:
    (folder / "halves.py").write_text(
        SCRIPT.replace('return {"half": 10 // n}', 'self.mpi_run("a", ranks=n)')
    )
    (folder / "pieces.csv").write_text("n\n2\n")
    (folder / "install.yaml").write_text('launcher: "mpiexec {rank}"')
    done = experiment(folder, "run", "halves.py", "--pieces", "pieces.csv", "--install", "install.yaml")
    assert done.returncode == 3
    assert "launcher: 'mpiexec {rank}': 'rank'; known in braces: ranks, hosts" in done.stderr
