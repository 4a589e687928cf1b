"""Commands on recordings: lint, dump, scale, several recordings in one run."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from written_traces import complete, made, receive, send, write

import hopcast
from hopcast import core
from hopcast.errors import InputError

ACTIVE, PERSISTENT = {"active": 0}, {"persistent": 0}
START = {"call": "MPI_Start", "did": "start", "requests": [0]}


def findings(trace: Path) -> list[str]:
    found = core.trace_lint(str(trace))["findings"]
    return [one["cause"] for kind in found for one in kind["first"] if kind["kind"] == "not followed"]


@pytest.mark.parametrize(
    "calls, cause",
    [
        ([complete(5)], "names request 5, which no call before it has begun, or which is over"),
        ([send(0, request=ACTIVE), receive(0), complete(0), complete(0)], "names request 0, which no call"),
        ([send(0, request=ACTIVE), send(0, request=ACTIVE)], "begins request 0, which is in use"),
        ([START], "names request 0, which no call"),
        ([send(0, request=ACTIVE), START], "starts request 0, which is not persistent"),
        (
            [send(0, request=PERSISTENT, mode="synchronous"), START, START],
            "request 0, which is started already",
        ),
        ([{"call": "MPI_Cancel", "did": "cancel", "request": 3}], "names request 3, which no call"),
        ([{"call": "MPI_Request_free", "did": "free", "request": 3}], "names request 3, which no call"),
    ],
)
def test_lint_finds_the_requests_that_a_replay_refuses(calls: list[dict], cause: str, tmp_path: Path) -> None:
    trace = write(tmp_path / "damaged.hct", [calls])
    assert any(cause in found for found in findings(trace))
    with pytest.raises(hopcast.ProgramFailure, match="uses MPI wrongly"):
        hopcast.run("crossbar", trace)


def collective(kind: str, sizes: dict, root: int = 0) -> dict:
    call = {"call": "MPI_Collective", "did": "collective", "kind": kind, "comm": 0, "root": root}
    return call | {"sizes": sizes, "element": 1, "commutative": True}


def own(sent: list[int], received: list[int]) -> dict:
    return {"own": {"send": sent, "receive": received}}


@pytest.mark.parametrize(
    "one, other, kind",
    [
        (collective("bcast", {"equal": 8}), collective("bcast", {"equal": 16}), "mismatched collective"),
        (
            collective("allgatherv", {"by_rank": [8, 8]}),
            collective("allgatherv", {"by_rank": [8, 16]}),
            "mismatched collective",
        ),
        (
            collective("gatherv", {"by_rank": [8, 8]}),
            collective("gatherv", {"by_rank": [0, 16]}),
            "mismatched collective",
        ),
        (
            collective("alltoallv", own([8, 8], [8, 8])),
            collective("alltoallv", own([16, 8], [8, 8])),
            "mismatched collective",
        ),
        *[(call, call, "not followed") for call in (
            collective("bcast", {"equal": 8}, root=2),
            made({"cart": {"sizes": [3, 2], "periodic": [True, True]}}, 2),
            send(2),
            send(0, tag=1 << 31),
        )],
    ],
)  # fmt: skip
def test_lint_finds_the_arguments_that_a_replay_refuses(one, other, kind: str, tmp_path: Path) -> None:
    trace = write(tmp_path / "damaged.hct", [[one], [other]])
    assert kind in [found["kind"] for found in core.trace_lint(str(trace))["findings"]]
    with pytest.raises(hopcast.ProgramFailure, match=r"uses MPI wrongly|mismatched collectives|deadlock"):
        hopcast.run("crossbar", trace)


def test_persistent_requests_are_used_again_and_again(tmp_path: Path) -> None:
    rounds = [START, receive(0), complete(0)] * 3
    free = {"call": "MPI_Request_free", "did": "free", "request": 0}
    assert findings(write(tmp_path / "fine.hct", [[send(0, request=PERSISTENT), *rounds, free]])) == []


def test_files_of_two_runs_are_told(tmp_path: Path) -> None:
    def warnings(name: str, later_ns: int) -> list[str]:
        trace = write(tmp_path / name, [[], []], [10**18, 10**18 + later_ns])
        return core.trace_summary(str(trace))["warnings"]

    assert warnings("one.hct", 10**6) == []
    (told,) = warnings("two.hct", 3600 * 10**9)
    assert "rank-000001.hct begins 3600 s after another rank on the same host" in told


def test_a_reader_that_goes_is_no_error(tmp_path: Path) -> None:
    trace = write(tmp_path / "long.hct", [[send(0), receive(0)] * 4000])
    words = f"set -o pipefail; {sys.executable} -m hopcast trace dump {trace} | head -n 1"
    done = subprocess.run(["bash", "-c", words], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "rank 0\n", "")


def test_a_wildcard_of_oneself_stays_oneself(tmp_path: Path) -> None:
    """In a communicator of one rank, source 0 is that rank, whatever its place."""
    own = [
        receive(None, comm=1, request=ACTIVE),
        send(0, comm=1),
        complete(0) | {"matched": [[0, {"source": 0, "tag": 0}]]},
    ]
    scaled = tmp_path / "more.hct"
    scaled.mkdir()
    core.trace_scale(str(write(tmp_path / "own.hct", [own] * 3)), str(scaled), None, [5], None)
    assert core.trace_lint(str(scaled))["findings"] == []


@pytest.mark.parametrize("parent", [0, 2])
def test_a_grid_that_wraps_one_way_is_known(parent: int, tmp_path: Path) -> None:
    """A ring along the second dimension of 3 x 3, made of a copy of the world, or of itself."""
    grid = {"cart": {"sizes": [3, 3], "periodic": [False, True]}}
    copy = [made("dup", 2, members=list(range(9)))]

    def calls(rank: int) -> list[dict]:
        row, column = divmod(rank, 3)
        right, left = (3 * row + (column + step) % 3 for step in (1, 2))
        shift = [receive(left, comm=3, request=ACTIVE), send(right, comm=3), complete(0)]
        return [*copy, made(grid, 3, parent=parent), *shift]

    trace = write(tmp_path / "grid.hct", [calls(rank) for rank in range(9)])
    for number, asked in enumerate((None, [3, 3])):
        scaled = tmp_path / f"more-{number}.hct"
        scaled.mkdir()
        said = core.trace_scale(str(trace), str(scaled), asked, [4, 5], None)
        assert (said["from"], said["to"]) == ([3, 3], [4, 5])
        assert core.trace_lint(str(scaled))["findings"] == []


def test_a_ring_whose_messages_differ_is_refused_for_that(tmp_path: Path) -> None:
    """Ends that meet are the ring's own; with open ones rank 0 and rank 4 would talk over the whole row."""
    ring = [[send((rank + 1) % 5, 100 + rank), receive((rank - 1) % 5)] for rank in range(5)]
    with pytest.raises(InputError) as refused:
        core.trace_scale(str(write(tmp_path / "ring.hct", ring)), str(tmp_path), None, [8], None)
    with_open, with_meeting = str(refused.value).split("; with ends that meet, ")
    assert "with open ends, dimension 0 has 5 ranks" in with_open
    assert "in rank 1, call #2, MPI_Send, has another partner, tag or length" in with_meeting


