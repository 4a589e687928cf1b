"""Programs that are killed, or end without MPI_Finalize: what is recorded of them, and what becomes of it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from real_mpi import ENVIRONMENT
from runs import RECORDS, Mpi, dumped, hopcast, processes

pytestmark = RECORDS

ROUNDS = 500
FOREVER_S = 120
"""Far longer than it takes; what does not come by then does not come."""


def killed(mpi: Mpi, out: Path, ranks: int, flags: tuple[str, ...] = ()) -> Path:
    """A recording of a program that hangs, killed once what each rank hangs in has been written."""
    words = ("trace", "record", "-o", out, "--mpicc", f"mpicc.{mpi.name}", *flags, "--")
    program = mpi.command(ranks, "hang.c", str(ROUNDS))
    command = [sys.executable, "-m", "hopcast", *map(str, words), *program]
    with subprocess.Popen(
        command, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        until = time.monotonic() + FOREVER_S
        files = [out / f"rank-{rank:06}.hct" for rank in range(ranks)]
        while not all(file.exists() and b"HCTS" in file.read_bytes() for file in files):
            assert time.monotonic() < until
            time.sleep(0.1)
        for pid in processes(mpi.program("hang.c")):
            with contextlib.suppress(ProcessLookupError):  # mpiexec ends the others
                os.kill(pid, signal.SIGKILL)
        assert process.wait(FOREVER_S) != 0
    return out


@pytest.fixture(scope="module", params=["wall", "cpu"])
def hung(mpi: Mpi, request, tmp_path_factory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp(f"hung-{mpi.name}")
    return killed(mpi, folder / "hung.hct", 3, ("--clock", request.param))


def test_what_hangs_has_recorded_all_calls_and_where_it_stands(hung: Path) -> None:
    """Its last block would have come much later: after five seconds, and with a call that returns."""
    zero, one, two = (dumped(hung, rank) for rank in range(3))
    # MPI_Init, MPI_Comm_rank, MPI_Comm_size, a send and a receive in each round.
    assert [len([call for call in calls if call["did"] != "standing"]) for calls in (zero, one, two)] == [
        3 + 2 * ROUNDS,
        3 + 2 * ROUNDS,
        3,
    ]
    assert zero[-1]["call"] == "MPI_Recv"
    message = {"peer": {"rank": 0}, "tag": 9, "comm": 0}
    assert (one[-1]["did"], one[-1]["call"], one[-1]["message"]) == ("standing", "MPI_Recv", message)
    assert one[-1]["begin_ns"] >= one[-2]["end_ns"]
    assert (two[-1]["did"], two[-1]["call"], two[-1]["polls"]) == ("standing", "MPI_Iprobe", True)


def test_a_partial_recording_is_called_so(hung: Path) -> None:
    (told,) = json.loads(hopcast("trace", "info", "--json", hung).stdout)["warnings"]
    assert "a partial recording: 3 of 3 ranks have no MPI_Finalize" in told
    assert "rank 1 stood in MPI_Recv with rank 0, tag 9" in told
    lint = hopcast("trace", "lint", "--json", hung)
    (finding,) = json.loads(lint.stdout)["findings"]
    assert (finding["kind"], finding["count"]) == ("missing MPI_Finalize", 3)
    assert [(one["rank"], one["number"]) for one in finding["first"]] == [
        (0, 3 + 2 * ROUNDS),
        (1, 3 + 2 * ROUNDS + 1),
        (2, 3 + 1),
    ]


def test_its_replay_is_partial_and_no_deadlock(hung: Path, tmp_path: Path) -> None:
    report = json.loads(hopcast("run", "crossbar", "--json", hung).stdout)
    assert (report["failure"], report["partial"], report["ranks_finished"]) == (None, True, 3)
    assert report["stopped"]["by"] == "recording"
    copy = tmp_path / "copy.hct"
    hopcast("trace", "convert", hung, "-o", copy)
    assert json.loads(hopcast("run", "crossbar", "--json", copy).stdout)["stopped"]["by"] == "recording"
    assert dumped(copy, 1)[-1] == dumped(hung, 1)[-1]


def test_a_call_that_lasted_is_over_when_it_has_returned(mpi: Mpi, tmp_path: Path) -> None:
    """Rank 1 of loop.c waits for rank 0 in each round, which sleeps; at the end nobody stands in anything."""
    out = mpi.record(tmp_path / "slow.hct", 2, "loop.c", "3", "900", flags=("--block", "100ms"))
    assert b"HCTS" in (out / "rank-000001.hct").read_bytes()
    assert json.loads(hopcast("trace", "info", "--json", out).stdout)["warnings"] == []
    assert [call["did"] for call in dumped(out, 1)].count("standing") == 0
    report = json.loads(hopcast("run", "crossbar", "--json", out).stdout)
    assert (report["partial"], report["ranks_finished"]) == (False, 2)


def test_a_command_that_is_recorded_ends_with_hopcast(mpi: Mpi, tmp_path: Path) -> None:
    """With SIGTERM to hopcast alone, and even if that is killed: launchers end what they have launched."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        out = tmp_path / number.name
        words = ("trace", "record", "-o", out, "--mpicc", f"mpicc.{mpi.name}", "--")
        command = [sys.executable, "-m", "hopcast", *map(str, words), *mpi.command(2, "hang.c", "5")]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        with subprocess.Popen(command, env=ENVIRONMENT, **quiet) as process:
            until = time.monotonic() + FOREVER_S
            while len(processes(mpi.program("hang.c"))) < 2:
                assert time.monotonic() < until
                time.sleep(0.1)
            process.send_signal(number)
            assert process.wait(FOREVER_S) != 0
        while processes(mpi.program("hang.c")):
            assert time.monotonic() < until
            time.sleep(0.1)
