"""Measurements that are stopped, or whose directory is damaged: exit code, message, nothing that runs on."""

from __future__ import annotations

import contextlib
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from real_mpi import ENVIRONMENT, launch, works

from hopcast.calibrate import design, machine, measure
from hopcast.errors import InputError, StoppedEarly

REAL = [library for library in ("mpich", "openmpi") if works(library)]
HANGS = ["sh", "-c", "sleep 300"]
needs_mpi = pytest.mark.skipif(not REAL, reason="neither MPICH nor Open MPI is installed")


def made_design(folder: Path, repetitions: int = 3) -> Path:
    place = folder / "list.csv"
    rows = design.network(design.Sizes(1, 1000, 10, 2), repetitions, ("Recv", "PingPong"), 2, 1)
    design.write(rows, place)
    return place


def calibrate(*words: object) -> subprocess.Popen:
    command = [sys.executable, "-m", "hopcast", "calibrate", *map(str, words)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env=ENVIRONMENT, start_new_session=True, **pipes)


def running(program: Path) -> list[int]:
    """Processes that run the program."""
    found = []
    for place in Path("/proc").glob("[0-9]*/exe"):
        try:
            if place.readlink() == program:
                found.append(int(place.parent.name))
        except OSError:
            continue
    return found


def until(condition, seconds: float = 60.0) -> None:
    begun = time.monotonic()
    while not condition():
        assert time.monotonic() - begun < seconds, "it does not come"
        time.sleep(0.05)


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_no_rank_runs_on(name: str, number: int, tmp_path: Path) -> None:
    """As a batch system ends a job: by one signal to the command, and not to what it has started."""
    place = made_design(tmp_path, repetitions=20_000)
    out = tmp_path / "out"
    with calibrate("measure", "-o", out, "--design", place, "--", *launch(name, 2)) as process:
        program = out / "programs" / "network"
        until(lambda: len(running(program)) == 2)
        os.kill(process.pid, number)
        _, said = process.communicate(timeout=60)
    until(lambda: not running(program), 20)
    if number == signal.SIGKILL:
        assert process.returncode == -signal.SIGKILL
    else:
        assert process.returncode == 130, said
        assert "stopped by the user after " in said and "the same command goes on" in said


@needs_mpi
def test_a_stop_before_the_first_measurement_is_one_too(tmp_path: Path) -> None:
    """A launcher that hangs, as one whose nodes never come."""
    place = made_design(tmp_path)
    words = ("--mpicc", f"mpicc.{REAL[0]}", "--", *HANGS)
    with calibrate("measure", "-o", tmp_path / "out", "--design", place, *words) as process:
        until(lambda: (tmp_path / "out" / "output.txt").exists())
        time.sleep(0.3)
        os.kill(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert (
        process.returncode == 130 and "the ranks of 'sh -c 'sleep 300'' had not said where they run" in said
    )


@needs_mpi
def test_a_launcher_that_hangs_is_given_up(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(machine, "ANSWER_S", 0.5)
    with pytest.raises(
        InputError, match=r"the limit of 0.5 s: the ranks of 'sh -c 'sleep 300'' had not said"
    ):
        machine.find([f"mpicc.{REAL[0]}"], HANGS, tmp_path)
    assert not issubclass(InputError, StoppedEarly)


@pytest.mark.parametrize("text", ["", '{"mpi_library": "MP', "{}", "[]"])
def test_facts_that_were_cut_are_named(text: str, tmp_path: Path) -> None:
    """As a full disk leaves them."""
    (tmp_path / machine.FILE).write_text(text)
    with pytest.raises(InputError, match=r"machine\.json: no facts of a machine"):
        machine.record(machine.Machine({"ranks": []}), tmp_path, ["mpiexec"], "network", {})
    with pytest.raises(InputError, match=r"machine\.json: no facts of a machine"):
        machine.day([tmp_path])


def test_a_damaged_line_of_the_journal_counts_for_nothing(tmp_path: Path) -> None:
    (tmp_path / "network_Recv.csv").write_text("MPI_Recv,1,0,1e-6\n" * 2)
    (tmp_path / "journal.csv").write_text("1,0.5,18\na,b,c\n2,\0,\0\0\n")
    assert measure.reached(tmp_path, ["network_Recv.csv"]).measurements == 1
    assert (tmp_path / "network_Recv.csv").read_text() == "MPI_Recv,1,0,1e-6\n"


@needs_mpi
@pytest.mark.parametrize(
    ("program", "words", "message"),
    [
        ("thresholds", "--methods tests", "unknown word --methods; known: --out --partner --method --wait"),
        ("thresholds", "--partner 1", "--partner: set already, to 1"),
        ("saturation", "--bytes", "--bytes: its value is missing"),
        ("saturation", "'", "--arguments: ''': no closing quotation"),
    ],
)
def test_words_that_a_program_does_not_know_are_refused(
    program: str, words: str, message: str, tmp_path: Path
) -> None:
    options = ("-o", tmp_path / "out", "--program", program, "--arguments", words)
    with calibrate("measure", *options, "--", *launch(REAL[0], 2)) as process:
        _, said = process.communicate(timeout=60)
    assert (process.returncode, message in said) == (2, True), said


@needs_mpi
def test_a_terminal_shows_that_a_program_runs(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    words = ("-o", str(tmp_path / "out"), "--program", "thresholds", "--", *launch(REAL[0], 2))
    command = [sys.executable, "-m", "hopcast", "calibrate", "measure", *words]
    with subprocess.Popen(
        command, env=ENVIRONMENT | {"TERM": "xterm"}, stdout=subprocess.DEVNULL, stderr=theirs
    ) as process:
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):  # the end of a terminal
            while part := os.read(ours, 4096):
                shown += part
    os.close(ours)
    assert process.returncode == 0 and b"measuring: thresholds" in shown, shown
