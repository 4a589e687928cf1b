"""Calls of BLAS that `measure --program kernels` makes: all of the design; coefficients come back."""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from real_mpi import launch
from test_measure import HOPCAST, REAL, calibrate, design, needs_hopcast, needs_mpi

from hopcast.toml import tomllib

BLAS = Path(__file__).with_name("blas.c")
PLATFORM = """
name = "modelled"
topology = { kind = "crossbar", hosts = 2 }
host = { processes = 2, memory = { latency = "0 ns", bandwidth = "10 GB/s" } }
nic = { bandwidth = "10 GB/s", latency = "1 us" }

[compute]
flop_rate = "20 Gflop/s"

[[compute.kernels]]
function = "dgemm"
time = "2 us + 100 ps * M * N * K + 2 ns * N * K"
noise = "half-normal"
deviation = "3 ps * M * N * K"
"""


def measured(folder: Path, rows: list[tuple], launcher: list[str]) -> list[dict[str, str]]:
    place = folder / "list.csv"
    design.write(rows, place)
    words = ("--program", "kernels", "--design", place, "--blas", BLAS, "-o", folder / "out")
    done = calibrate("measure", *words, "--", *launcher)
    assert done.returncode == 0, done.stderr
    with (folder / "out" / "kernels.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@needs_mpi
def test_each_rank_makes_each_call_in_the_order_of_the_design(tmp_path: Path) -> None:
    """Dimensions that a routine does not have are 1; a triangle of dtrsm has order M."""
    rows = design.kernels(design.Matrices(1e4, 60, 2, 1), design.KERNELS, 1, 3)
    found = measured(tmp_path, rows, launch(REAL[0], 2))
    expected = []
    for name, m, n, k in rows:
        vector = name in ("dtrsv", "dswap", "daxpy", "dscal", "idamax")
        third = {"dgemm": k, "dtrsm": m}.get(name, 1)
        expected.append((name, str(1 if vector else m), str(n), str(third)))
    for rank in ("0", "1"):
        mine = [row for row in found if row["rank"] == rank]
        assert [(row["function"], row["m"], row["n"], row["k"]) for row in mine] == expected
        starts = [float(row["start"]) for row in mine]
        assert starts == sorted(starts)
    assert Counter(row["node"] for row in found) == {"0": 2 * len(rows)}


@needs_mpi
def test_a_machine_that_is_busy_is_said_to_be(tmp_path: Path) -> None:
    """Three programs for each core: the calls have the processor for a part of their time alone."""
    burners = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"])
        for _ in range(3 * len(os.sched_getaffinity(0)))
    ]
    try:
        rows = design.kernels(design.Matrices(4e7, 1000, 5, 1), ("dgemm",), 2, 1)
        found = measured(tmp_path, rows, launch(REAL[0], 2))
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()
    times = [(float(row["duration"]), float(row["processor_s"])) for row in found]
    assert all(processor > 0 for _, processor in times)
    assert sum(min(both) for both in times) < 0.9 * sum(duration for duration, _ in times)
    done = calibrate("kernels", tmp_path / "out" / "kernels.csv", "--function", "dgemm")
    assert (
        "warning" in done.stderr and "the machine was busy: other programs had the processors" in done.stderr
    )


@needs_hopcast
def test_coefficients_of_a_simulated_kernel_come_back(tmp_path: Path) -> None:
    """2 µs, 100 ps MNK and 2 ns NK within 1 %, their deviation of 3 ps MNK within 10 %.

    Of 20 calls on each of two ranks a deviation is known within 11 %, of 200 sizes together within 1 %; that
    of a half-normal varies more, and calls of a nanosecond's deviation take whole picoseconds.
    """
    platform = tmp_path / "modelled.toml"
    platform.write_text(PLATFORM)
    rows = design.kernels(design.Matrices(1e6, 1000, 30, 1), ("dgemm",), 20, 1)
    launcher = [*HOPCAST, "run", platform, "-n", "2", "--quiet", "--compute", "none", "--kernels", "skip"]
    found = measured(tmp_path, rows, launcher)
    assert len(found) == 2 * len(rows)
    entry = tmp_path / "entry.toml"
    calls = tmp_path / "out" / "kernels.csv"
    done = calibrate("kernels", calls, "--function", "dgemm", "-o", entry)
    assert done.returncode == 0, done.stderr
    text = entry.read_text()
    time, deviation = (
        re.search(rf'^{key} = "(.*)"$', text, re.MULTILINE)[1] for key in ("time", "deviation")
    )
    start, mnk, nk = map(
        float, re.fullmatch(r"(\S+) us \+ (\S+) ps .*K \+ (\S+) ps \* N \* K", time).groups()
    )
    assert (start, mnk, nk) == pytest.approx((2, 100, 2000), rel=0.01)
    assert float(re.search(r"(\S+) ps \* M \* N \* K", deviation)[1]) == pytest.approx(3, rel=0.1)
    assert "us" not in deviation


