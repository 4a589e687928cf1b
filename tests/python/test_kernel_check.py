"""`hopcast calibrate check` of kernels: formulas of a platform beside measured calls."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hopcast import core
from hopcast.cli.calibrate import command
from hopcast.errors import InputError
from hopcast.toml import tomllib

SIZES = [(64, 64, 64), (100, 20, 300), (512, 512, 128)]
PLATFORM = """
name = "two chips"
[topology]
kind = "crossbar"
hosts = 2
[host]
processes = 4
sockets = 2
[host.memory]
latency = "0 ns"
bandwidth = "10 GB/s"
[nic]
bandwidth = "10 GB/s"
latency = "1 us"
[compute]
flop_rate = "10 Gflop/s"
[[compute.kernels]]
function = "dgemm"
table = "nodes.csv"
[[compute.kernels]]
function = "daxpy"
modes = [
  { weight = 0.75, mean = "1 us + 1 ns*N" },
  { weight = 0.25, mean = "5 us + 1 ns*N", deviation = "1 us" },
]
"""
TABLE = "host,socket,1,M*N*K\n,,2e-6,70e-12\n1,1,2e-6,140e-12\n"


@pytest.fixture
def platform(tmp_path: Path) -> Path:
    (tmp_path / "nodes.csv").write_text(TABLE)
    file = tmp_path / "two.toml"
    file.write_text(PLATFORM)
    return file


def check(*arguments: object) -> Result:
    return CliRunner().invoke(command, ["check", *map(str, arguments)])


def dgemm_s(size: tuple[int, int, int], factor: float = 1.0) -> float:
    m, n, k = size
    return 2e-6 + factor * 70e-12 * m * n * k


def written(file: Path, rows: list[tuple]) -> Path:
    lines = [
        ",".join(map(str, row)) for row in [("function", "m", "n", "k", "duration", "node", "cpu"), *rows]
    ]
    file.write_text("\n".join(lines) + "\n")
    return file


def test_times_are_those_of_the_processor_that_calls(platform) -> None:
    arguments = {"M": [64.0], "N": [64.0], "K": [64.0]}
    usual, slow = (
        core.kernel_times(str(platform), "dgemm", place, 1, arguments) for place in (("0", 1), ("1", 1))
    )
    assert usual == pytest.approx([dgemm_s(SIZES[0])])
    assert slow == pytest.approx([dgemm_s(SIZES[0], 2.0)])
    # Of modes, the mean by weight.
    assert core.kernel_times(str(platform), "daxpy", ("0", 0), 2, {"N": [0.0, 1000.0]}) == pytest.approx(
        [2e-6, 3e-6]
    )


def test_kernels_of_stampede_take_their_share_of_the_peak() -> None:
    # Per node: 16 cores of 21.6 Gflop/s, and with the Phi a share of 8,520.1 Tflop/s; 90 % of both.
    cores, node = 0.9 * 345.6e9, 0.9 * 8520.1e12 / (77 * 78)
    crossed = 8 * (1 - 345.6e9 * 77 * 78 / 8520.1e12) / 6e9
    memory = 8 / (0.8 * 102.4e9)
    calls = [(50_000, 50_000, 1024), (2000, 2000, 300), (50_000, 1024, 1024), (50_000, 512, 2)]
    expected = [
        2 * 50_000**2 * 1024 / node,
        2000**2 * crossed,
        2 * 50_000 * 1024**2 / cores,
        (2 * 50_000 * 512 + 50_000 * 2 + 512 * 2) * memory,
    ]
    arguments = {name: [float(call[at]) for call in calls] for at, name in enumerate("MNK")}
    found = core.kernel_times("stampede", "dgemm", ("0", 0), len(calls), arguments)
    assert found == pytest.approx(expected, rel=1e-3)
    triangle = {"M": [1024.0, 512.0], "N": [50_000.0, 50_000.0], "K": [1024.0, 512.0]}
    found = core.kernel_times("stampede", "dtrsm", ("0", 0), 2, triangle)
    assert found == pytest.approx([1024 * 50_000 * crossed, 512**2 * 50_000 / cores], rel=1e-3)


def test_errors_are_printed_for_each_processor_and_recorded(platform, tmp_path) -> None:
    # On chip 1 of node 1 calls take a quarter more than the table says. Each call twice, about its mean.
    rows = [
        ("dgemm", *size, dgemm_s(size, factor) * share * spread, node, cpu)
        for node, cpu, factor, share in ((0, 0, 1.0, 1.0), (1, 1, 2.0, 1.25))
        for size in SIZES
        for spread in (0.9, 1.1)
    ]
    calls = written(tmp_path / "kernels.csv", rows)
    done = check(platform, calls, "--record")
    assert done.exit_code == 0, done.output
    lines = {line.split("  ")[1]: line for line in done.output.splitlines() if "sizes: median" in line}
    assert set(lines) == {"dgemm on node 0, cpu 0", "dgemm on node 1, cpu 1", "dgemm"}
    assert (
        "3 sizes: median 0 %" in lines["dgemm on node 0, cpu 0"] or "e-1" in lines["dgemm on node 0, cpu 0"]
    )
    assert "median 20 %" in lines["dgemm on node 1, cpu 1"]
    assert "6 sizes" in lines["dgemm"] and "worst 20 %" in lines["dgemm"]
    (recorded,) = tomllib.loads(platform.read_text())["calibration"]["checks"]
    assert (recorded["what"], recorded["worst"]) == ("dgemm", pytest.approx(0.2))


def test_what_cannot_be_compared_is_said(platform, tmp_path) -> None:
    calls = written(tmp_path / "kernels.csv", [("dgemv", 3, 3, 1, 1e-6, 0, 0)])
    for arguments, said in (
        ((calls,), "no kernel 'dgemv'; [[compute.kernels]] has: dgemm, daxpy"),
        ((calls, "--function", "dgemm"), "no call of 'dgemm'; functions: dgemv"),
        ((written(tmp_path / "far.csv", [("dgemm", 3, 3, 3, 1e-6, 7, 0)]),), "7"),
        ((written(tmp_path / "none.csv", [("dgemm", 3, 3, 3, 0.0, 0, 0)]),), "the clock is too coarse"),
    ):
        refused = check(platform, *arguments).exception
        assert isinstance(refused, InputError) and said in str(refused), refused
    named = check(
        platform, written(tmp_path / "named.csv", [("dgemm", 3, 3, 3, 1e-6, 1, 0)]), "--host-names", "n{}"
    )
    assert "n1" in str(named.exception)
    assert "--level: means nothing" in str(check(platform, calls, "--level", "host").exception)
    plain = tmp_path / "plain.csv"
    plain.write_text("n,duration\n1000,3e-6\n")
    assert "name it with --function" in str(check(platform, plain).exception)
    assert "1 sizes: median" in check(platform, plain, "--function", "daxpy").output
