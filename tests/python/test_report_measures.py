"""Counts and means of a report: latencies and percentiles, links, memory, algorithms of collectives."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest

import hopcast
from hopcast.report import html
from hopcast.report.pictures.histogram import Histogram

MACHINE = """
name = "plain"
topology = {{ {topology} }}
link = {{ bandwidth = "1 GB/s", latency = "1 us" }}
host = {{ processes = 8, memory = {{ latency = "0 ns", bandwidth = "10 GB/s" }} }}
nic = {{ bandwidth = "1 GB/s", latency = "1 us" }}
placement = {{ processes_per_host = 1 }}
compute = {{ flop_rate = "1 Gflop/s" }}
"""


@pytest.fixture
def machine(tmp_path: Path):
    """Writes a platform without software overheads, and gives its path."""

    def write(topology: str) -> Path:
        file = tmp_path / "plain.toml"
        file.write_text(MACHINE.format(topology=topology))
        return file

    return write


def uneven(comm) -> None:
    """Messages of 1 B to 1 MiB, each to a receiver that comes late."""
    for power in range(21):
        if comm.rank % 2 == 0:
            comm.send(b"x" * 2**power, dest=comm.rank + 1)
        else:
            comm.compute(power * 1e-6)
            comm.recv(source=comm.rank - 1)


def _rows(table, *names: str) -> list[tuple]:
    return list(zip(*(table[name].to_pylist() for name in names), strict=True))


def test_no_percentile_exceeds_the_longest(machine) -> None:
    report = hopcast.run(machine('kind = "crossbar", hosts = 4'), uneven, ranks=4)
    assert report.calls
    for call in report.calls:
        bins = [
            row
            for name, *row in _rows(report.table("call_durations"), "call", "low_s", "high_s", "count")
            if name == call["call"]
        ]
        histogram = Histogram.of(bins)
        assert histogram.total == call["count"]
        if histogram.bins:
            assert histogram.quantile(1.0) == call["max_s"]
            assert histogram.quantile(0.99) <= call["max_s"]
    latency = report.message_latency
    bins = _rows(report.table("message_latency"), "low_s", "high_s", "count")
    assert Histogram.of(bins).quantile(1.0) == latency["max_s"]
    assert latency["messages"] == sum(count for *_, count in bins) == report.messages
    shares = [latency[name] for name in ("p50_s", "p90_s", "p99_s", "max_s")]
    assert shares == sorted(shares)


def test_message_latency_is_from_the_call_to_the_buffer(machine) -> None:
    """A message of 8 B is sent at once and received when its receiver has computed 1 ms: it takes 1 ms,
    though it was in the network for some 3 µs, as the statistics of the packet model say.
    """

    def late(comm) -> None:
        if comm.rank == 0:
            comm.Send(numpy.zeros(1), dest=1)
        else:
            comm.compute(1e-3)
            comm.Recv(numpy.zeros(1), source=0)

    plain = machine('kind = "crossbar", hosts = 2')
    report = hopcast.run(plain, late, ranks=2, model="packet", statistics="classes")
    assert report.message_latency["max_s"] == pytest.approx(1e-3, rel=1e-9)
    assert report.message_latency["mean_s"] == report.message_latency["max_s"]
    assert report.statistics["latency_max_s"] < 1e-5
    assert "half within 1.00 ms" in report._repr_html_()


def test_means_are_over_the_links_that_were_used(machine) -> None:
    """Two of 64 hosts talk: two links up to routers are used, and what these carry is not spread over 64."""
    torus = machine('kind = "torus", sizes = [8, 8]')
    report = hopcast.run(torus, "pingpong", ranks=2, model="packet", statistics="classes")
    table = report.table("class_periods").to_pylist()
    rows = [row for row in table if row["class"] == "host up"]
    assert {(row["links"], row["links_used"]) for row in rows} == {(64, 2)}
    for row in rows:
        span = row["end_s"] - row["begin_s"]
        assert row["throughput_Bps"] == pytest.approx(row["bytes"] / span / 2)
        assert row["efficiency"] == pytest.approx(row["payload_bytes"] / span / 2e9)
    links = report.table("links").to_pylist()
    used = {row["class"]: row["links_used"] for row in table}
    assert used == {name: sum(link["class"] == name for link in links) for name in used}


def test_parallel_links_are_numbered(machine) -> None:
    """A ring of four routers, each with two links to both neighbours, over which packets are spread."""
    ring = machine('kind = "torus", sizes = [4], lanes = 2')
    report = hopcast.run(ring, "alltoall", ranks=4, model="packet", kwargs={"bytes": "64KiB"})
    rows = report.table("links").to_pylist()
    of_pair = {}
    for row in rows:
        of_pair.setdefault((row["from"], row["to"]), set()).add((row["parallel"], row["parallel_of"]))
    assert of_pair.pop(("(0)", "(1)")) == {(1, 2), (2, 2)}
    assert {frozenset(places) for pair, places in of_pair.items() if "host 0" in pair} == {
        frozenset({(1, 1)})
    }
    numbers = {row["link"]: (row["parallel"], row["parallel_of"]) for row in rows}
    for link in report.busiest_links:
        assert numbers[link["link"]] == (link["parallel"], link["parallel_of"])


def test_traffic_within_a_node_is_counted(machine) -> None:
    """An all-to-all of 4 ranks on a host: 12 messages of 1,000 B, and no link."""
    plain = machine('kind = "crossbar", hosts = 4')
    report = hopcast.run(plain, "alltoall", ranks=4, ppn=4, kwargs={"bytes": "1000B"})
    assert report.busiest_links == []
    assert report.node_memory == {
        "hosts": 1,
        "messages": 12,
        "bytes": 12_000,
        "messages_share": 1.0,
        "bytes_share": 1.0,
        "busiest": [{"host": 0, "messages": 12, "bytes": 12_000}],
    }
    # On two hosts each rank has one neighbour in memory.
    report = hopcast.run(plain, "alltoall", ranks=4, ppn=2, kwargs={"bytes": "1000B"}, threads=2)
    assert (report.node_memory["hosts"], report.node_memory["messages"]) == (2, 4)
    assert report.node_memory["messages_share"] == report.node_memory["bytes_share"] == 4 / 12
    assert _rows(report.table("node_memory"), "host", "messages", "bytes") == [(0, 2, 2000), (1, 2, 2000)]


def test_traffic_within_a_node_is_counted_by_level(machine) -> None:
    """An all-to-all of 4 ranks on a host: each has one partner with a cache in common, and two others."""
    plain = machine('kind = "crossbar", hosts = 4')
    levels = '[{ name = "cache", processes = 2, latency = "10 ns", bandwidth = "20 GB/s" }]'
    settings = {"host.processes": 4, "host.levels": levels}
    report = hopcast.run(plain, "alltoall", ranks=4, ppn=4, set=settings, kwargs={"bytes": "1000B"})
    assert report.node_memory["levels"] == [
        {"level": "cache", "messages": 4, "bytes": 4_000},
        {"level": "host", "messages": 8, "bytes": 8_000},
    ]
    rows = _rows(report.table("memory_levels"), "host", "level", "group", "messages", "bytes")
    assert rows == [(0, "host", 0, 8, 8000), (0, "cache", 0, 2, 2000), (0, "cache", 1, 2, 2000)]
    said = dict(html.facts(report.summary))
    assert said["By level of a host"].startswith("cache 4 messages, ")


def reduce_often(comm) -> None:
    """Five reductions of 8 B, two of 1 MiB, and one of half of the ranks."""
    for size in (1, 1, 1, 1, 1, 2**17, 2**17):
        comm.Allreduce(numpy.zeros(size), numpy.zeros(size))
    half = comm.Split(comm.rank % 2)
    half.Allreduce(numpy.zeros(1), numpy.zeros(1))


def test_algorithms_of_collectives_are_reported(machine) -> None:
    plain = machine('kind = "crossbar", hosts = 8')
    report = hopcast.run(plain, reduce_often, ranks=8, set={"mpi.collectives.allreduce": "ring"})
    shown = [use for use in report.collectives if use["collective"] == "allreduce"]
    assert [
        (use["algorithm"], use["members"], use["least_bytes"], use["most_bytes"], use["count"])
        for use in shown
        if use["members"] == 4 or use["least_bytes"] == 2**20
    ] == [(shown[0]["algorithm"], 4, 8, 8, 2), ("ring", 8, 2**20, 2**20, 2)]
    small = next(use for use in shown if use["members"] == 8 and use["least_bytes"] == 8)
    assert small["count"] == 5


def test_algorithms_do_not_depend_on_threads(machine) -> None:
    plain = machine('kind = "crossbar", hosts = 8')
    one, four = (hopcast.run(plain, "allreduce", ranks=8, threads=threads) for threads in (1, 4))
    assert one.collectives
    assert one.collectives == four.collectives
    assert one.table("collectives").equals(four.table("collectives"))
