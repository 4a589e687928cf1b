"""Programs recorded under a real MPI: what the recording holds, how large it is, and that it replays."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from real_mpi import ENVIRONMENT
from runs import RECORDS, Mpi, dumped, hopcast, of, processes

pytestmark = RECORDS


@pytest.fixture(scope="session")
def calls(mpi: Mpi) -> Path:
    """The recording of calls.c."""
    return mpi.record(mpi.folder / "calls.hct", 4, "calls.c")


def test_messages_are_recorded_with_peers_tags_bytes_and_requests(calls: Path) -> None:
    one = dumped(calls, 1)
    to_0 = {"to": 0, "tag": 21, "comm": 0, "bytes": 40, "mode": "synchronous"}
    assert of(one, "MPI_Ssend") == [to_0]
    isend = {"to": 2, "tag": 5, "comm": 0, "bytes": 1000, "request": {"active": 1}}
    assert of(one, "MPI_Isend") == [isend]
    irecv = {"from": {"rank": 0}, "tag": 5, "comm": 0, "capacity": 2000, "request": {"active": 0}}
    assert of(one, "MPI_Irecv") == [irecv]
    assert [call["requests"] for call in of(one, "MPI_Waitall")] == [[0, 1]] * 3
    both = {"send": {"to": 2, "tag": 6, "comm": 0, "bytes": 40}}
    both["receive"] = {"from": {"rank": 0}, "tag": 6, "comm": 0, "capacity": 40}
    assert of(one, "MPI_Sendrecv") == [both]
    # To nobody; seven shorts; and what a derived datatype holds is what counts: 2 x 3 x 2 doubles.
    assert [(send["to"], send["bytes"]) for send in of(one, "MPI_Send")] == [(None, 4), (2, 14)]
    assert [send["bytes"] for send in of(dumped(calls, 0), "MPI_Send") if send["tag"] == 12] == [96]
    persistent = {"to": 2, "tag": 11, "comm": 0, "bytes": 12, "request": {"persistent": 0}}
    assert of(one, "MPI_Send_init") == [persistent]
    assert [call["requests"] for call in of(one, "MPI_Startall")] == [[0, 1]] * 2
    assert [probe["from"] for probe in of(dumped(calls, 2), "MPI_Probe")] == [{"rank": 1}]


def test_wildcards_are_recorded_with_the_source_that_matched(calls: Path) -> None:
    zero = dumped(calls, 0)
    receives = [receive for receive in of(zero, "MPI_Recv") if receive["from"] == "any"]
    matched = [(receive["matched"]["source"], receive["matched"]["tag"]) for receive in receives]
    assert sorted(matched) == [(1, 21), (2, 22), (3, 23)]
    assert [receive.get("tag") for receive in receives] == [None] * 3
    # Of a request, it is known when it is complete.
    assert of(zero, "MPI_Irecv")[-1]["from"] == "any"
    assert of(zero, "MPI_Wait")[0]["matched"] == [[0, {"source": 3, "tag": 9}]]


def test_communicators_and_collectives_are_recorded(calls: Path) -> None:
    three = dumped(calls, 3)
    (split,) = of(three, "MPI_Comm_split")
    assert (split["comm"], split["parent"], split["members"]) == (2, 0, [3, 1])
    assert [(call["comm"], call["sizes"]) for call in of(three, "MPI_Allreduce")] == [(2, {"equal": 4})]
    # 3 is the first of its half.
    assert [(send["to"], send["comm"]) for send in of(three, "MPI_Send") if send["tag"] == 13] == [(1, 2)]
    (copy,) = of(three, "MPI_Comm_dup")
    assert (copy["comm"], copy["parent"], copy["how"]) == (3, 2, "dup")
    assert [call["comm"] for call in of(three, "MPI_Barrier")] == [0, 3]
    (grid,) = of(three, "MPI_Cart_create")
    assert grid["how"] == {"cart": {"sizes": [2, 2], "periodic": [True, False]}}
    assert [call["kind"] for call in of(three, "MPI_Neighbor_alltoall")] == ["neighbor_alltoall"]
    bcast = {
        "kind": "bcast",
        "comm": 0,
        "root": 1,
        "sizes": {"equal": 400},
        "element": 4,
        "commutative": True,
    }
    assert of(three, "MPI_Bcast") == [bcast]
    assert of(three, "MPI_Gatherv")[0]["sizes"] == {"by_rank": [0, 0, 0, 16]}
    assert of(dumped(calls, 2), "MPI_Gatherv")[0]["sizes"] == {"by_rank": [4, 8, 12, 16]}
    assert of(three, "MPI_Alltoallv")[0]["sizes"] == {"own": {"send": [4] * 4, "receive": [4] * 4}}
    assert of(three, "MPI_Ibcast")[0]["request"] == {"active": 0}


def test_one_sided_calls_are_recorded_with_their_bytes(calls: Path) -> None:
    assert of(dumped(calls, 3), "MPI_Put") == [{"to": 0, "bytes": 64, "answer": 0}]


def test_a_recording_replays_with_every_message(calls: Path) -> None:
    # By hand: each rank 1 isend, 1 sendrecv, 2 persistent; 3 synchronous, 1 of doubles, 1 of shorts, 1
    # derived, 2 in halves.
    summary = json.loads(hopcast("trace", "info", "--json", calls).stdout)
    assert summary["messages"] == 4 * (1 + 1 + 2) + 3 + 1 + 1 + 1 + 2
    found = json.loads(hopcast("trace", "lint", "--json", calls).stdout)
    assert found["findings"] == []
    assert "MPI_Put" in [call["call"] for call in found["only_time"]]
    report = json.loads(hopcast("run", "crossbar", "--json", calls).stdout)
    assert (report["failure"], report["ranks_finished"]) == (None, 4)


def test_logical_clocks_order_what_messages_order(calls: Path) -> None:
    all_calls = [dumped(calls, rank) for rank in range(4)]
    for one in all_calls:
        clocks = [call["clock"] for call in one]
        assert clocks == sorted(set(clocks))
    clock = {(call["rank"], call["call"]): call["clock"] for one in all_calls for call in one}
    assert clock[1, "MPI_Ssend"] > clock[1, "MPI_Sendrecv"]
    # Nobody leaves the broadcast of rank 1 before rank 1 has come to it.
    before = max(
        call["clock"] for call in all_calls[1] if call["number"] < number_of(all_calls[1], "MPI_Bcast")
    )
    assert all(clock[rank, "MPI_Bcast"] > before for rank in range(4))
    finalize = [clock[rank, "MPI_Finalize"] for rank in range(4)]
    assert len(set(finalize)) == 1


def number_of(calls: list[dict], name: str) -> int:
    return next(call["number"] for call in calls if call["call"] == name)


def test_loops_are_folded(mpi: Mpi, tmp_path: Path) -> None:
    sizes = []
    for rounds in (10, 10_000):
        out = mpi.record(tmp_path / f"{rounds}.hct", 2, "loop.c", str(rounds), flags=("--times", "tallied"))
        sizes.append((out / "rank-000000.hct").stat().st_size)
    summary = json.loads(hopcast("trace", "info", "--json", out).stdout)
    assert summary["messages"] == 2 * 10_000
    # A thousand times as many rounds: more different times, and no more calls.
    assert sizes[1] < sizes[0] + 3_000, sizes


def test_polling_alone_is_waiting_and_work_between_polls_is_computing(mpi: Mpi, tmp_path: Path) -> None:
    """Against what the program has measured of itself."""
    out = tmp_path / "polls.hct"
    words = ("trace", "record", "-o", out, "--mpicc", f"mpicc.{mpi.name}", "--times", "tallied")
    done = hopcast(*words, "--", *mpi.command(2, "polls.c", "300"))
    polls, worked_ns, waited_ns = map(int, done.stdout.split())
    calls = dumped(out, 0)
    irecv, test = (call for call in calls if call["call"] in ("MPI_Irecv", "MPI_Test", "MPI_Testany"))
    assert (irecv["request"], test["requests"]) == ({"active": 0}, [0])
    assert test["polls"] == polls
    # Less than a tenth is taken for the other, however busy the machine is, and no time is lost.
    between_ns = test["begin_ns"] - irecv["end_ns"]
    assert between_ns == pytest.approx(worked_ns + waited_ns, rel=0.05)
    assert test["waited_ns"] == pytest.approx(waited_ns, abs=0.1 * between_ns)
    # Of all that, a replay that leaves computing out has nothing, and one on the same machine has all.
    ignoring = json.loads(hopcast("run", "crossbar", "--json", "--ignore", "compute", out).stdout)
    assert ignoring["makespan_s"] < 0.01
    report = json.loads(hopcast("run", "crossbar", "--json", out).stdout)
    recorded_s = 1e-9 * (calls[-1]["end_ns"] - calls[0]["end_ns"])
    # A busy machine keeps a rank waiting within its calls, too, which the replay takes from the platform.
    in_calls_s = 1e-9 * sum(call["end_ns"] - call["begin_ns"] for call in calls[1:])
    assert report["makespan_s"] == pytest.approx(recorded_s, abs=0.1 * recorded_s + in_calls_s)


def test_where_ranks_share_a_core_the_time_of_the_processor_counts(mpi: Mpi, tmp_path: Path) -> None:
    computed = {}
    for clock in ("wall", "cpu"):
        out = mpi.record(tmp_path / f"{clock}.hct", 2, "loop.c", "20", "20", flags=("--clock", clock))
        summary = json.loads(hopcast("trace", "info", "--json", out).stdout)
        computed[clock] = summary["wall_s"] - summary["in_mpi_s"]
    # Two ranks sleep for 20 x 20 ms, as they would while others have the core.
    assert computed["wall"] > 0.8
    assert computed["cpu"] < 0.2
    assert "clock inversion" not in hopcast("trace", "lint", out).stdout
    refused = hopcast("run", "crossbar", "--mode", "timestamps", out, check=False)
    assert (refused.returncode, "no common time" in refused.stderr) == (2, True), refused.stderr


@pytest.mark.parametrize(("clock", "sleep_ms"), [("wall", 1), ("cpu", 20)])
def test_a_program_that_is_killed_loses_its_last_block(
    mpi: Mpi, tmp_path: Path, clock: str, sleep_ms: int
) -> None:
    """Physical time limits what is lost, whatever the rank's clock counts: most of this program is asleep."""
    out = tmp_path / "killed.hct"
    words = [
        "trace",
        "record",
        "-o",
        out,
        "--mpicc",
        f"mpicc.{mpi.name}",
        "--block",
        "100ms",
        "--clock",
        clock,
    ]
    program = mpi.command(2, "loop.c", "1000000", str(sleep_ms))
    command = [sys.executable, "-m", "hopcast", *map(str, words), "--", *program]
    with subprocess.Popen(
        command, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        last = out / "rank-000001.hct"
        until = time.monotonic() + 60
        while not (last.exists() and last.stat().st_size > 6_000):
            assert time.monotonic() < until
            time.sleep(0.05)
        for pid in processes(mpi.program("loop.c")):
            with contextlib.suppress(ProcessLookupError):  # mpiexec ends the others
                os.kill(pid, signal.SIGKILL)
        assert process.wait(60) != 0
    summary = json.loads(hopcast("trace", "info", "--json", out).stdout)
    assert any("a partial recording" in warning for warning in summary["warnings"])
    assert summary["messages"] > 50
    hopcast("run", "crossbar", "--quiet", out, check=False)


@pytest.mark.skipif(not shutil.which("gfortran"), reason="no Fortran compiler is installed")
def test_fortran_programs_are_recorded(mpi: Mpi, tmp_path: Path) -> None:
    out = mpi.record(tmp_path / "ring.hct", 3, "ring.f90")
    calls = dumped(out, 2)
    assert of(calls, "MPI_Isend") == [{"to": 0, "tag": 3, "comm": 0, "bytes": 400, "request": {"active": 1}}]
    assert [call["call"] for call in calls] == [
        "MPI_Init", "MPI_Comm_rank", "MPI_Comm_size", "MPI_Irecv", "MPI_Isend", "MPI_Waitall",
        "MPI_Allreduce", "MPI_Finalize",
    ]  # fmt: skip


def test_recording_changes_neither_output_nor_status(mpi: Mpi, tmp_path: Path) -> None:
    out = tmp_path / "a.hct"
    done = hopcast("trace", "-o", out, "--mpicc", f"mpicc.{mpi.name}", "--", *mpi.command(4, "calls.c"))
    assert done.stdout == "done\n"
    again = hopcast("trace", "-o", out, "--", "true", check=False)
    assert (again.returncode, "exists already" in again.stderr) == (2, True)
    assert hopcast("trace", "-o", tmp_path / "b.hct", "--", "false", check=False).returncode == 1


def test_one_file_is_replayed_as_the_folder_is(calls: Path, tmp_path: Path) -> None:
    one = tmp_path / "one.hct"
    hopcast("trace", "convert", calls, "-o", one, "--one-file")
    assert one.is_file()
    reports = [json.loads(hopcast("run", "crossbar", "--json", path).stdout) for path in (calls, one)]
    assert reports[0]["outcome_hash"] == reports[1]["outcome_hash"]
    again = hopcast("trace", "convert", calls, "-o", one, check=False)
    assert (again.returncode, "exists already" in again.stderr) == (2, True)


def test_what_is_not_known_of_a_communicator_leaves_a_recording_that_replays(
    mpi: Mpi, tmp_path: Path
) -> None:
    """Copies that come late, collectives of two groups: they take their time, and nothing waits for them."""
    out = mpi.record(tmp_path / "inter.hct", 4, "inter.c")
    assert "nothing is wrong" in hopcast("trace", "lint", out).stdout
    report = json.loads(hopcast("run", "crossbar", "--json", out).stdout)
    assert (report["failure"], report["ranks_finished"]) == (None, 4)


def test_communicators_that_cannot_be_known_take_time_only(mpi: Mpi, tmp_path: Path) -> None:
    """Those of a session; a copy that is made in the background is known."""
    out = mpi.record(tmp_path / "unknown.hct", 2, "unknown.c")
    zero = dumped(out, 0)
    if "MPI_Session_init" in (call["call"] for call in zero):
        assert [call["did"] for call in zero if call["call"] in UNKNOWN] == ["overhead"] * len(UNKNOWN)
    made = [(call["call"], call["comm"]) for call in zero if call["did"] == "new_comm"]
    assert made == [("MPI_Comm_idup", 2)]
    assert [call["comm"] for call in zero if call["did"] == "collective"] == [2, 0]
    assert "nothing is wrong" in hopcast("trace", "lint", out).stdout
    hopcast("run", "crossbar", "--quiet", out)


UNKNOWN = ("MPI_Allreduce", "MPI_Irecv", "MPI_Isend", "MPI_Waitall", "MPI_Comm_dup")
"""Functions that unknown.c calls on the communicator of a session, once each."""


def test_the_first_of_several_programs_is_recorded(mpi: Mpi, tmp_path: Path) -> None:
    one, other = (" ".join(mpi.command(ranks, "loop.c", "10")) for ranks in (2, 3))
    out = tmp_path / "first.hct"
    done = hopcast(
        "trace", "record", "-o", out, "--mpicc", f"mpicc.{mpi.name}", "--", "sh", "-c", f"{one}; {other}"
    )
    assert done.stderr.count("a program is not recorded") == 1
    assert json.loads(hopcast("trace", "info", "--json", out).stdout)["ranks"] == 2


def test_a_place_that_cannot_be_preloaded_is_refused(mpi: Mpi, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(ENVIRONMENT, "XDG_CACHE_HOME", str(tmp_path / "a place"))
    words = ["--mpicc", f"mpicc.{mpi.name}", "--", *mpi.command(2, "loop.c", "10")]
    done = hopcast("trace", "record", "-o", tmp_path / "a.hct", *words, check=False)
    assert (done.returncode, "takes no path with a space" in done.stderr) == (2, True)
