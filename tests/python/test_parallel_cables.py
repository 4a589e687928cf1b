"""Parallel cables between two switches: as many pairs of hosts as cables do not meet."""

from __future__ import annotations

from pathlib import Path

import pytest

import hopcast

CABLES = 4
SIZE = 4_000_000
GRAPH = """host a0 a1 a2 a3 b0 b1 b2 b3
a0 left
a1 left
a2 left
a3 left
b0 right
b1 right
b2 right
b3 right
left right 10 GB/s x4
"""
PLATFORM = """name = "two switches"
source = "a test"
[topology]
kind = "graph"
file = "two.edges"
[link]
latency = "100 ns"
[host]
processes = 1
[host.memory]
latency = "200 ns"
bandwidth = "8 GB/s"
[nic]
bandwidth = "10 GB/s"
latency = "500 ns"
[mpi]
library = "openmpi"
eager_limit = "1 GB"
[compute]
flop_rate = "1 Gflop/s"
"""


@pytest.fixture(name="platform")
def a_platform(tmp_path: Path) -> str:
    """Four hosts on each of two switches, whose cables are as wide as a NIC."""
    (tmp_path / "two.edges").write_text(GRAPH)
    (tmp_path / "two.toml").write_text(PLATFORM)
    return str(tmp_path / "two.toml")


def seconds(platform: str, model: str, pairs: int, **values: str) -> float:
    """Time until the last of so many messages from the left switch to the right one has come."""

    def program(comm):
        if comm.rank < pairs:
            comm.send(nbytes=SIZE, dest=comm.rank + CABLES)
        elif CABLES <= comm.rank < CABLES + pairs:
            comm.recv(source=comm.rank - CABLES)

    return hopcast.run(platform, program, 2 * CABLES, model=model, set=values).makespan_s


@pytest.mark.parametrize("model", ["flow", "packet"])
def test_four_pairs_on_four_cables_take_as_long_as_one(platform: str, model: str):
    alone = seconds(platform, model, 1)
    assert alone == pytest.approx(SIZE / 10e9, rel=0.01)
    assert seconds(platform, model, CABLES) == pytest.approx(alone, rel=1e-9)


@pytest.mark.parametrize("model", ["flow", "packet"])
def test_on_the_first_cable_alone_they_take_four_times_as_long(platform: str, model: str):
    first = {"routing.kind": "shortest-path", "routing.equals": "first"}
    assert seconds(platform, model, CABLES, **first) == pytest.approx(CABLES * SIZE / 10e9, rel=0.01)
