"""Entries of a platform from calls of kernels: pieces, modes or deviations, ranges, and tables."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from test_calibrate_kernels import MNK, PLATFORM, START, calibrate

from hopcast import core
from hopcast.errors import InputError
from hopcast.toml import tomllib

DECLARED = ("--function", "relax", "--arguments", "n", "--declaration", "int n, double *grid")
SLOPE = 3e-9
"""Time of one of `relax`'s n [s]."""


def calls(folder: Path, columns: dict[str, np.ndarray]) -> Path:
    """A file of calls."""
    file = folder / "calls.csv"
    with file.open("w", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow(columns)
        writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))
    return file


def lengths(repetitions: int, count: int = 40) -> np.ndarray:
    """Lengths from a hundred to a million, each repeated."""
    return np.repeat(np.floor(np.geomspace(1e2, 1e6, count)), repetitions)


def entry(folder: Path, file: Path, *words: str) -> tuple[dict, str]:
    """The one entry that is fitted, which a platform has taken, and what was printed."""
    out = folder / "entry.toml"
    printed = calibrate(file, *words, "-o", out)
    platform = folder / "platform.toml"
    platform.write_text(PLATFORM.replace("processes = 1", "processes = 2, sockets = 2") + out.read_text())
    core.platform_text(str(platform), (), True)
    (kernel,) = tomllib.loads(out.read_text())["compute"]["kernels"]
    return kernel, printed


def test_time_that_others_had_the_processor_is_no_time_of_the_kernel(tmp_path: Path) -> None:
    """A tenth of the calls waits as long as it works: a share of 1/11 of all durations."""
    n = lengths(10)
    own = 1e-6 + SLOPE * n
    waited = np.where(np.arange(len(n)) % 10 == 0, own, 0.0)
    columns = {"n": n, "duration": own + waited, "processor_s": own * 1.0001}
    kernel, printed = entry(tmp_path, calls(tmp_path, columns), *DECLARED)
    assert "other programs had the processors for 9.09 % of the calls' time" in printed
    assert float(kernel["time"].split()[3]) == pytest.approx(3000, rel=1e-4)
    columns["duration"] = own
    _, printed = entry(tmp_path, calls(tmp_path, columns), *DECLARED)
    assert "busy" not in printed


def test_pieces_are_a_formula_with_conditions(tmp_path: Path) -> None:
    """From 10,000 on another rate, as where a library goes to a coprocessor."""
    n = lengths(3, 120)
    seconds = np.where(n <= 10_000, 1e-6 + 5e-9 * n, 2e-5 + 1e-9 * n)
    noise = np.exp(0.002 * np.random.default_rng(1).standard_normal(len(n)))
    kernel, printed = entry(tmp_path, calls(tmp_path, {"n": n, "duration": seconds * noise}), *DECLARED)
    below, rest = kernel["time"].split(" if n <= ")
    limit, above = rest.split(" else ")
    assert float(limit) == n[n <= 10_000][-1]
    for text, start, slope in ((below, 1, 5000), (above, 20, 1000)):
        found = [float(word) for word in text.replace("us +", "").replace("ps * n", "").split()]
        assert found == pytest.approx([start, slope], rel=0.02)
    assert "M′" in printed and "chosen" in printed.split("M′")[1].splitlines()[0]


def test_calls_that_take_a_multiple_are_modes(tmp_path: Path) -> None:
    """A tenth of the calls takes four times as long."""
    random = np.random.default_rng(2)
    n = lengths(30)
    slow = random.random(len(n)) < 0.1
    seconds = (START + SLOPE * n) * np.where(slow, 4, 1) * (1 + 0.02 * random.standard_normal(len(n)))
    kernel, printed = entry(tmp_path, calls(tmp_path, {"n": n, "duration": seconds}), *DECLARED)
    assert "noise      N′ by criterion, of N-1, N-2, N′" in printed
    assert not {"time", "noise", "deviation"} & set(kernel)
    usual, rare = kernel["modes"]
    assert (usual["weight"], rare["weight"]) == pytest.approx((1 - slow.mean(), slow.mean()), abs=0.01)
    slopes = [float(mode["mean"].split(" ps * n")[0].split()[-1]) for mode in (usual, rare)]
    assert slopes == pytest.approx([1e12 * SLOPE, 4e12 * SLOPE], rel=0.03)
    own = ("--noise", "half-normal")
    assert "time" in entry(tmp_path, tmp_path / "calls.csv", *DECLARED, *own)[0]


