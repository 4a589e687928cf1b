"""Messages of compiled programs that name NICs and copies, and stated work: times by closed forms."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from test_models import build
from test_programs import hopcast, pytestmark  # noqa: F401

PLATFORM = """
name = "hosts of two NICs on a switch"
[topology]
kind = "crossbar"
hosts = 3
[host]
processes = 1
[host.memory]
latency = "100 ns"
bandwidth = "5 GB/s"
[nic]
bandwidth = "1 GB/s"
latency = "500 ns"
count = 2
[mpi]
eager_limit = "8 MiB"
two_copy_limit = "0 B"
copy_rate = "2 GB/s"
[[mpi.regimes]]
name = "all"
send_overhead = "200 ns"
receive_overhead = "300 ns"
[placement]
kind = "linear"
[compute]
flop_rate = "1 Gflop/s"
"""


@pytest.fixture(scope="module")
def ways(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("ways")
    (folder / "hosts.toml").write_text(PLATFORM)
    return build(folder, "ways")


def done(ways: Path, *words: str, model: str = "loggp"):
    return hopcast("run", ways.parent / "hosts.toml", "-n", "3", "--model", model, "--quiet", ways, *words)


@pytest.mark.parametrize("model", ["loggp", "max-rate", "flow", "packet"])
def test_times_of_messages_and_work(ways, model) -> None:
    """A message of 1 MB by a free NIC takes o_s + 1 us + 1 ms + o_r, and the second begins o_s later.

    By one NIC the second is there 1 ms later. Zero-copy asks first: request and answer of 1 B take 1.001 us
    each, and the overheads o_s + (o_r + o_s) + (o_r + o_s) + o_r. With n = 4000 B, m = 2 GB/s:
    two-copy 0.2 + 2 + 1 + 4 + 0.3 + 2 us; zero-copy 3 + 0.002 + 4 + 0.2 + 0.5 + 0.5 + 0.3 us.
    """
    run = done(ways, model=model)
    assert run.returncode == 0, run.stderr
    times = {name: float(value) for name, value in re.findall(r"^([\w-]+) ([\d.]+) ns", run.stdout, re.M)}
    assert times["same"] == pytest.approx(200 + 1_000 + 2_000_000 + 300, rel=2e-3)
    assert times["both"] == pytest.approx(400 + 1_000 + 1_000_000 + 300, rel=2e-3)
    assert times["hinted"] == pytest.approx(3_000 + 2_000_000 + 1_900, rel=2e-3)
    assert times["two-copy"] == pytest.approx(9_500, abs=30)
    assert times["zero-copy"] == pytest.approx(8_502, abs=30)
    assert times["seconds"] == pytest.approx(5_000, abs=0.1)
    assert times["flops"] == pytest.approx(4_000, abs=0.1)


@pytest.mark.parametrize(
    ("what", "code", "said"),
    [
        ("half", 3, "hopcast_isend"),
        ("missing", 3, "NIC 2 is asked for, but a host has 2, NICs 0 to 1"),
        ("hinted", 3, "NIC 5 is asked for, but a host has 2, NICs 0 to 1"),
        ("half", 3, "the NIC of the destination is left open, but not that of the other end"),
        ("copies", 3, "hopcast_send"),
        ("copies", 3, "copies are HOPCAST_PLATFORM_COPIES, HOPCAST_ZERO_COPY or HOPCAST_TWO_COPY, not 3"),
        ("negative", 3, "a time to compute is 0 or more, not -1"),
        ("hint", 3, "hopcast_destination_nic is the number of a NIC, not 'first'"),
    ],
)
def test_a_way_that_does_not_exist_is_an_error(ways, what, code, said) -> None:
    run = done(ways, what)
    assert run.returncode == code, run.stderr
    assert said in run.stdout + run.stderr


def test_without_hopcast_messages_are_plain_and_work_takes_no_time(tmp_path) -> None:
    """As another MPI compiles the header: the platform chooses NICs and copies, and work is left out."""
    (tmp_path / "hosts.toml").write_text(PLATFORM)
    run = done(build(tmp_path, "ways", "-UHOPCAST"))
    assert run.returncode == 0, run.stderr
    times = dict(re.findall(r"^([\w-]+) ([\d.]+) ns", run.stdout, re.M))
    assert times["same"] == times["both"]
    assert times["two-copy"] == times["zero-copy"]
    assert times["seconds"] == times["flops"] == "0.0"
