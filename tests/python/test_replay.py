"""Replays of recordings (--ignore, --rematch, --check-clocks), and of parts of them (trace slice)."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest
from written_traces import NOTHING, allreduce, complete, made, receive, send, slow_network, write

import hopcast
from hopcast import core
from hopcast.errors import InputError


def seconds(folder: Path, **how) -> float:
    return hopcast.run(slow_network(folder.parent), folder, model="flow", **how).makespan_s


@pytest.fixture
def question(tmp_path: Path) -> Path:
    """Rank 0 computes for 1 ms and asks; rank 1 computes for 0.5 ms and answers: 1 ms for each message."""
    asks = [send(1, 1000, gap_us=1000), receive(1)]
    answers = [receive(0), send(0, 1000, gap_us=500)]
    return write(tmp_path / "question.hct", [asks, answers])


@pytest.mark.parametrize(
    "how, expected_s",
    [
        ({}, 1e-3 + 1e-3 + 0.5e-3 + 1e-3),
        ({"ignore": "compute"}, 2e-3),
        # The answer is under way from 0.5 ms to 1.5 ms, the question from 1 ms to 2 ms.
        ({"ignore": "dependencies"}, 2e-3),
        ({"ignore": "dependencies,compute"}, 1e-3),
        ({"mode": "none"}, 1e-3),
        ({"ignore": "dependencies", "compute_scale": 2.0}, 3e-3),
    ],
)
def test_what_is_ignored_costs_nothing(question: Path, how: dict, expected_s: float) -> None:
    assert seconds(question, **how) == pytest.approx(expected_s, rel=0.01)


@pytest.mark.parametrize(
    "how, expected_s",
    [({}, 8.5e-3), ({"ignore": "compute"}, 2e-3), ({"ignore": "dependencies,compute"}, 1e-3)],
)
def test_without_computing_what_is_not_simulated_takes_no_time(
    how: dict, expected_s: float, tmp_path: Path
) -> None:
    """The question and its answer, of which rank 0 writes a file for 5 ms before it asks."""
    file = {"call": "MPI_File_write", "did": "overhead", "length_us": 5000}
    asks = [file, send(1, 1000, gap_us=1000), receive(1)]
    answers = [receive(0), send(0, 1000, gap_us=500)]
    recording = write(tmp_path / "writes.hct", [asks, answers])
    assert seconds(recording, **how) == pytest.approx(expected_s, rel=0.01)


def test_what_cannot_be_ignored_is_refused(question: Path) -> None:
    with pytest.raises(InputError, match="'compute time' cannot be ignored; known: dependencies, compute"):
        seconds(question, ignore="compute time")
    with pytest.raises(InputError, match=r"--ignore: is for --mode dependencies, and .* in mode timestamps"):
        seconds(question, mode="timestamps", ignore="compute")


SIMGRID = """0 init
1 init
0 compute 1e6
0 sleep 0.002
0 send 1 0 1000 6
1 recv 0 0 1000 6
1 compute 2e6
0 finalize
1 finalize
"""


@pytest.mark.parametrize("how", [{}, {"ignore": "dependencies"}])
@pytest.mark.parametrize("scale", [0, 0.5, 2])
def test_a_scale_is_for_operations_and_sleep_too(scale: float, how: dict, tmp_path: Path) -> None:
    """At 1 Gflop/s, 1 ms of computing and 2 ms of sleep, a message of 1 ms, then 2 ms of computing.

    Without dependencies the second computing, which is shorter than the first, does not wait for the message.
    """
    (tmp_path / "computes.ti").write_text(SIMGRID)
    second = 0 if how else 2e-3
    expected_s = scale * 3e-3 + 1e-3 + scale * second
    assert seconds(tmp_path / "computes.ti", compute_scale=scale, **how) == pytest.approx(
        expected_s, rel=0.01
    )


@pytest.mark.parametrize(
    "how, complaint",
    [
        ({"mode": "timestamps"}, "--compute-scale: is for --mode dependencies"),
        ({"mode": "timestamps", "time_shift": True}, "--compute-scale: is for --mode dependencies"),
        ({"mode": "none"}, "--compute-scale: this replay computes nothing"),
        ({"ignore": "compute"}, "--compute-scale: this replay computes nothing"),
        ({"compute_scale": float("nan")}, 'compute_scale: a finite number of at least 0, not "nan"'),
    ],
)
def test_a_scale_of_nothing_is_refused(question: Path, how: dict, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        seconds(question, **({"compute_scale": 3.0} | how))


ALLPROF = """# collprof 0.9 output file
# host: one
# Init clockdiff: 0.000000