def test_a_design_and_a_blas_are_wanted(tmp_path: Path) -> None:
    words = ("--program", "kernels", "-o", tmp_path / "out", "--mpicc", "cc")
    done = calibrate("measure", *words, "--", "true")
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1


@needs_mpi
def test_a_blas_that_is_not_there_is_named(tmp_path: Path) -> None:
    design.write([("dgemm", 1, 1, 1)], tmp_path / "list.csv")
    words = ("--program", "kernels", "--design", tmp_path / "list.csv", "--blas", "-lno-such-blas")
    done = calibrate("measure", *words, "-o", tmp_path / "out", "--", *launch(REAL[0], 2))
    assert done.returncode == 2 and "-lno-such-blas" in done.stderr.splitlines()[0]
    done = calibrate("measure", *words[:2], "-o", tmp_path / "other", "--", *launch(REAL[0], 2))
    assert "--program kernels needs --design" in done.stderr


@needs_hopcast
def test_modes_of_a_simulated_kernel_come_back(tmp_path: Path) -> None:
    """The weight of a mode of a tenth is known within 0.01 by 4,000 calls (two standard errors)."""
    kernel = """[[compute.kernels]]
function = "daxpy"
modes = [
    { weight = 0.9, mean = "1 us + 2 ns * N", deviation = "0.02 us + 40 ps * N" },
    { weight = 0.1, mean = "5 us + 10 ns * N", deviation = "0.1 us + 200 ps * N" },
]
"""
    platform = tmp_path / "modelled.toml"
    platform.write_text(PLATFORM.partition("[[compute.kernels]]")[0] + kernel)
    rows = [("daxpy", 1, size, 1) for size in (10, 100, 1000, 5000, 20_000) for _ in range(400)]
    launcher = [*HOPCAST, "run", platform, "-n", "2", "--quiet", "--compute", "none", "--kernels", "skip"]
    measured(tmp_path, rows, launcher)
    entry = tmp_path / "entry.toml"
    calls = tmp_path / "out" / "kernels.csv"
    done = calibrate("kernels", calls, "--function", "daxpy", "--arguments", "n", "-o", entry)
    assert done.returncode == 0, done.stderr
    (found,) = tomllib.loads(entry.read_text())["compute"]["kernels"]
    usual, rare = found["modes"]
    assert (usual["weight"], rare["weight"]) == pytest.approx((0.9, 0.1), abs=0.02)
    for mode, start, slope in ((usual, 1, 2000), (rare, 5, 10_000)):
        us, ps = re.fullmatch(r"(\S+) us \+ (\S+) ps \* N", mode["mean"]).groups()
        assert (float(us), float(ps)) == pytest.approx((start, slope), rel=0.04)


@needs_hopcast
def test_kernels_and_the_rate_of_a_process_come_back_in_one_go(tmp_path: Path) -> None:
    """2 µs, 100 ps MNK and 2 ns NK within 2 %, which a run on the fitted platform takes."""
    machine = tmp_path / "modelled.toml"
    machine.write_text(PLATFORM)
    few = ("--sizes", "20", "--repetitions", "4", "--polls", "4", "--product", "1e6", "--kernels", "dgemm")
    launcher = [*HOPCAST, "run", machine, "-n", "2", "--ppn", "1", "--compute", "none", "--kernels", "skip"]
    out = tmp_path / "again"
    done = calibrate("-o", out, *few, "--blas", BLAS, "--", *launcher)
    assert done.returncode == 0, done.stderr
    platform = tomllib.loads((out / "again.toml").read_text())
    (found,) = platform["compute"]["kernels"]
    start, mnk, nk = re.fullmatch(r"(\S+) us \+ (\S+) ps .*K \+ (\S+) ps \* N \* K", found["time"]).groups()
    assert (float(start), float(mnk), float(nk)) == pytest.approx((2, 100, 2000), rel=0.02)
    with (out / "kernels" / "kernels.csv").open(newline="") as file:
        calls = list(csv.DictReader(file))
    flop = sum(2 * int(row["m"]) * int(row["n"]) * int(row["k"]) for row in calls)
    rate = 1e-9 * flop / sum(float(row["duration"]) for row in calls)
    assert float(platform["compute"]["flop_rate"].split()[0]) == pytest.approx(rate, rel=1e-4)
    assert "dgemm" in [check["what"] for check in platform["calibration"]["checks"]]
    ran = subprocess.run(
        [*HOPCAST, "run", out / "again.toml", "-n", "2", "barrier"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "dgemm within" in ran.stdout.replace("\n", " ")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "--flop-rate: what is the rate of a process?"),
        (("--kernels", "daxpy"), "or measure it with --kernels dgemm"),
        (("--kernels", "sgemm"), "--kernels: unknown routine 'sgemm'; known: dgemm"),
    ],
)
def test_a_rate_is_wanted_before_anything_is_measured(words, message: str, tmp_path: Path) -> None:
    done = calibrate("-o", tmp_path / "x", *words, "--", "true")
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr
