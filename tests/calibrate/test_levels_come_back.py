"""`hopcast calibrate` on a simulated machine with levels inside its hosts gives them back, in one go."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_all_steps import HOPCAST, RATE, calibrate, needs_hopcast

from hopcast.toml import tomllib

PLATFORM = """
name = "levels in one go"
[topology]
kind = "crossbar"
hosts = 2
[host]
processes = 8
sockets = 2
socket_order = "block"
[host.memory]
latency = "400 ns"
bandwidth = "5 GB/s"
total_bandwidth = "13 GB/s"
[[host.levels]]
name = "cache"
processes = 2
latency = "80 ns"
bandwidth = "16 GB/s"
[[host.levels]]
name = "socket"
processes = 4
latency = "150 ns"
bandwidth = "12 GB/s"
total_bandwidth = "19 GB/s"
[nic]
bandwidth = "12.5 GB/s"
latency = "300 ns"
[mpi]
memory_eager_limit = "1 TiB"
[[mpi.regimes]]
name = "all"
process_rate = "8 GB/s"
send_overhead = "200 ns"
receive_overhead = "250 ns"
[compute]
flop_rate = "10 Gflop/s"
"""


def number(text: str) -> float:
    """Number of a platform's value; times in microseconds, bandwidths in GB/s."""
    value, unit = text.split()
    return float(value) * {"ns": 1e-3, "us": 1.0, "GB/s": 1.0}[unit]


@needs_hopcast
def test_levels_and_what_they_share_come_back(tmp_path: Path) -> None:
    """Within 2 %. A cache holds one pair, so that nothing is known of several, and no key says any."""
    (tmp_path / "machine.toml").write_text(PLATFORM)
    launcher = [*HOPCAST, "run", tmp_path / "machine.toml", "-n", "16", "--ppn", "8", "--compute", "none"]
    out = tmp_path / "again"
    few = ("--sizes", "40", "--repetitions", "2", "--polls", "4", *RATE)
    done = calibrate("-o", out, *few, "--", *launcher)
    assert done.returncode == 0, done.stderr
    platform = tomllib.loads((out / "again.toml").read_text())
    assert number(platform["mpi"]["regimes"][-1]["process_rate"]) == pytest.approx(8, rel=0.02)
    assert number(platform["nic"]["bandwidth"]) == pytest.approx(12.5, rel=0.02)
    given, found = tomllib.loads(PLATFORM)["host"], platform["host"]
    assert (found["processes"], found["sockets"], found["socket_order"]) == (8, 2, "block")
    assert [level["name"] for level in found["levels"]] == ["cache", "socket"]
    sections = zip([found["memory"], *found["levels"]], [given["memory"], *given["levels"]], strict=True)
    for ours, theirs in sections:
        for key in ("latency", "bandwidth"):
            assert number(ours[key]) == pytest.approx(number(theirs[key]), rel=0.02)
        assert ours.get("processes") == theirs.get("processes")
        assert ("total_bandwidth" in ours) == ("total_bandwidth" in theirs)
        if "total_bandwidth" in theirs:
            total = number(theirs["total_bandwidth"])
            assert number(ours["total_bandwidth"]) == pytest.approx(total, rel=0.02)
    wrong = calibrate("-o", out, *few, "--processes", "6", "--", *launcher)
    assert wrong.returncode == 2
    assert "--processes 6: groups of 4 ranks share one 'socket' of a host" in wrong.stderr
