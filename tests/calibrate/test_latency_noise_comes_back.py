"""`hopcast calibrate --noise` inside `hopcast run`: modes of latency come back, or none."""

from __future__ import annotations

from pathlib import Path

import pytest
import tomllib
from test_all_steps import HOPCAST, calibrate, needs_hopcast
from test_noise_comes_back import PLATFORM, WORDS, time_ns

MODES = """latency_modes = [
    { weight = 0.7, mean = "200 ns", deviation = "20 ns" },
    { weight = 0.3, mean = "900 ns", deviation = "50 ns" },
]
"""
BASE_NS = 1000
"""Latency of two NICs and of the regime."""


def fitted(folder: Path, platform: str) -> tuple[dict, str]:
    """The platform that a calibration of a simulated one writes, and its warnings."""
    (folder / "noisy.toml").write_text(platform)
    launcher = [*HOPCAST, "run", folder / "noisy.toml", "-n", "2", "--quiet", "--compute", "none"]
    done = calibrate("-o", folder / "out", *WORDS, "--", *launcher)
    assert done.returncode == 0, done.stderr
    return tomllib.loads((folder / "out" / "out.toml").read_text()), done.stderr


@needs_hopcast
def test_modes_of_the_latency_come_back(tmp_path: Path) -> None:
    """Weights, of some 13,000 latencies, within 0.02; times within 2 %."""
    found, said = fitted(
        tmp_path, PLATFORM.replace('send_overhead = "20 ps/B"\n', MODES + 'send_overhead = "20 ps/B"\n')
    )
    eager = found["mpi"]["regimes"][0]
    wanted = tomllib.loads(MODES)["latency_modes"]
    base = 2 * time_ns(found["nic"]["latency"]) + time_ns(eager["latency"])
    assert len(eager["latency_modes"]) == len(wanted)
    for ours, theirs in zip(eager["latency_modes"], wanted, strict=True):
        assert ours["weight"] == pytest.approx(theirs["weight"], abs=0.02)
        assert base + time_ns(ours["mean"]) == pytest.approx(BASE_NS + time_ns(theirs["mean"]), rel=0.02)
        assert time_ns(ours["deviation"]) == pytest.approx(time_ns(theirs["deviation"]), rel=0.15)
    assert len(eager["send_modes"]) == 2
    assert "a message above the eager limit is three on the wire" in said


@needs_hopcast
def test_noise_of_calls_is_not_taken_for_latency(tmp_path: Path) -> None:
    found, said = fitted(tmp_path, PLATFORM)
    assert all("latency_modes" not in regime for regime in found["mpi"]["regimes"])
    assert "no noise of latency is given: ping-pongs vary as their calls do; a deviation below" in said
