"""The timeline: slices with bytes and partners, and arrows whose ends pair up and lie in slices."""

from __future__ import annotations

import json
from pathlib import Path

import numpy

import hopcast


def exchange(comm) -> None:
    """To the right without waiting, then a broadcast; rank 0 computes first."""
    if comm.rank == 0:
        comm.compute(1e-3)
    request = comm.isend(b"x" * 1000, dest=(comm.rank + 1) % comm.size)
    comm.recv(source=(comm.rank - 1) % comm.size)
    request.wait()
    comm.Bcast(numpy.zeros(10, "u1"), root=0)


def _events(folder: Path, records: int = 1000) -> list[dict]:
    hopcast.run("crossbar", exchange, ranks=4, records=records, out=folder)
    return json.loads((folder / "timeline.json").read_text())["traceEvents"]


def _by_id(events: list[dict], phase: str) -> dict[int, dict]:
    found = [event for event in events if event["ph"] == phase]
    assert len({event["id"] for event in found}) == len(found)
    return {event["id"]: event for event in found}


def _slices_at(events: list[dict], arrow: dict) -> list[dict]:
    """Slices of the arrow's track in which it begins or ends; times are written in picoseconds."""
    return [
        event
        for event in events
        if event["ph"] == "X"
        and event["tid"] == arrow["tid"]
        and event["ts"] - 1e-6 <= arrow["ts"] <= event["ts"] + event["dur"] + 1e-6
    ]


def test_every_arrow_has_two_ends_in_slices(tmp_path: Path) -> None:
    events = _events(tmp_path / "report")
    begins, ends = _by_id(events, "s"), _by_id(events, "f")
    # Four messages to the right; a broadcast to four ranks by any tree is three more.
    assert begins.keys() == ends.keys()
    assert len(begins) == 4 + 3
    for number, begin in begins.items():
        end = ends[number]
        assert begin["ts"] <= end["ts"]
        assert begin["tid"] != end["tid"]
        assert _slices_at(events, begin)
        assert _slices_at(events, end)
        assert begin["name"] == end["name"]


def test_slices_name_bytes_and_partners(tmp_path: Path) -> None:
    events = _events(tmp_path / "report")
    sends = [event for event in events if event["ph"] == "X" and event["name"] == "MPI_Isend"]
    assert [(event["tid"], event["args"]["to"]) for event in sends] == [
        (rank, f"rank {(rank + 1) % 4}") for rank in range(4)
    ]
    sizes = {event["args"]["bytes"] for event in sends}
    assert sizes == {event["args"]["bytes sent"] for event in sends}
    received = [event for event in events if event["ph"] == "X" and "from" in event.get("args", {})]
    ring = {(event["tid"], event["args"]["from"]) for event in received if event["name"] == "MPI_Recv"}
    assert ring == {(rank, f"rank {(rank - 1) % 4}") for rank in range(4)}


def test_arrows_end_with_the_calls_that_are_kept(tmp_path: Path) -> None:
    events = _events(tmp_path / "report", records=6)
    slices = [event for event in events if event["ph"] == "X"]
    assert len(slices) == 6
    assert _by_id(events, "s").keys() == _by_id(events, "f").keys()