MPI_Init:-:1:2:100.0
{}
# Finalize clockdiff: 0.000000
MPI_Finalize:9000.0:-
"""


@pytest.mark.parametrize("how", [{}, {"mode": "timestamps"}, {"ignore": "dependencies"}])
def test_a_clock_that_runs_backwards_is_said_once(how: dict, tmp_path: Path) -> None:
    """Both ranks send at 1000 µs to 4000 µs, and receive at 2000 µs, on clocks that were set back."""
    folder = tmp_path / "back"
    folder.mkdir()
    for rank in (0, 1):
        calls = [
            f"MPI_Isend:1000.0:9:500:11,8,8:{1 - rank}:7:0,{rank},2:64:4000.0",
            f"MPI_Recv:2000.0:9:500:11,8,8:{1 - rank}:7:0,{rank},2:10:5000.0",
            "MPI_Wait:8000.0:64:10:8001.0",
        ]
        (folder / f"pmpi-trace-rank-{rank}.txt").write_text(ALLPROF.format("\n".join(calls)))
    slow_network(tmp_path)
    for threads in (1, 2):
        report = hopcast.run(tmp_path / "slow.toml", folder, model="flow", threads=threads, **how)
        said = [text for text in report.summary["warnings"] if "runs backwards" in text]
        assert len(said) == 1
        place = "MPI_Recv of rank 0, at 0.001900000 s of the trace, begins 2 ms before the end of MPI_Isend"
        assert said[0].startswith(place)
    found = {one["kind"]: one for one in core.trace_lint(str(folder))["findings"]}
    assert found["clock running backwards"]["count"] == 2
    assert [(one["rank"], one["call"]) for one in found["clock running backwards"]["first"]] == [
        (0, "MPI_Recv"),
        (1, "MPI_Recv"),
    ]


def test_recorded_times_take_the_first_message_too(tmp_path: Path) -> None:
    """At recorded times, too: that of rank 2 is there first, which the recorded run did not receive first."""
    trace = wildcards(tmp_path / "any.hct", (1, 2))
    slow_network(tmp_path)
    run = functools.partial(hopcast.run, tmp_path / "slow.toml", trace, model="flow", mode="timestamps")
    assert ANOTHER_ORDER in run(rematch=True).summary["warnings"]
    assert ANOTHER_ORDER not in run().summary["warnings"]


def wildcards(place: Path, came: tuple[int | None, int | None]) -> Path:
    """Rank 0 receives from anyone, computes for 10 ms, and receives from anyone again.

    Rank 1 sends 4 kB, which takes 4 ms here, rank 2 a few bytes, after calls that others know nothing of.
    """
    first, second = (receive(None, source) for source in came)
    return write(
        place, [[first, second | {"gap_us": 10_000}], [send(0, 4000)], [*[NOTHING] * 5, send(0, 8)], []]
    )


def test_a_wildcard_takes_the_recorded_message_or_the_first(tmp_path: Path) -> None:
    trace = wildcards(tmp_path / "any.hct", (1, 2))
    assert seconds(trace) == pytest.approx(14e-3, rel=0.01)
    # The short message comes behind the first of two packets of the other one, 2,048 B at 1 MB/s.
    assert seconds(trace, rematch=True) == pytest.approx(10e-3 + (2048 + 8) / 1e6, rel=0.01)


ANOTHER_ORDER = (
    "call #2 MPI_Recv of rank 0, with logical clock 3, received what rank 2 of its communicator sent with "
    "logical clock 7: the recorded run was in another order"
)


def test_a_replay_is_held_to_the_logical_clocks(tmp_path: Path) -> None:
    def warnings(trace: Path, **how) -> list[str]:
        slow_network(tmp_path)
        report = hopcast.run(tmp_path / "slow.toml", trace, model="flow", **how)
        return report.summary["warnings"]

    whole = wildcards(tmp_path / "whole.hct", (1, 2))
    assert ANOTHER_ORDER not in warnings(whole)
    assert ANOTHER_ORDER in warnings(whole, rematch=True)
    assert ANOTHER_ORDER not in warnings(whole, rematch=True, check_clocks=False)
    # A damaged recording, which does not say what came: the replay takes what comes.
    assert ANOTHER_ORDER in warnings(wildcards(tmp_path / "damaged.hct", (None, None)))
    with pytest.raises(InputError, match="--check-clocks: a replay without dependencies has no order"):
        warnings(whole, mode="none", check_clocks=True)
    assert ANOTHER_ORDER not in warnings(whole, mode="none")


def test_what_was_cancelled_is_not_waited_for(tmp_path: Path) -> None:
    """A cancelled receive takes no message of another one, and nobody waits for it."""
    request = {"active": 0}
    cancelled = [
        receive(1, request=request),
        {"call": "MPI_Cancel", "did": "cancel", "request": 0},
        {"call": "MPI_Wait", "did": "complete", "requests": [0]},
    ]
    trace = write(tmp_path / "cancelled.hct", [[*cancelled, receive(1)], [send(0, 1000)]])
    assert seconds(trace, ignore="dependencies,compute") == pytest.approx(1e-3, rel=0.01)


def loop(rank: int, rounds: int) -> list[dict]:
    """A ring of three that passes on what came a round ago, with an allreduce at the end of each round.

    The receive of a round is begun before the allreduce of the round before.
    """
    calls = [receive((rank - 1) % 3, request={"active": 0})]
    for _ in range(rounds):
        calls += [
            send((rank + 1) % 3, 1000, request={"active": 1}, gap_us=1000),
            {"call": "MPI_Waitall", "did": "complete", "requests": [0, 1]},
            receive((rank - 1) % 3, request={"active": 0}),
            allreduce(),
        ]
    return [*calls, send((rank + 1) % 3), complete(0)]


@pytest.mark.parametrize(
    "window, calls, cut, expected_s",
    [
        # The third round's messages go to receives of the second, the fourth's receive is for the fifth. So
        # the third only computes. The wait for what the fourth has begun is one more call, as is MPI_Init.
        ({"meetings": (2, 4)}, 10, (3, 3, 0), 3e-3),
        ({"start": "2.5ms", "end": "4.5ms"}, 10, (3, 3, 0), 2.5e-3),
        ({"end": "1.5 ms"}, 7, (0, 3, 0), 2e-3),
    ],
)
def test_a_slice_replays_by_itself(window, calls: int, cut: tuple, expected_s: float, tmp_path: Path) -> None:
    """A round computes for 1 ms, and its messages take 1 ms."""
    from hopcast.record.files import sliced

    whole = write(tmp_path / "loop.hct", [loop(rank, 6) for rank in range(3)])
    out = tmp_path / "part.hct"
    asked = {"start": None, "end": None, "meetings": None} | window
    written, _ = sliced(str(whole), str(out), False, **asked)
    assert tuple(written["cut"][what] for what in ("sends", "receives", "collectives")) == cut
    assert written["calls"] == 3 * calls
    assert core.trace_lint(str(out))["findings"] == []
    assert seconds(out) == pytest.approx(expected_s, rel=0.05)


def test_a_slice_drops_what_only_some_ranks_do_in_it(tmp_path: Path) -> None:
    """Rank 1 comes to the first allreduce, and to a split, when the window is over."""
    from hopcast.record.files import sliced

    split = made({"split": {"colour": 0, "key": 0}}, 2, members=[0, 1])
    early = [allreduce(), split, allreduce(gap_us=2000, comm=2), send(1, gap_us=1)]
    late = [allreduce(gap_us=1500), split, allreduce(gap_us=500, comm=2), receive(0)]
    whole = write(tmp_path / "whole.hct", [early, late])
    out = tmp_path / "part.hct"
    written, _ = sliced(str(whole), str(out), False, None, "1ms", None)
    # The first allreduce is cut; the split is made by both, as rank 0 has it in the window.
    assert {what: count for what, count in written["cut"].items() if count} == {"collectives": 1}
    assert written["calls"] == (1 + 1 + 1) + (1 + 1)
    assert core.trace_lint(str(out))["findings"] == []
    assert seconds(out) < 1e-3


def test_what_no_slice_can_have_is_refused(tmp_path: Path) -> None:
    from hopcast.record.files import sliced

    whole = str(write(tmp_path / "loop.hct", [loop(rank, 6) for rank in range(3)]))
    for (start, end, meetings), said in (
        (
            (None, None, (2, 9)),
            "there is no meeting 9: it has 6 calls in which all ranks wait for each other",
        ),
        ((None, None, None), "which part[?] None of these is given"),
        (("2 ms", "1 ms", None), "the part ends before it begins"),
        (("2 h", None, None), "no call begins in this window"),
        (("1 ms", None, (1, 2)), "and so do --from and --to"),
    ):
        with pytest.raises(InputError, match=said):
            sliced(whole, str(tmp_path / "part.hct"), False, start, end, meetings)
