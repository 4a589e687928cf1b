"""`hopcast calibrate --noise` inside `hopcast run`: overheads, modes and times of functions come back."""

from __future__ import annotations

from pathlib import Path

import pytest
import tomllib
from test_all_steps import HOPCAST, calibrate, needs_hopcast

PLATFORM = """
name = "noisy"
topology = { kind = "crossbar", hosts = 2 }
host = { processes = 1, memory = { latency = "100 ns", bandwidth = "10 GB/s" } }
nic = { bandwidth = "12.5 GB/s", latency = "250 ns" }
compute = { flop_rate = "1 Gflop/s" }

[mpi]
eager_limit = "8000 B"
poll = "800 ns"
progress = "asynchronous"

[[mpi.regimes]]
name = "eager"
up_to = "8000 B"
process_rate = "10 GB/s"
latency = "500 ns"
send_overhead = "20 ps/B"
send_modes = [
    { weight = 0.7, mean = "300 ns", deviation = "10 ns" },
    { weight = 0.3, mean = "900 ns", deviation = "30 ns" },
]
isend_overhead = "25 ps/B"
isend_modes = [
    { weight = 0.85, mean = "200 ns", deviation = "8 ns" },
    { weight = 0.15, mean = "700 ns", deviation = "20 ns" },
]
receive_overhead = "400 ns + 30 ps/B"

[[mpi.regimes]]
name = "rendezvous"
process_rate = "12 GB/s"
send_overhead = "250 ns"
isend_overhead = "250 ns"

[[mpi.functions]]
function = "MPI_Iprobe"
time = "211 ns"

[[mpi.functions]]
function = "MPI_Wtime"
time = "25 ns"
"""
WORDS = ("--sizes", "200", "--repetitions", "50", "--polls", "4", "--flop-rate", "1 Gflop/s", "--noise")


def time_ns(text: str) -> float:
    value, unit = text.split()[:2]
    return float(value) * {"us": 1000.0, "ns": 1.0}[unit]


@needs_hopcast
def test_modes_slopes_and_functions_come_back(tmp_path: Path) -> None:
    """Times within 2 %; weights, of some 6,500 calls, within 0.02: 3.5 deviations of √(0.21 / 6,500)."""
    (tmp_path / "noisy.toml").write_text(PLATFORM)
    launcher = [*HOPCAST, "run", tmp_path / "noisy.toml", "-n", "2", "--quiet", "--compute", "none"]
    done = calibrate("-o", tmp_path / "out", *WORDS, "--", *launcher)
    assert done.returncode == 0, done.stderr
    mpi = tomllib.loads((tmp_path / "out" / "out.toml").read_text())["mpi"]
    eager, long = mpi["regimes"][0], mpi["regimes"][-1]
    given = tomllib.loads(PLATFORM)["mpi"]["regimes"][0]
    for kind, per_byte in (("send", 20), ("isend", 25)):
        assert float(eager[f"{kind}_overhead"].split()[-2]) == pytest.approx(per_byte, rel=0.02)
        found, wanted = eager[f"{kind}_modes"], given[f"{kind}_modes"]
        assert len(found) == len(wanted)
        for ours, theirs in zip(found, wanted, strict=True):
            assert ours["weight"] == pytest.approx(theirs["weight"], abs=0.02)
            assert time_ns(ours["mean"]) == pytest.approx(time_ns(theirs["mean"]), rel=0.02)
            assert time_ns(ours["deviation"]) == pytest.approx(time_ns(theirs["deviation"]), rel=0.1)
    start, per_byte = eager["receive_overhead"].split(" + ")
    assert time_ns(start) == pytest.approx(400, rel=0.02)
    assert float(per_byte.split()[0]) == pytest.approx(30, rel=0.02)
    assert float(eager["process_rate"].split()[0]) == pytest.approx(10, rel=0.02)
    assert float(long["process_rate"].split()[0]) == pytest.approx(12, rel=0.02)
    functions = {entry["function"]: time_ns(entry["time"]) for entry in mpi["functions"]}
    assert functions == pytest.approx({"MPI_Iprobe": 211, "MPI_Wtime": 25}, rel=0.02)
    assert time_ns(mpi["poll"]) == pytest.approx(800, rel=0.02)


@needs_hopcast
def test_calls_of_the_platform_itself_are_checked_by_kind(tmp_path: Path) -> None:
    """Calls measured on a platform without noise differ from it by rounding alone, whatever their kind."""
    lines = [line for line in PLATFORM.splitlines() if "_modes" not in line and "weight" not in line]
    (tmp_path / "silent.toml").write_text("\n".join(line for line in lines if line != "]"))
    launcher = [*HOPCAST, "run", tmp_path / "silent.toml", "-n", "2", "--quiet", "--compute", "none"]
    few = ("--sizes", "40", "--repetitions", "2", "--polls", "2", "--flop-rate", "1 Gflop/s")
    done = calibrate("-o", tmp_path / "out", *few, "--", *launcher)
    assert done.returncode == 0, done.stderr
    measured = tmp_path / "out" / "network"
    checked = calibrate("check", tmp_path / "silent.toml", measured, "--breakpoints", "1GB")
    assert checked.returncode == 0, checked.stderr
    kinds = ("Ping-pongs", "MPI_Send", "MPI_Isend", "MPI_Recv of a message that has come")
    kinds += ("MPI_Iprobe", "MPI_Test", "MPI_Wtime")
    heads, rows = checked.stdout.splitlines()[::2], checked.stdout.splitlines()[1::2]
    assert [head.startswith(kind) for head, kind in zip(heads, kinds, strict=True)] == [True] * 7
    assert max(float(row.split("worst ")[1].split(" %")[0]) for row in rows) < 1, checked.stdout