@pytest.mark.parametrize(
    ("constant", "share", "name"), [(2e-5, 0.0, "N-1"), (0.0, 0.05, "N-2")], ids=["N-1", "N-2"]
)
def test_the_deviation_is_the_one_that_the_calls_have(
    constant: float, share: float, name: str, tmp_path: Path
) -> None:
    random = np.random.default_rng(3)
    n = lengths(30)
    mean = 2e-4 + SLOPE * n
    seconds = mean + (constant + share * mean) * random.standard_normal(len(n))
    kernel, printed = entry(tmp_path, calls(tmp_path, {"n": n, "duration": seconds}), *DECLARED)
    assert f"noise      {name} by criterion" in printed
    assert kernel["noise"] == "half-normal"
    if name == "N-1":
        assert float(kernel["deviation"].removesuffix(" us")) == pytest.approx(20, rel=0.05)
    else:
        slope = float(kernel["deviation"].split(" ps * n")[0].split()[-1])
        assert slope == pytest.approx(1e12 * share * SLOPE, rel=0.15)


def test_modes_that_are_not_there_are_not_made(tmp_path: Path) -> None:
    n = lengths(30)
    noise = 1 + 0.02 * np.random.default_rng(4).standard_normal(len(n))
    file = calls(tmp_path, {"n": n, "duration": (START + SLOPE * n) * noise})
    with pytest.raises(InputError, match="--noise modes: all calls: single calls show one mode"):
        calibrate(file, *DECLARED, "--noise", "modes", "-o", tmp_path / "x.toml")
    assert not (tmp_path / "x.toml").exists()


def products(processors: tuple[tuple[int, int, float], ...]) -> dict[str, np.ndarray]:
    """Calls of dgemm, sixty sizes four times, on processors with a factor on their time each."""
    random = np.random.default_rng(5)
    m, n, k = np.repeat(random.integers(5, 300, (60, 3)), 4, axis=0).T.astype(float)
    own = [(START + MNK * m * n * k) * (1 + 0.01 * random.standard_normal(len(m))) for _ in processors]
    count = len(m)
    return {
        "node": np.repeat([node for node, _, _ in processors], count),
        "cpu": np.repeat([cpu for _, cpu, _ in processors], count),
        **{name: np.tile(values, len(processors)) for name, values in zip("mnk", (m, n, k), strict=True)},
        "duration": np.concatenate([part * each[2] for part, each in zip(own, processors, strict=True)]),
    }


def test_processors_of_hosts_are_rows_of_a_table(tmp_path: Path) -> None:
    processors = ((0, 0, 1.0), (0, 1, 1.2), (1, 0, 1.5), (1, 1, 0.9))
    columns = products(processors)
    words = ("--function", "dgemm", "--by", "node,cpu", "--host-names", "{}")
    kernel, _ = entry(tmp_path, calls(tmp_path, columns), *words)
    assert (kernel["table"], kernel["noise"]) == ("entry.csv", "half-normal")
    sides = {name: columns[name].max() for name in "mnk"}
    whole = (columns["m"] * columns["n"] * columns["k"]).max()
    for name, most in sides.items():
        assert f"{name.upper()} <= {most:.0f}" in kernel["range"]
    assert f"M*N*K <= {whole:.0f}" in kernel["range"]
    with (tmp_path / "entry.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["host"], row["socket"]) for row in rows] == [(str(a), str(b)) for a, b, _ in processors]
    for row, (_, _, factor) in zip(rows, processors, strict=True):
        assert float(row["M*N*K"]) == pytest.approx(factor * MNK, rel=0.01)
    with pytest.raises(InputError, match="a table has deviations alone"):
        calibrate(tmp_path / "calls.csv", *words, "--noise", "modes", "-o", tmp_path / "x.toml")