def test_a_grid_that_contradicts_the_recorded_one_is_refused_for_that(tmp_path: Path) -> None:
    grid = {"cart": {"sizes": [2, 2], "periodic": [True, True]}}
    trace = write(tmp_path / "grid.hct", [[made(grid, 2, members=list(range(4)))]] * 4)
    with pytest.raises(InputError, match="it makes a grid of 2 x 2: --grid says otherwise"):
        core.trace_scale(str(trace), str(tmp_path), [4], [8], None)


def test_a_receive_that_holds_its_rank_is_told_once(tmp_path: Path) -> None:
    """Rank 0 blocks in a receive of what nobody sends, after one under a request that nobody serves."""
    waits = [receive(1, tag=7, request=ACTIVE), receive(1)]
    found = core.trace_lint(str(write(tmp_path / "waits.hct", [waits, []])))["findings"]
    kinds = {one["kind"]: [each["number"] for each in one["first"]] for one in found}
    assert kinds["unmatched receive"] == [2]
    assert kinds["stuck rank"][0] == 3


def test_the_rank_whose_file_is_missing_is_named(tmp_path: Path) -> None:
    trace = write(tmp_path / "five.hct", [[]] * 5)
    (trace / "rank-000003.hct").unlink()
    with pytest.raises(InputError, match="rank 3 of 5 is missing"):
        core.trace_summary(str(trace))


def test_what_is_half_written_goes_when_it_is_interrupted(tmp_path: Path) -> None:
    """The recording is a loop of a million calls in a few bytes, on 200,000 ranks."""
    trace = write(
        tmp_path / "few.hct", [[send((rank + 1) % 3), receive((rank + 2) % 3)] * 2000 for rank in range(3)]
    )
    words = [
        sys.executable,
        "-m",
        "hopcast",
        "trace",
        "scale",
        str(trace),
        "--to",
        "200000",
        "-o",
        "many.hct",
    ]
    with subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        until = time.monotonic() + 30
        while not list(tmp_path.glob(".hopcast-*/many.hct/rank-000001.hct")):
            assert time.monotonic() < until
            time.sleep(0.05)
        process.terminate()
        assert process.wait(30) == 130
    assert [path.name for path in tmp_path.iterdir()] == ["few.hct"]


def jobs(place: Path, text: str) -> Path:
    (place / "jobs.toml").write_text(text)
    return place / "jobs.toml"


def test_a_job_that_misuses_mpi_is_named_with_its_own_rank(tmp_path: Path) -> None:
    write(tmp_path / "bad.hct", [[], [complete(5)]])
    file = jobs(tmp_path, '[[job]]\nrun = "ring"\nranks = 3\n[[job]]\nname = "other"\nrun = "bad.hct"\n')
    with pytest.raises(hopcast.ProgramFailure, match="rank 1 of job 'other' uses MPI wrongly"):
        hopcast.run("crossbar", file)


@pytest.mark.parametrize("name", ["a,b", r"\u001b[31m", ""])
def test_names_of_jobs_can_be_printed_and_listed(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="name is a text without commas and control characters"):
        hopcast.run("crossbar", jobs(tmp_path, f'[[job]]\nname = "{name}"\nrun = "ring"\nranks = 2\n'))
