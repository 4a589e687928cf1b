"""Files that `hopcast trace record` leaves where little or nothing was recorded, and its messages then."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

import pytest
from real_mpi import ENVIRONMENT
from runs import HERE, LIBRARIES, RECORDS, Mpi, hopcast

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
    assert (report["failure"], report["partial"]) == (None, True)
    # The launcher may have ended the slower rank within the barrier that the other had left.
    assert report["ranks_finished"] in (1, 2)


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
def test_a_program_of_another_library_is_refused_before_it_starts(mpi: Mpi, tmp_path: Path) -> None:
    (other,) = (name for name in LIBRARIES if name != mpi.name)
    words = ("--mpicc", f"mpicc.{other}", "--", *mpi.command(4, "calls.c"))
    done = hopcast("trace", "record", "-o", tmp_path / "a.hct", *words, check=False)
    assert (done.returncode, done.stdout, list(tmp_path.iterdir())) == (2, "", [])
    assert "calls-c was built for another MPI (lib" in done.stderr
    assert "--mpicc names the compiler with which the program was built" in done.stderr


@pytest.mark.skipif(len(LIBRARIES) < 2, reason="only one MPI library is installed")
def test_a_program_of_another_library_runs_as_it_is_in_a_script(mpi: Mpi, tmp_path: Path) -> None:
    (other,) = (name for name in LIBRARIES if name != mpi.name)
    words = ("--mpicc", f"mpicc.{other}", "--", "sh", "-c", shlex.join(mpi.command(4, "calls.c")))
    done = hopcast("trace", "record", "-o", tmp_path / "a.hct", *words, check=False)
    assert done.stdout == "done\n"
    assert done.stderr.count("a program is not recorded") == 1, done.stderr
    assert "--mpicc names the compiler of the program's library" in done.stderr
    assert (done.returncode, list(tmp_path.iterdir())) == (1, [])


@pytest.mark.parametrize("same", [True, False], ids=["its own", "another"])
def test_a_library_that_is_loaded_later_is_checked_at_mpi_init(same: bool, mpi: Mpi, tmp_path: Path) -> None:
    """As by mpi4py: what the program does is begun, so it cannot run without the recorder any more."""
    compilers = [f"mpicc.{name}" for name in LIBRARIES if (name == mpi.name) == same]
    if not compilers:
        pytest.skip("only one MPI library is installed")
    source, program, plugin = HERE / "loads.c", tmp_path / "loads", tmp_path / "plugin.so"
    subprocess.run(["cc", source, "-o", program, "-ldl"], check=True)
    words = [f"mpicc.{mpi.name}", "-DPLUGIN", "-shared", "-fPIC", source, "-o", plugin]
    subprocess.run(words, check=True, env=ENVIRONMENT)
    out = tmp_path / "a.hct"
    words = ("--mpicc", compilers[0], "--", program, plugin)
    done = hopcast("trace", "record", "-o", out, *words, check=False)
    assert (done.returncode, done.stdout, out.exists()) == ((0, "begun\n", True) if same else (1, "", False))
    assert ("the program has loaded" in done.stderr) == (not same), done.stderr
