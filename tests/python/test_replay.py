"""What decides how a recording is replayed: --ignore, --rematch and --check-clocks."""

from __future__ import annotations

from pathlib import Path

import pytest
from recordings import receive, send, write

import hopcast
from hopcast.errors import InputError

NETWORK = """
name = "slow"
[topology]
kind = "crossbar"
hosts = 4
[host]
processes = 1
[host.memory]
latency = "0 s"
bandwidth = "1 TB/s"
[nic]
bandwidth = "1 MB/s"
latency = "0 s"
[mpi]
eager_limit = "1 TiB"
[compute]
flop_rate = "1 Gflop/s"
"""
"""1 µs for each byte, and nothing else."""

NOTHING = {"call": "MPI_Comm_rank", "did": "overhead"}


def seconds(folder: Path, **how) -> float:
    (folder.parent / "slow.toml").write_text(NETWORK)
    return hopcast.run(folder.parent / "slow.toml", folder, model="flow", **how).makespan_s


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


def test_what_cannot_be_ignored_is_refused(question: Path) -> None:
    with pytest.raises(InputError, match="'compute time' cannot be ignored; known: dependencies, compute"):
        seconds(question, ignore="compute time")
    with pytest.raises(InputError, match=r"--ignore: is for --mode dependencies, and .* in mode timestamps"):
        seconds(question, mode="timestamps", ignore="compute")


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
    assert seconds(trace, rematch=True) == pytest.approx(10e-3, rel=0.01)


ANOTHER_ORDER = (
    "call #2 MPI_Recv of rank 0, with logical clock 3, received what rank 2 of its communicator sent with "
    "logical clock 7: the recorded run was in another order"
)


def test_a_replay_is_held_to_the_logical_clocks(tmp_path: Path) -> None:
    def warnings(trace: Path, **how) -> list[str]:
        (tmp_path / "slow.toml").write_text(NETWORK)
        report = hopcast.run(tmp_path / "slow.toml", trace, model="flow", check_clocks=True, **how)
        return report.summary["warnings"]

    whole = wildcards(tmp_path / "whole.hct", (1, 2))
    assert ANOTHER_ORDER not in warnings(whole)
    assert ANOTHER_ORDER in warnings(whole, rematch=True)
    # A damaged recording, which does not say what came: the replay takes what comes.
    assert ANOTHER_ORDER in warnings(wildcards(tmp_path / "damaged.hct", (None, None)))
    with pytest.raises(InputError, match="--check-clocks: a replay without dependencies has no order"):
        warnings(whole, mode="none")


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
