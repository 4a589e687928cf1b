"""Files that readers of traces meet: one of several, and liballprof's of several libraries."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from written_traces import receive, send, slow_network, write

import hopcast
from hopcast import core
from hopcast.errors import InputError


def dumped(path: Path, **how) -> list[str]:
    lines: list[str] = []
    core.trace_dump(str(path), how.get("ranks", []), True, False, lambda text: lines.append(text) or True)
    return "".join(lines).splitlines()


def test_the_file_of_one_rank_alone_is_looked_into_and_not_replayed(tmp_path: Path) -> None:
    """It says itself which rank of how many it is."""
    whole = write(tmp_path / "whole.hct", [[send(1)], [receive(0)], []])
    alone = tmp_path / "alone" / "rank-000001.hct"
    alone.parent.mkdir()
    shutil.copy(whole / alone.name, alone)
    summary = core.trace_summary(str(alone))
    assert summary["alone"] == {"rank": 1, "ranks": 3}
    assert core.trace_summary(str(whole))["alone"] is None
    lines = dumped(alone)
    assert lines[0] == "rank 1"
    assert [line.split()[3] for line in lines[2:]] == ["MPI_Init", "MPI_Recv", "MPI_Finalize"]
    assert dumped(alone, ranks=[1]) == lines
    with pytest.raises(InputError, match=r"rank 0 is not there: .* is the file of rank 1 of 3 alone"):
        dumped(alone, ranks=[0])
    refused = "rank 1 of 3, and the files of the other ranks are not beside it"
    assert refused in summary["not_replayable"]
    with pytest.raises(InputError, match=refused):
        hopcast.run("crossbar", alone)


MPICH_WORLD = 0x44000000
"""Its MPI_COMM_WORLD; in Open MPI a handle is an address."""


def tracer(folder: Path, calls_of_ranks: list[list[str]], differences_us: list[float], world: int) -> Path:
    """As liballprof writes it now: {world} is the handle, rank and size of the communicator of all ranks."""
    folder.mkdir()
    ranks = len(calls_of_ranks)
    for rank, calls in enumerate(calls_of_ranks):
        lines = [
            "# htor's PMPI Tracer 0.9 Output File",
            "# time: Sat Mar 21 16:07:26 2009",
            f"# hostname: node{rank}.(none)",
            f"# uname: Linux node{rank} 5.4.0 #1 SMP x86_64",
            f"# clockdiff: {differences_us[rank]:f} s (relative to rank 0)",
            "",
            "MPI_Init:-:140:141:1000",
            *(call.replace("{world}", f"{world},{rank},{ranks}") for call in calls),
            f"# Finalize clockdiff: {differences_us[rank]:f}",
            "MPI_Finalize:9000:-",
        ]
        (folder / f"pmpi-trace-rank-{rank}.txt").write_text("\n".join(lines) + "\n")
    return folder


@pytest.mark.parametrize("world, any_source", [(MPICH_WORLD, -2), (94_051_552, -1)])
def test_liballprof_by_its_newer_head(tmp_path: Path, world: int, any_source: int) -> None:
    """Rank 1 sends 500 bytes; rank 0 receives them from any source, after a receive from nobody."""
    nobody = {-1: -2, -2: -1}[any_source]
    others = [
        "MPI_Errhandler_create:1001:140:141:1002",
        "MPI_Attr_get:1003:{world}:3:140:141:1004",
        "MPI_Comm_get_name:1004:{world}:140:141:1005",
    ]
    calls = [
        [
            *others,
            f"MPI_Recv:1010:9:500:14,1,1:{nobody}:7:{{world}}:10:1011",
            f"MPI_Recv:1020:9:500:14,1,1:{any_source}:7:{{world}}:10:1600",
        ],
        [*others, "MPI_Send:1100:9:500:14,1,1:0:7:{world}:1101"],
    ]
    trace = tracer(tmp_path / "traces", calls, [0.0, 0.0], world)
    summary = core.trace_summary(str(trace))
    assert (summary["format"], summary["hosts"]) == ("allprof", ["node0", "node1"])
    # From 1000 µs on: the message is sent at 1100 µs, takes 500 µs, and rank 0 goes on for 7400 µs.
    report = hopcast.run(slow_network(tmp_path), trace, model="flow")
    assert report.makespan_s == pytest.approx((100 + 500 + 7400) * 1e-6, rel=1e-3)
    assert report.summary["warnings"] == []


def test_clocks_of_liballprof_differ_as_its_head_says(tmp_path: Path) -> None:
    """Rank 1's clock is 5 s ahead, so 5 s less are those of rank 0; no call that all wait in could tell."""
    calls = [
        ["MPI_Send:1100:9:500:14,1,1:1:7:{world}:1101"],
        ["MPI_Recv:5001200:9:500:14,1,1:0:7:{world}:10:5001600"],
    ]
    trace = tracer(tmp_path / "traces", calls, [0.0, -5e6], MPICH_WORLD)
    one = trace / "pmpi-trace-rank-1.txt"
    one.write_text(
        one.read_text().replace(":140:141:1000", ":140:141:5001000").replace(":9000:", ":5009000:")
    )
    summary = core.trace_summary(str(trace))
    # From MPI_Init at 1000 µs to MPI_Finalize at 9000 µs.
    assert summary["total_s"] == pytest.approx(8e-3, abs=1e-9)
    assert summary["warnings"] == []


def test_a_wrong_clock_difference_is_refused(tmp_path: Path) -> None:
    trace = tracer(tmp_path / "traces", [[]], [0.0], MPICH_WORLD)
    [file] = trace.iterdir()
    file.write_text(file.read_text().replace("0.000000 s (relative", "soon (relative"))
    with pytest.raises(
        InputError, match=r"'soon .relative to rank 0.' is no difference of two clocks in micro"
    ):
        core.trace_summary(str(trace))
