"""A made-up result of any size: what the report's tests and pictures are tried on.

Its numbers mean nothing, but they fit together: totals are the sums of their parts.
"""

from __future__ import annotations

import numpy
import pyarrow

from hopcast.report import Result

CALLS = ("MPI_Waitall", "MPI_Allreduce", "MPI_Isend", "MPI_Irecv", "MPI_Barrier")


_FAULTS = {
    "kind": ["link", "router", "link", "link"],
    "name": ["(0) <-> (1)", "(2)", "(0) <-> (1)", "(2) -> (1)"],
    "failed_s": [0.0, 1e-6, 2e-6, 3e-6],
    "until_s": [1e-6, 1e3, 1e3, 4e-6],
    "returned": [1, 0, 0, 1],
    "planned": [1, 0, 0, 0],
}


_FAILED = {
    "links_failed": 3,
    "routers_failed": 1,
    "packets_lost": 12,
    "packets_resent": 12,
    "packets_rerouted": 1_234,
    "messages_rerouted": 56,
    "waits": 1,
    "outages": [
        {"kind": "link", "name": "(0) <-> (1)", "failed_s": 0.0, "returned_s": 1e-6, "planned": True},
        {"kind": "router", "name": "(2)", "failed_s": 1e-6, "returned_s": None, "planned": False},
    ],
}


_ENERGY = {
    "energy_J": 610.0,
    "mean_power_W": 305.0,
    "energy": {
        "hosts_idle_J": 400.0,
        "computing_J": 150.0,
        "communication_J": 50.0,
        "routers_J": None,
        "links_J": None,
        "bytes_moved_J": 10.0,
    },
}


WAITING = {"late_sender": 0.5, "late_receiver": 0.1, "no_progress": 0.1, "imbalance": 0.3}
"""Shares of the time that ranks wait, by cause."""

TRANSFER = {"contention": 0.3, "bandwidth": 0.4, "latency": 0.1, "software": 0.15, "storage": 0.05}
"""Shares of the time that ranks transfer, by cause."""


