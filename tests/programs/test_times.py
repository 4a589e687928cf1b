"""Times of calls of compiled programs, in closed form: files and one-sided communication."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from test_models import build
from test_programs import hopcast, pytestmark  # noqa: F401

# A message of n bytes takes 1 us + n ns.
PLATFORM = """
name = "four hosts on a switch"
[topology]
kind = "crossbar"
hosts = 4
[host]
processes = 1
[host.memory]
latency = "100 ns"
bandwidth = "5 GB/s"
[nic]
bandwidth = "1 GB/s"
latency = "500 ns"
[mpi]
eager_limit = "8 MiB"
reduce_rate = "1 GB/s"
progress = "asynchronous"
[mpi.collectives]
barrier = "dissemination"
[compute]
flop_rate = "1 Gflop/s"
"""
FILES = """
[filesystem]
servers = 4
bandwidth = "1 MB/s"
request_time = "10 ms"
latency = "1 ms"
stripe_size = "1 MB"
stripe_count = 4
host_bandwidth = "4 MB/s"
metadata_time = "100 ms"
"""


def timed(folder: Path, program: str, platform: str, *words: str, model: str) -> tuple[dict, dict]:
    """The report, and the time [s] of each named part on each rank."""
    (folder / "machine.toml").write_text(platform)
    built = folder / program
    if not built.exists():
        build(folder, program)
    flags = ("-n", "4", "--json", "--model", model)
    done = hopcast("run", folder / "machine.toml", *flags, built, *words)
    report = json.loads(done.stdout[done.stdout.index("{") :])
    assert report["failure"] is None, (report["failure"], done.stderr)
    times: dict[str, list[float]] = {}
    for line in done.stderr.splitlines():
        if line.startswith("warning"):
            continue
        name, rank, time = line.split()
        times.setdefault(name, [math.nan] * 4)[int(rank)] = float(time) / 1e6
    return report, times


@pytest.mark.parametrize("model", ["postal", "loggp"])
def test_files_take_the_time_of_their_servers(tmp_path, model) -> None:
    path = tmp_path / "data"
    report, times = timed(tmp_path, "file_times", PLATFORM + FILES, str(path), model=model)
    one = 0.010 + 1.0 + 0.001
    turns = [turn * 0.1 + 0.001 for turn in range(1, 5)]
    expected = {
        "open": turns,
        "own": [one] * 4,
        "shared": [turn * 1.010 + 0.001 for turn in range(1, 5)],
        "read": [turn * 1.010 + 0.001 for turn in range(1, 5)],
        "begin": [0.0] * 4,
        "beside": [3.0] * 4,
        "any": [1.004e-6] * 4,
        "late": [one] * 4,
        # 25 requests of 10 kB on each server for each rank; together, one of 1 MB on each.
        "pieces": [turn * 25 * (0.010 + 0.010) + 0.001 for turn in range(1, 5)],
        "together": [one] * 4,
        "read_together": [one] * 4,
        "split": [0.0] * 4,
        "split_end": [3.0] * 4,
        "sync": [0.001] * 4,
        "resize": [0.101] * 4,
        "pointer": [turn + 0.010 + 1e-6 + 0.001 for turn in turns],
        "close": turns,
    }
    # Messages between ranks take no more than that: each sends and receives 3 x 250 kB.
    messages = {"together": 1.51e-3, "read_together": 1.51e-3}
    for name, wanted in expected.items():
        # Which rank comes first is the order of its messages.
        assert sorted(times[name]) == pytest.approx(wanted, rel=1e-6, abs=messages.get(name, 3e-5)), name
    calls = {call["call"]: call for call in report["calls"]}
    assert calls["MPI_File_write_at"]["total_s"] == pytest.approx(4 * one + sum(expected["shared"]), rel=1e-6)
    assert calls["MPI_File_close"]["count"] == 4
    again, _ = timed(tmp_path, "file_times", PLATFORM + FILES, str(path), model=model)
    assert again["outcome_hash"] == report["outcome_hash"]


def test_files_take_no_time_where_a_platform_says_nothing_of_them(tmp_path) -> None:
    words = (str(tmp_path / "data"), "free")
    _, times = timed(tmp_path, "file_times", PLATFORM, *words, model="loggp")
    assert times["shared"] == [0.0] * 4
    assert all(max(of) < 1e-4 for name, of in times.items() if name not in ("beside", "split_end"))


def test_a_file_is_striped_as_the_platform_says(tmp_path) -> None:
    """Over one server of four: all wait for that."""
    of_one = FILES.replace("stripe_count = 4", "stripe_count = 1")
    _, times = timed(tmp_path, "file_times", PLATFORM + of_one, str(tmp_path / "data"), model="loggp")
    assert sorted(times["own"]) == pytest.approx([turn * 1.010 + 0.001 for turn in range(1, 5)])


@pytest.mark.parametrize("model", ["postal", "loggp"])
def test_one_sided_calls_take_the_time_of_their_messages(tmp_path, model) -> None:
    report, times = timed(tmp_path, "one_sided", PLATFORM, model=model)
    micro = {name: [round(time * 1e6, 3) for time in of] for name, of in times.items()}
    latency, length, number = 1.0, 40.0, 0.008
    put = 2 * latency + length
    alone = {
        "lock": 2 * latency,
        "put": put,
        "get": put,
        "accumulate": put + length,
        "get_accumulate": put + 2 * length,
        "fetch_and_op": 2 * latency + 3 * number,
        # Two ints go, one comes back.
        "compare_and_swap": 2 * latency + 2 * number + number / 2,
        "unlock": 2 * latency,
        # The lock, and the put.
        "first": 4 * latency + number,
        "flush_all": put,
        "start": latency,
        "complete": latency + put,
    }
    for name, wanted in alone.items():
        assert micro[name][0] == pytest.approx(wanted, abs=1e-3), name
    assert micro["lock_all"] == [0.0] * 4
    assert micro["unlock_all"] == [2.0, 0.0, 0.0, 0.0]
    assert (micro["post"][1], micro["wait"][1]) == (0.0, pytest.approx(2 * latency + put))
    # Two rounds; where rank 0 is late, rank 1 hears of it in the first, rank 2 in the second, rank 3 by
    # rank 1.
    assert micro["fence"] == [2 * latency] * 4
    # In loggp the target's NIC takes rank 3's message of the second round, there after 2 us, before the
    # put, whose last byte would be there later.
    late = put if model == "postal" else 2 * latency + length + latency
    assert micro["fence_of_put"] == [late, late + 1, late + 1, late + 2]
    # The last rank calls first. Each holds the lock for 10 us; its release goes behind an addition of 8
    # bytes.
    turns = [0.1 + 2 * latency + turn * (10 + number + 2 * latency) for turn in range(3)]
    assert [micro["turn"][rank] for rank in (3, 2, 0)] == pytest.approx(turns, abs=1e-3)
    again, _ = timed(tmp_path, "one_sided", PLATFORM, model=model)
    assert again["outcome_hash"] == report["outcome_hash"]


@pytest.mark.parametrize("ranks", [1, 4])
def test_a_program_has_data_representations_of_its_own(tmp_path, ranks) -> None:
    (tmp_path / "machine.toml").write_text(PLATFORM)
    program = build(tmp_path, "representation")
    done = hopcast("run", tmp_path / "machine.toml", "-n", str(ranks), program, tmp_path / "data")
    assert done.returncode == 0, done.stderr
