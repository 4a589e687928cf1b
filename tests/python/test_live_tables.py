"""Tables that are written while a run goes on: a reader beside it, and what a killed run leaves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

import hopcast
from hopcast.report import parts, read

LONG = ("alltoall", "--bytes", "64B", "--iterations", "12000")
KEEP = ("--messages", "5000", "--matrix-periods", "20000")
ROWS = ("messages", "matrix_periods", "router_matrix_periods")


def started(out: Path, *words: str) -> subprocess.Popen:
    """A run of some seconds, in a process of its own."""
    command = [sys.executable, "-m", "hopcast", "run", "hopper", "-n", "48", "--quiet", "--model", "loggp"]
    command += [*KEEP, "--out", str(out), *words, *LONG]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_reader_sees_rows_before_the_end(tmp_path) -> None:
    """Each row that it sees is in the report, but for messages of a share that has been halved since."""
    out = tmp_path / "out"
    with started(out) as run:
        seen = list(hopcast.follow(out, wait_s=60))
        _, errors = run.communicate()
    assert run.returncode == 0, errors
    assert not errors
    *before, last = seen
    assert len(before) >= 2
    assert [standing.ended for standing in seen] == [None] * len(before) + ["finished"]
    first, latest = before[0], before[-1]
    assert 0 < first.simulated_s < 0.9 * last.simulated_s, "the first rows came late"
    assert first.simulated_s < latest.simulated_s
    report = read(out)
    final = report.tables["messages"].to_pydict()
    share = final["share"][0]
    assert report.summary["kept_messages"]["share"] == share < 1
    assert report.summary["kept_messages"]["kept"] == len(final["share"]) <= 5000
    rows = dict(zip(zip(final["source"], final["number"], strict=True), final["received_s"], strict=True))
    for standing in before:
        messages = standing.table("messages")
        if messages is None:
            continue
        content = messages.to_pydict()
        assert len(set(content["share"])) == 1, "one share for all"
        keys = zip(content["source"], content["number"], strict=True)
        found = {
            key: received
            for key, received, sample in zip(keys, content["received_s"], content["sample"], strict=True)
            if sample < share
        }
        assert found and found.items() <= rows.items()
    for name in ("matrix_periods", "router_matrix_periods"):
        of_all = sum(report.tables[name]["bytes"].to_pylist())
        # The reader may come between the parts of two tables.
        tables = [table for standing in before if (table := standing.table(name)) is not None]
        amounts = [sum(table["bytes"].to_pylist()) for table in tables]
        assert amounts == sorted(amounts)
        assert 0 < amounts[0] <= amounts[-1] <= of_all
    assert sum(report.tables["matrix_periods"]["bytes"].to_pylist()) == report.summary["bytes"]
    assert not (out / parts.FOLDER).exists()


@pytest.mark.parametrize("threads", ["1", "2"])
def test_a_killed_run_leaves_valid_parts(tmp_path, threads) -> None:
    out = tmp_path / "out"
    with started(out, "--threads", threads) as run:
        for standing in hopcast.follow(out, wait_s=60):
            # The reader may come between the parts of two tables.
            if all(standing.table(name) is not None for name in ROWS) and standing.ended is None:
                run.send_signal(signal.SIGKILL)
                run.wait()
                break
    last = list(hopcast.follow(out))[-1]
    assert last.ended == "killed"
    assert last.table("messages").num_rows > 100
    files = list((out / parts.FOLDER).glob("*/[0-9]*.parquet"))
    of_ranks = {*ROWS, "rank_progress"}
    # How far ranks are comes at a pace of its own, perhaps after the signal.
    found = {file.parent.name for file in files} | {"rank_progress"}
    assert found == of_ranks, "loggp has no links"
    assert all(parquet.read_table(file).num_rows for file in files)
    with pytest.raises(hopcast.InputError, match="its run has not finished"):
        read(out)
    watched = subprocess.run(
        [sys.executable, "-m", "hopcast", "watch", str(out)], capture_output=True, text=True, timeout=60
    )
    assert watched.returncode == 2
    assert "killed" in watched.stdout and "ended without a report" in watched.stderr
    # The next run may have the directory.
    hopcast.run("hopper", "alltoall", 4, out=str(out), messages=10)
    assert not (out / parts.FOLDER).exists()
    assert next(hopcast.follow(out)).ended == "finished"


def test_processes_write_parts_of_their_own(tmp_path) -> None:
    """As of two processes: each has its files, and the reader has the rows of both."""
    out = tmp_path / "out"
    columns = [("source", "u32", (7).to_bytes(4, "little")), ("bytes", "u64", (5).to_bytes(8, "little"))]
    for process in (1, 0):
        writer = parts.Parts(out, process)
        writer(0.5, 10 + process, 0, [("matrix_periods", columns)])
    follower = hopcast.follow(out)
    standing = next(follower)
    assert standing.events == 10
    assert standing.table("matrix_periods").to_pydict() == {"source": [7, 7], "bytes": [5, 5]}
    # A run that begins again takes its own rows back.
    writer(0.1, 1, 1, [])
    standing = next(follower)
    assert standing.table("matrix_periods").num_rows == 1


def test_a_full_disk_ends_the_parts_and_not_the_run(tmp_path, capsys, monkeypatch) -> None:
    def refuse(*_) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(parts.Parts, "_write", refuse)
    writer = parts.Parts(tmp_path)
    for _ in range(2):
        writer(0.0, 0, 0, [])
    assert capsys.readouterr().err.count("No space left") == 1


def test_rows_of_programs_are_followed_too(tmp_path) -> None:
    """A rank function in Python, from another thread."""

    def program(comm) -> None:
        for step in range(3000):
            comm.sendrecv(nbytes=64, dest=(comm.rank + 1) % comm.size, source=(comm.rank - 1) % comm.size)
            if comm.rank == 0 and step % 10 == 0:
                time.sleep(0.01)  # so that the reader has time to see more than the end

    out, seen = tmp_path / "out", []
    reader = threading.Thread(target=lambda: seen.extend(hopcast.follow(out, wait_s=60)))
    reader.start()
    hopcast.run("hopper", program, 24, messages=100_000, out=str(out))
    reader.join(60)
    assert [standing.ended for standing in seen][-1] == "finished"
    assert len(seen) >= 2 and seen[0].table("messages").num_rows


def test_parts_that_go_while_they_are_looked_for(tmp_path, monkeypatch) -> None:
    """As the finished report takes their place between a look at the folder and one at what is in it."""
    writer, scan = parts.Parts(tmp_path), os.scandir
    table = {"link": [1, 2], "from": ["a", "b"], "to": ["b", "a"]}
    monkeypatch.setattr(parts, "table_of", pyarrow.table)
    writer(1.0, 1, 0, [("links", table)])
    assert [part.parent.name for part in parts.written(tmp_path)] == ["links"]
    assert parts.written(tmp_path, "messages") == []

    def late(folder=".") -> object:
        if Path(folder).name == "links":
            (tmp_path / "live").rename(tmp_path / "gone")
        return scan(folder)

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", late)
        assert parts.written(tmp_path) == []
    (tmp_path / "gone").rename(tmp_path / "live")
    assert len(parts.written(tmp_path)) == 1


def test_nothing_is_kept_for_nobody(tmp_path) -> None:
    for flag in ("--messages", "--matrix-periods"):
        done = subprocess.run(
            [sys.executable, "-m", "hopcast", "run", "hopper", "-n", "2", flag, "10", "pingpong"],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 2
        assert f"{flag} keeps tables, which are written with --out DIR" in done.stderr
    began = time.monotonic()
    with pytest.raises(hopcast.InputError, match="no run writes rows here"):
        next(hopcast.follow(tmp_path, wait_s=0.2))
    assert time.monotonic() < began + 5


def test_the_process_of_a_run_is_known_to_be_gone(tmp_path) -> None:
    writer = parts.Parts(tmp_path)
    writer(0.0, 0, 0, [])
    state = parts.state(tmp_path)
    assert state["process"] == os.getpid() and parts.is_alive(state)
    assert parts.is_alive(state | {"host": "elsewhere", "process": 1 << 22})
    with subprocess.Popen(["true"]) as process:
        process.wait()
    assert not parts.is_alive(state | {"process": process.pid})
    assert json.loads((tmp_path / "live" / "run.json").read_text()) == state


def test_pictures_of_messages_and_matrices(tmp_path) -> None:
    report = hopcast.run(
        "hopper", "halo3d", 64, messages=100, matrix_periods=5_000, out=str(tmp_path / "out")
    )
    page = (tmp_path / "out" / "report.html").read_text()
    kept = report.kept_messages
    assert kept["share"] < 1
    assert f"{kept['kept']:,} of {kept['messages']:,} messages, those of a share of 1 in" in page
    assert "Communication matrix over time" in page
    assert isinstance(report.table("messages"), pyarrow.Table)