def result(
    ranks: int, *, seed: int = 7, failure: dict | None = None, warnings: tuple[str, ...] = ()
) -> Result:
    """A halo exchange on a ring of `ranks`."""
    draw = numpy.random.default_rng(seed)
    per_rank = _ranks(draw, ranks)
    calls = _calls(draw, ranks)
    links = _links(draw, min(ranks, 64))
    tables = {
        "ranks": pyarrow.table(per_rank),
        "calls": _call_table(calls, ranks),
        "call_durations": _durations(draw),
        "links": pyarrow.table(links),
        "links_over_time": _over_time(draw, links),
        "matrix": _matrix(ranks),
        "message_latency": _latency(draw),
        "messages": _each_message(draw, ranks),
        "matrix_periods": _matrix_periods(ranks),
        "call_records": _records(min(ranks, 16)),
        "message_records": _messages(min(ranks, 16)),
        **_statistics(draw, links),
    }
    messages = int(per_rank["messages_sent"].sum())
    summary = {
        "makespan_s": float(per_rank["finish_s"].max()),
        "outcome_hash": f"{seed * 1_000_003 + ranks:016x}",
        "model": "flow",
        "platform": "fat-tree",
        "workload": "halo1d",
        "ranks": ranks,
        "ranks_finished": ranks,
        "hosts": 2 * max(1, ranks // 16),
        "hosts_used": max(1, ranks // 16),
        "messages": messages,
        "bytes": int(per_rank["bytes_sent"].sum()),
        "packet_hops": 0,
        "packets_lost": 0,
        "packets_resent": 0,
        "packets_duplicate": 0,
        "events": 3 * messages,
        "wall_s": 0.25,
        "setup_s": 0.02,
        "peak_rss_B": 123_456_789,
        "threads": 1,
        "processes": 1,
        "warnings": list(warnings),
        "hopcast_version": "0.1.0",
        "seed": seed,
        "placement": "linear",
        "time": {name: float(per_rank[name].sum()) for name in ("compute_s", "transfer_s", "waiting_s")},
        **_causes(per_rank),
        "busiest_links": _busiest(links, float(per_rank["finish_s"].max())),
        "calls": calls,
        **_measures(ranks, messages),
        "made_by": made_by(),
        "statistics": _short_of_statistics(links),
        "kept_messages": {"messages": 2_000, "kept": 500, "share": 0.25},
        "faults": _FAILED,
        **_ENERGY,
        "failure": failure,
        "partial": False,
        "stopped": None,
    }
    return Result(summary, tables | {"faults": pyarrow.table(_FAULTS)})


def _short_of_statistics(links: dict) -> dict:
    return {
        "period_s": 0.01,
        "region_period_s": 0.01,
        "place_period_s": 0.01,
        "classes": sorted(set(links["class"])),
        "channels": 1,
        "places": "links",
        "residence_s": 1e-3,
        "slow_packets": 5_000,
        "messages": 50_000,
        "latency_p50_s": 9e-6,
        "latency_p90_s": 2e-5,
        "latency_p99_s": 8e-5,
        "latency_max_s": 2e-3,
    }


def _measures(ranks: int, messages: int) -> dict:
    """Memory, algorithms and latency."""
    return {
        "node_memory": {
            "hosts": 1,
            "messages": 10,
            "bytes": 40_960,
            "messages_share": 0.01,
            "bytes_share": 0.02,
            "busiest": [{"host": 0, "messages": 10, "bytes": 40_960}],
        },
        "collectives": [
            _use("allreduce", "recursive-doubling", ranks, 8, 8, 1_000),
            _use("allreduce", "recursive-doubling", ranks, 1_024, 1_024, 10),
            _use("allreduce", "ring", ranks, 2**20, 2**20 + 8, 5),
            _use("bcast", "binomial", ranks, 64, 64, 1),
        ],
        "message_latency": {
            "messages": messages,
            "mean_s": 1e-5,
            "p50_s": 9e-6,
            "p90_s": 2e-5,
            "p99_s": 8e-5,
            "max_s": 2e-3,
        },
    }


def made_by(**changes: object) -> dict:
    """Provenance of a report; `changes` are options."""
    return {
        "hopcast_version": "0.1.0",
        "python": "3.12.1",
        "system": "Linux",
        "host": "here",
        "date": "2026-01-02T03:04:05+00:00",
        "command": ["hopcast", "run", "tree.toml", "--set", "nic.latency=1 us", "halo 1d"],
        "directory": "/tmp/user",
        "platform": {
            "name": "tree.toml",
            "toml": '[nic]\nlatency = "1 us"\nbandwidth = "12.5 GB/s" # default\n',
        },
        "overrides": [{"key": "nic.latency", "value": "1 us"}],
        "options": {"ranks": 4, "seed": 7, "threads": 1, "ppn": None} | changes,
        "arguments": ["bytes=64KiB"],
        "inputs": [
            {
                "role": "platform",
                "name": "tree.toml",
                "path": "/tmp/user/tree.toml",
                "files": 1,
                "size_B": 1_234,
                "sha256": "0123456789abcdef" * 4,
            }
        ],
    }


def _use(collective: str, algorithm: str, members: int, least: int, most: int, count: int) -> dict:
    sizes = {"least_bytes": least, "most_bytes": most}
    return {"collective": collective, "algorithm": algorithm, "members": members, **sizes, "count": count}


def deadlock(ranks: int) -> dict:
    """Every rank waits for its left neighbour."""
    stuck = [
        {
            "rank": rank,
            "call": f"MPI_Recv(source={(rank - 1) % ranks}, tag=0)",
            "since_s": 1e-3,
            "waits_for": f"a message from rank {(rank - 1) % ranks}",
            "place": "ring.py:12",
        }
        for rank in range(ranks)
    ]
    return {"kind": "deadlock", "text": f"all {ranks} ranks wait for each other", "ranks": stuck}


def _ranks(draw, ranks: int) -> dict:
    compute = 0.8 + 0.05 * draw.standard_normal(ranks) + 0.1 * numpy.sin(numpy.arange(ranks) / ranks * 9)
    transfer = 0.2 + 0.02 * draw.standard_normal(ranks)
    end = float((compute + transfer).max()) * 1.02
    waiting = end - compute - transfer - numpy.abs(0.01 * draw.standard_normal(ranks))
    sent = numpy.full(ranks, 200)
    return {
        "rank": numpy.arange(ranks),
        "host": numpy.arange(ranks) // 16,
        "compute_s": compute,
        "transfer_s": transfer,
        "waiting_s": waiting,
        "finish_s": compute + transfer + waiting,
        "messages_sent": sent,
        "bytes_sent": sent * 65_536,
        "messages_received": sent,
        "bytes_received": sent * 65_536,
        "reached_s": compute + transfer + waiting,
        "stands_in": [""] * ranks,
        **{f"{name}_s": share * waiting for name, share in WAITING.items()},
        **{f"{name}_s": share * transfer for name, share in TRANSFER.items()},
    }


def _causes(per_rank: dict) -> dict:
    return {
        "causes": {f"{name}_s": float(per_rank[f"{name}_s"].sum()) for name in (*WAITING, *TRANSFER)},
        "contention": [{"at": "NIC", "time_s": 0.5}, {"at": "x+", "time_s": 0.25}],
    }


def _calls(draw, ranks: int) -> list[dict]:
    calls = []
    for place, name in enumerate(CALLS):
        count, total = 100 * ranks * (place + 1), ranks * 0.3 / (place + 1) ** 2
        calls.append(
            {
                "call": name,
                "count": count,
                "total_s": total,
                "mean_s": total / count,
                "max_s": 40 * total / count,
                "waiting_s": total * float(draw.uniform(0.1, 0.8)),
                "bytes": count * 4096,
            }
        )
    return calls


def _call_table(calls: list[dict], ranks: int) -> pyarrow.Table:
    shown = numpy.repeat(numpy.arange(min(ranks, 100)), len(calls))
    rows = calls * min(ranks, 100)
    columns = {
        name: [row[name] for row in rows] for name in ("call", "total_s", "max_s", "waiting_s", "bytes")
    }
    return pyarrow.table({"rank": shown, "count": [row["count"] // ranks for row in rows], **columns})


def _durations(draw) -> pyarrow.Table:
    rows = []
    for place, name in enumerate(CALLS):
        edges = numpy.geomspace(1e-7, 1e-1, 121)
        samples = draw.lognormal(numpy.log(3e-4 / 7**place), 0.9, 20_000)
        counts, _ = numpy.histogram(samples, edges)
        rows += [(name, edges[i], edges[i + 1], int(counts[i])) for i in range(120) if counts[i]]
    columns = zip(*rows, strict=True)
    return pyarrow.table(dict(zip(("call", "low_s", "high_s", "count"), map(list, columns), strict=True)))


def _links(draw, number: int) -> dict:
    busy = numpy.sort(draw.uniform(0.05, 0.9, number))[::-1]
    return {
        "link": numpy.arange(number),
        "from": [f"leaf {i // 4}" for i in range(number)],
        "to": [f"spine {i % 4}" for i in range(number)],
        "class": [("up 1", "down 1")[i % 2] for i in range(number)],
        "bandwidth_Bps": numpy.full(number, 12.5e9),
        "bytes": (busy * 12.5e9).astype(numpy.int64),
        "transfers": (busy * 1e5).astype(numpy.int64),
        "busy_s": busy,
    }


def _busiest(links: dict, makespan_s: float) -> list[dict]:
    names = ("link", "from", "to", "class", "bytes", "transfers", "busy_s")
    rows = [
        {name: _plain(links[name][place]) for name in names} for place in range(min(10, len(links["link"])))
    ]
    return [{**row, "utilisation": row["busy_s"] / makespan_s} for row in rows]


def _plain(value):
    return value.item() if hasattr(value, "item") else value


def _over_time(draw, links: dict) -> pyarrow.Table:
    slices = 120
    number = min(24, len(links["link"]))
    load = numpy.abs(draw.standard_normal((number, slices))) * (numpy.arange(slices) % 12 > 4)
    load *= numpy.linspace(1, 0.1, number)[:, None]
    begin = numpy.tile(numpy.arange(slices) * 0.01, number)
    names = numpy.repeat(numpy.arange(number), slices)
    return pyarrow.table(
        {
            "begin_s": begin,
            "end_s": begin + 0.01,
            "class": [links["class"][link] for link in names],
            "link": names,
            "bytes": (load * 1e8).astype(numpy.int64).ravel(),
        }
    )


def _statistics(draw, links: dict) -> dict[str, pyarrow.Table]:
    """Traffic by class, region and link, latency, and packets that stayed long."""
    periods, number = 120, len(links["link"])
    classes = sorted(set(links["class"]))
    of_class = numpy.repeat(numpy.arange(len(classes)), periods)
    by_class = {
        **_periods(draw, periods, len(classes)),
        "class": [classes[place] for place in of_class],
        "channel": numpy.zeros(of_class.size, int),
        "links": numpy.full(of_class.size, max(1, number // len(classes))),
    }
    of_region = numpy.repeat(numpy.arange(len(classes) * 8), periods)
    by_region = {
        **_periods(draw, periods, len(classes) * 8),
        "class": [classes[region // 8] for region in of_region],
        "along": ["router"] * of_region.size,
        "first": of_region % 8 * 16,
        "last": of_region % 8 * 16 + 15,
        "links": numpy.full(of_region.size, max(1, number // len(classes) // 8)),
    }
    of_link = numpy.repeat(numpy.arange(number), 4)
    by_link = {
        **_periods(draw, 4, number),
        "link": of_link,
        "class": [links["class"][link] for link in of_link],
    }
    begin = numpy.arange(periods) * 0.01
    middle = draw.lognormal(numpy.log(9e-6), 0.3, periods)
    latency = {
        "begin_s": begin,
        "end_s": begin + 0.01,
        "messages": numpy.full(periods, 400),
        "mean_s": middle,
    }
    latency |= {
        f"{name}_s": middle * factor for name, factor in (("p50", 1), ("p90", 2), ("p99", 5), ("max", 9))
    }
    slow = draw.exponential(1e-3, 200) + 1e-3
    stayed = {
        "residence_s": numpy.sort(slow)[::-1],
        "router": [f"leaf {place % 7}" for place in range(slow.size)],
        "next_class": [classes[place % len(classes)] for place in range(slow.size)],
    }
    tables = {
        "class_periods": by_class,
        "region_periods": by_region,
        "link_periods": by_link,
        "latency_periods": latency,
        "slow_packets": stayed,
    }
    return {name: pyarrow.table(columns) for name, columns in tables.items()}


def _periods(draw, periods: int, groups: int) -> dict:
    begin = numpy.tile(numpy.arange(periods) * 0.01, groups)
    load = numpy.clip(numpy.abs(draw.standard_normal(begin.size)) * 0.4, 0, 1)
    return {
        "begin_s": begin,
        "end_s": begin + 0.01,
        "bytes": (load * 12.5e7).astype(numpy.int64),
        "payload_bytes": (load * 12e7).astype(numpy.int64),
        "packets": (load * 6e4).astype(numpy.int64),
        "throughput_Bps": load * 12.5e9,
        "efficiency": load * 0.96,
        "busy_s": load * 0.01,
        "waiting_mean_s": load**3 * 1e-5,
        "stall_s": load**2 * 1e-3,
        "occupancy_mean_B": load * 6_000,
    }


def _matrix(ranks: int) -> pyarrow.Table:
    source = numpy.repeat(numpy.arange(ranks), 4)
    step = numpy.tile(numpy.array([1, -1, 8, -8]), ranks)
    size = numpy.where(numpy.abs(step) == 1, 65_536, 4_096)
    per_bin = max(1, -(-ranks // 1024))
    columns = {
        "source": source // per_bin * per_bin,
        "destination": (source + step) % ranks // per_bin * per_bin,
    }
    return pyarrow.table(
        {**columns, "ranks_per_bin": per_bin + 0 * source, "messages": 50 + 0 * source, "bytes": 50 * size}
    )


def _latency(draw) -> pyarrow.Table:
    edges = numpy.geomspace(5e-7, 5e-3, 81)
    counts, _ = numpy.histogram(draw.lognormal(numpy.log(9e-6), 0.8, 50_000), edges)
    return pyarrow.table({"low_s": edges[:-1], "high_s": edges[1:], "count": counts})


def _records(ranks: int) -> pyarrow.Table:
    rank = numpy.repeat(numpy.arange(ranks), 20)
    begin = numpy.tile(numpy.arange(20) * 0.05, ranks)
    calls = [CALLS[i % 2] for i in range(rank.size)]
    sizes = numpy.full(rank.size, 512)
    columns = {"rank": rank, "call": calls, "begin_s": begin, "end_s": begin + 0.004, "bytes": sizes}
    return pyarrow.table(columns)


def _each_message(draw, ranks: int) -> pyarrow.Table:
    """A quarter of 2,000 messages from each rank to the next."""
    number, rows = numpy.arange(500), 500
    latency, received = draw.lognormal(-11, 1, rows), numpy.sort(draw.uniform(0.1, 1, rows))
    return pyarrow.table(
        {
            "source": number % ranks,
            "destination": (number + 1) % ranks,
            "number": number,
            "bytes": numpy.full(rows, 512),
            "sent_s": received - latency,
            "received_s": received,
            "latency_s": latency,
            "collective": numpy.zeros(rows, int),
            "sample": draw.uniform(0, 0.25, rows),
            "share": numpy.full(rows, 0.25),
        }
    )


def _matrix_periods(ranks: int) -> pyarrow.Table:
    """Each rank to the next, in ten periods."""
    bins = min(ranks, 64)
    per_bin = -(-ranks // bins)
    first = numpy.arange(-(-ranks // per_bin)) * per_bin
    source, begin = numpy.tile(first, 10), numpy.repeat(numpy.arange(10) * 0.1, first.size)
    amount = numpy.full(source.size, 100)
    return pyarrow.table(
        {
            "begin_s": begin,
            "end_s": begin + 0.1,
            "source": source,
            "destination": (source + per_bin) % (per_bin * first.size),
            "ranks_per_bin": numpy.full(source.size, per_bin),
            "messages": amount,
            "bytes": amount * 512,
        }
    )


def _messages(ranks: int) -> pyarrow.Table:
    """Each rank to the next in each of its calls: from its begin to 1 ms before the end of the receiver's."""
    source = numpy.repeat(numpy.arange(ranks), 20)
    begin = numpy.tile(numpy.arange(20) * 0.05, ranks)
    columns = {"source": source, "destination": (source + 1) % ranks, "bytes": numpy.full(source.size, 512)}
    return pyarrow.table(columns | {"sent_s": begin, "received_s": begin + 0.003})
