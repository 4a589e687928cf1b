"""Some of the ranks of a recording (trace slice --ranks)."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from test_replay import seconds
from written_traces import allreduce, complete, made, receive, send, write

from hopcast import core
from hopcast.cli.trace import command
from hopcast.errors import InputError


def sliced(whole: Path, ranks: list[int], outside: str | None = None) -> tuple[Path, dict]:
    """The slice of these ranks, which has nothing wrong, and what was cut."""
    from hopcast.record.files import sliced

    out = whole.with_name("part.hct")
    spans = [(rank, rank) for rank in ranks]
    written, _ = sliced(str(whole), str(out), False, None, None, None, spans, outside)
    found = core.trace_lint(str(out))
    assert (found["ranks"], found["findings"]) == (len(ranks), [])
    return out, written["cut"]


def collective(kind: str, root: int, sizes: dict, **more) -> dict:
    call = {"call": f"MPI_{kind.capitalize()}", "did": "collective", "kind": kind, "comm": 0, "root": root}
    return call | {"sizes": sizes, "element": 1, "commutative": True} | more


def test_collectives_and_communicators_keep_their_members(tmp_path: Path) -> None:
    """Ranks 1 and 3 of four: 1 ms of computing, 1 ms for a message between them, 2 ms for rank 1's block."""

    def calls(rank: int) -> list[dict]:
        split = made({"split": {"colour": rank % 2, "key": 0}}, 2, members=[rank % 2, rank % 2 + 2])
        message = send(1, 1000, comm=2, gap_us=1000) if rank < 2 else receive(0, comm=2, length_us=1000)
        gathers = collective("gatherv", 3, {"by_rank": [1000, 2000, 3000, 4000]})
        return [allreduce(), split, message, gathers]

    whole = write(tmp_path / "whole.hct", [calls(rank) for rank in range(4)])
    part, cut = sliced(whole, [3, 1])
    assert (cut["outside"], cut["restricted"]) == (0, 2)
    assert seconds(part) == pytest.approx(4e-3, rel=0.05)


def test_a_row_of_a_grid_is_a_communicator_still(tmp_path: Path) -> None:
    """The lower row of a grid of 2 x 2 has a message of 1 ms."""
    row = made({"cart_sub": {"keep": [False, True]}}, 3, parent=2)
    message = [send(1, 1000, comm=3), receive(0, comm=3)]
    calls = [
        [made({"cart": {"sizes": [2, 2], "periodic": [True, True]}}, 2), row, message[rank % 2]]
        for rank in range(4)
    ]
    part, cut = sliced(write(tmp_path / "whole.hct", calls), [2, 3])
    assert sum(cut.values()) == 0
    assert seconds(part) == pytest.approx(1e-3, rel=0.05)


@pytest.fixture
def exchange(tmp_path: Path) -> Path:
    """Rank 1 hears from rank 0; from rank 2 in a call of 3 ms, and in a wait of 2 ms; and answers 1 kB."""
    waits = [receive(2, request={"active": 0}), complete(0) | {"length_us": 2000}]
    busy = [receive(0), receive(2, length_us=3000), *waits, send(0, 1000)]
    return write(tmp_path / "whole.hct", [[send(1), receive(1, length_us=6000)], busy, [send(1), send(1)]])


def test_a_message_that_leaves_the_ranks_is_refused_or_keeps_its_time(exchange: Path) -> None:
    said = r"call #3 MPI_Recv of rank 1 receives from rank 2, which is not kept; --outside drop leaves out"
    with pytest.raises(InputError, match=said):
        sliced(exchange, [0, 1])
    part, cut = sliced(exchange, [0, 1], "drop")
    assert cut["outside"] == 2
    assert seconds(part) == pytest.approx(3e-3 + 2e-3 + 1e-3, rel=0.05)


def test_a_root_or_a_neighbour_is_needed(tmp_path: Path) -> None:
    bcast = collective("bcast", 2, {"equal": 1000}, length_us=1000)
    whole = write(tmp_path / "bcast.hct", [[bcast]] * 3)
    with pytest.raises(InputError, match=r"call #2 MPI_Bcast of rank 0 needs rank 2, which is not kept"):
        sliced(whole, [0, 1])
    part, cut = sliced(whole, [0, 1], "drop")
    assert cut["outside"] == 1
    assert seconds(part) == pytest.approx(1e-3, rel=0.05)


def test_what_no_slice_of_ranks_can_have_is_refused(exchange: Path) -> None:
    with pytest.raises(InputError, match="rank 9 is not there: it has 3 ranks"):
        sliced(exchange, [0, 9])
    # Before a list of them is made, which would take gigabytes.
    run = CliRunner().invoke(command, ["slice", str(exchange), "--ranks", "0-999999999", "-o", "part.hct"])
    assert isinstance(run.exception, InputError), run.output
    assert "rank 999999999 is not there: it has 3 ranks" in str(run.exception)
    from hopcast.record.files import sliced as written

    for part, said in (
        ((None, "drop"), "--outside: is for --ranks"),
        (([(0, 0)], "keep"), "unknown: 'keep'; known: refuse, drop"),
    ):
        with pytest.raises(InputError, match=said):
            written(str(exchange), str(exchange.with_name("part.hct")), False, "0 s", None, None, *part)
