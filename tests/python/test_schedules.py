"""Traces whose ranks have graphs, and no order of calls: what is wrong with them, what cannot be made."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from test_traces import ROWS, samples

from hopcast import core

GRAPHS = ("goal", "bigsim", "chakra")


def hopcast(*words: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "hopcast", "trace", *words]
    return subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)


def schedule(path: Path, *ranks: str) -> str:
    """A GOAL schedule of what stands between the braces of each rank."""
    parts = [f"rank {rank} {{\n{lines}\n}}\n" for rank, lines in enumerate(ranks)]
    path.write_text(f"num_ranks {len(ranks)}\n" + "".join(parts))
    return str(path)


def chakra(folder: Path, *ranks: list[dict]) -> str:
    """A trace of Chakra in JSON, whose nodes have these attributes."""
    folder.mkdir()
    for rank, nodes in enumerate(ranks):
        numbered = [
            {"Id": 10 * number, "NodeType": 4, "is_cpu_op": False, "ctrlDeps": [], "data_deps": []} | node
            for number, node in enumerate(nodes, 1)
        ]
        (folder / f"t.{rank}.json").write_text(json.dumps({"workload_graph": numbered}))
    return str(folder)


@pytest.mark.parametrize(
    "ranks, kinds, place, status",
    [
        (["calc 3\na: send 8b to 1", "recv 8b from 0"], [], None, 0),
        (
            ["a: send 8b to 1", "calc 3"],
            ["unmatched send"],
            "rank 0, event #1 MPI_Isend ('a', line 3): sends 8 bytes",
            0,
        ),
        (
            ["send 9b to 1", "calc 3\nrecv 8b from 0"],
            ["message of another size"],
            "rank 1, event #2 MPI_Irecv (line 7): ",
            0,
        ),
        (
            ["calc 3", "r: recv 8b from 0"],
            ["stuck rank", "unmatched receive"],
            "rank 1, event #1 MPI_Irecv ('r', line 6): ",
            1,
        ),
        (
            [
                "s: send 8b to 1\nr: recv 8b from 1\ns requires r",
                "s: send 8b to 0\nr: recv 8b from 0\ns requires r",
            ],
            ["stuck rank", "cyclic dependency", "unmatched receive"],
            "rank 0, event #2 MPI_Irecv ('r', line 4): ranks 0 → 1 → 0 wait for each other",
            1,
        ),
    ],
)
def test_lint_follows_schedules(
    ranks: list[str], kinds: list[str], place: str | None, status: int, tmp_path: Path
) -> None:
    path = schedule(tmp_path / "a.goal", *ranks)
    found = core.trace_lint(path)
    assert [one["kind"] for one in found["findings"]] == kinds
    done = hopcast("lint", path)
    assert (done.returncode, done.stderr) == (status, "")
    assert (place or "nothing is wrong") in done.stdout.replace("\n", " ").replace("  ", " ")


def test_lint_names_nodes_by_the_number_that_the_file_has(tmp_path: Path) -> None:
    collective = {"NodeType": 7, "comm_size": 8}
    zero = [{"runtime": 5}, collective | {"comm_type": 0, "ctrlDeps": [10]}]
    path = chakra(tmp_path / "mixed", zero, [collective | {"comm_type": 2}])
    (found,) = core.trace_lint(path)["findings"]
    cause = "does not go with MPI_Iallgather (event #1 of rank 1)"
    # Rank 1 comes first, as rank 0 computes for 5 µs.
    first = {"rank": 0, "number": 2, "call": "MPI_Iallreduce", "name": "node 20", "cause": cause}
    assert (found["kind"], found["first"]) == ("mismatched collective", [first])
    assert hopcast("lint", path).returncode == 1


def test_lint_finds_a_node_that_waits_for_itself(tmp_path: Path) -> None:
    path = chakra(tmp_path / "cycle", [{"ctrlDeps": [20]}, {"ctrlDeps": [10]}], [{}])
    (found,) = core.trace_lint(path)["findings"]
    cause = f"{path}/t.0.json: node 10 depends on itself, by way of others"
    assert found["first"] == [{"rank": 0, "number": None, "call": "", "name": None, "cause": cause}]
    assert hopcast("lint", path).returncode == 1


def test_dump_lists_events_and_after_what_they_begin(tmp_path: Path) -> None:
    zero = "a: calc 5000 cpu 1\nb: send 80b to 1 tag 7\nc: recv 9b from -1\n"
    zero += "b requires a\nc requires a\nc irequires b"
    path = schedule(tmp_path / "a.goal", zero, "recv 80b from 0 tag -1")
    done = hopcast("dump", path)
    assert (done.returncode, done.stderr) == (0, "")
    assert [" ".join(line.split()) for line in done.stdout.splitlines() if "#" not in line] == [
        "rank 0",
        "1 compute 0.000005000 s, processor 1",
        "2 MPI_Isend to 1, tag 7, 80 B 1",
        "3 MPI_Irecv from any, tag 0, 9 B 1, the begin of 2",
        "rank 1",
        "1 MPI_Irecv from 0, any tag, 80 B",
    ]
    lines = [json.loads(line) for line in hopcast("dump", "--json", "--rank", "0", path).stdout.splitlines()]
    waits = [(line["event"], line["after_end_of"], line["after_begin_of"]) for line in lines]
    assert waits == [("compute", [], []), ("MPI_Isend", [1], []), ("MPI_Irecv", [1], [2])]
    assert lines[0]["time_s"] == pytest.approx(5e-6)
    assert lines[1] | {"rank": 0, "number": 2, "to": 1, "tag": 7, "bytes": 80} == lines[1]
    assert lines[2] | {"from": None, "tag": 0, "bytes": 9} == lines[2]


@pytest.mark.parametrize("words", [["convert"], ["slice", "--ranks", "0"], ["scale", "--to", "4"]])
def test_what_needs_an_order_is_refused(words: list[str], tmp_path: Path) -> None:
    path = schedule(tmp_path / "a.goal", "send 8b to 1", "recv 8b from 0")
    done = hopcast(words[0], path, *words[1:], "-o", str(tmp_path / "out.hct"))
    assert done.returncode == 2
    assert "a.goal: has no order of calls that could be written" in done.stderr.replace("\n", " ")
    assert not (tmp_path / "out.hct").exists()


@pytest.mark.parametrize(
    "row", [row for row in ROWS if row[0] in GRAPHS], ids=lambda row: row[1].rsplit("/", 2)[-2]
)
def test_samples_of_others_have_nothing_wrong(row: list[str], tmp_path: Path) -> None:
    for path in samples(row[1], tmp_path):
        assert core.trace_lint(str(path))["findings"] == [], path


def test_the_format_is_that_of_the_file_that_was_named(tmp_path: Path) -> None:
    """Beside it stands a file of the same stem in another format."""
    goal = schedule(tmp_path / "run.goal", "calc 3")
    (tmp_path / "run.ti").write_text("0 init\n0 finalize\n")
    assert core.trace_summary(goal)["format"] == "goal"
    assert core.trace_summary(str(tmp_path / "run.ti"))["format"] == "simgrid"
