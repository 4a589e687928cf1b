"""What `hopcast trace record` leaves where little or nothing was recorded, and of whom it says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from runs import LIBRARIES, RECORDS, Mpi, hopcast

pytestmark = RECORDS


@pytest.mark.parametrize(("command", "status"), [("true", 1), ("no-such-command", 2), ("false", 1)])
def test_what_recorded_nothing_leaves_nothing(command: str, status: int, mpi: Mpi, tmp_path: Path) -> None:
    out = tmp_path / "new" / "a.hct"
    done = hopcast("trace", "record", "-o", out, "--mpicc", f"mpicc.{mpi.name}", "--", command, check=False)
    assert done.returncode == status
    assert ("nothing was recorded" in done.stderr) == (command != "no-such-command")
    assert list(tmp_path.iterdir()) == []


def test_what_ends_at_once_after_mpi_init_has_recorded_nothing(mpi: Mpi, tmp_path: Path) -> None:
    """Files of ranks without a call in them are no recording."""
    words = ("--mpicc", f"mpicc.{mpi.name}", "--", *mpi.command(2, "gone.c", "_exit"))
    done = hopcast("trace", "record", "-o", tmp_path / "a.hct", *words, check=False)
    assert done.returncode != 0
    assert "nothing was recorded" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_what_ends_without_mpi_finalize_is_partial(mpi: Mpi, tmp_path: Path) -> None:
    out = tmp_path / "a.hct"
    words = ("--mpicc", f"mpicc.{mpi.name}", "--", *mpi.command(2, "gone.c", "exit"))
    done = hopcast("trace", "record", "-o", out, *words, check=False)
    assert "a partial recording: 2 of 2 ranks have no MPI_Finalize" in done.stderr
    report = json.loads(hopcast("run", "crossbar", "--json", out).stdout)
    assert (report["failure"], report["partial"], report["ranks_finished"]) == (None, True, 2)


@pytest.mark.parametrize(
    ("block", "said"),
    [("500", "has no unit"), ("0.5ms", "at least 1ms"), ("soon", "--block"), ("500ms", None)],
)
def test_a_block_has_a_unit(block: str, said: str | None, mpi: Mpi, tmp_path: Path) -> None:
    words = ("--mpicc", f"mpicc.{mpi.name}", "--block", block, "--", *mpi.command(2, "loop.c", "10"))
    done = hopcast("trace", "record", "-o", tmp_path / "a.hct", *words, check=False)
    assert done.returncode == (0 if said is None else 2), done.stderr
    assert said is None or said in done.stderr


@pytest.mark.skipif(len(LIBRARIES) < 2, reason="only one MPI library is installed")
def test_a_program_of_another_library_runs_as_it_is(mpi: Mpi, tmp_path: Path) -> None:
    (other,) = (name for name in LIBRARIES if name != mpi.name)
    words = ("--mpicc", f"mpicc.{other}", "--", *mpi.command(4, "calls.c"))
    done = hopcast("trace", "record", "-o", tmp_path / "a.hct", *words, check=False)
    assert done.stdout == "done\n"
    assert done.stderr.count("a program is not recorded") == 1, done.stderr
    assert "--mpicc names the compiler of the program's library" in done.stderr
    assert (done.returncode, list(tmp_path.iterdir())) == (1, [])
