"""`bench/matrix.py`: its cells are runs that work, and its headlines say what it measured."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

MATRIX = Path(__file__).parents[2] / "bench" / "matrix.py"


def matrix(*words: str) -> str:
    return subprocess.run(
        [sys.executable, str(MATRIX), *words], capture_output=True, text=True, check=True
    ).stdout


def test_quick_cells_run_and_the_headlines_are_theirs(tmp_path: Path) -> None:
    results = tmp_path / "results.json"
    said = matrix(
        "--quick",
        "--models",
        "max-rate,loggp,packet",
        "--only",
        "linear 1 KiB, torus",
        "--json",
        str(results),
    )
    measured = json.loads(results.read_text())
    assert [(one["cell"]["model"], one["cell"]["placement"]) for one in measured] == [
        (model, placement) for model in ("max-rate", "loggp", "packet") for placement in ("linear", "random")
    ]
    assert all(one["messages"] == 32 * 31 and one["cpu_s"] > 0 for one in measured)
    for model in ("max-rate", "loggp", "packet"):
        (line,) = re.findall(rf"^{model}: .*$", said, re.MULTILINE)
        rates = [one["rate"] for one in measured if one["cell"]["model"] == model]
        mean, worst = (float(text.replace(",", "")) for text in re.findall(r"([\d,]+) (?:messages|\()", line))
        assert abs(mean - (rates[0] * rates[1]) ** 0.5) <= 1 and abs(worst - min(rates)) <= 1
        assert "all-to-all linear 1 KiB, torus" in line
        assert f"best {max(rates):,.0f}; below a quarter of the best: {int(4 * worst < max(rates))}" in line
    hops = [one["packet_hops"] / one["cpu_s"] for one in measured if one["cell"]["model"] == "packet"]
    assert re.findall(
        r"^.*, by hops: .* packet-hops/s, worst ([\d,]+) .*, best ([\d,]+)$", said, re.MULTILINE
    ) == [(f"{min(hops):,.0f}", f"{max(hops):,.0f}")]


def test_the_matrix_has_all_models() -> None:
    listed = [sys.executable, "-m", "hopcast", "list", "models", "--json"]
    (models,) = json.loads(subprocess.run(listed, capture_output=True, text=True, check=True).stdout)
    names = {entry["name"] for entry in models["entries"]}
    done = subprocess.run([sys.executable, str(MATRIX), "--models", "none"], capture_output=True, text=True)
    assert done.returncode == 2
    assert set(done.stderr.rpartition("known: ")[2].strip().split(", ")) == names


def test_a_name_that_no_cell_has_is_refused() -> None:
    done = subprocess.run(
        [sys.executable, str(MATRIX), "--only", "nothing like it"], capture_output=True, text=True
    )
    assert done.returncode == 1 and "no cell has 'nothing like it'" in done.stderr


def beside(*words: str, other: Path = MATRIX.parents[1]) -> str:
    script = MATRIX.with_name("beside.py")
    command = [sys.executable, str(script), str(other), "--rounds", "1", *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_a_build_beside_itself_sends_the_same_messages() -> None:
    said = beside("--quick", "--matrix", "loggp, all-to-all pairwise 1 KiB, torus")
    (columns,) = re.findall(r"^loggp: all-to-all .{43}(.*)$", said, re.MULTILINE)
    times, rates = columns.split()[:2], columns.replace(",", "").split()[3:]
    sent = [float(time) * float(rate) for time, rate in zip(times, rates, strict=True)]
    assert sent == pytest.approx([32 * 31] * 2, rel=0.05)
    assert re.search(r"^loggp, here: [\d,]+ messages/s", said, re.MULTILINE)


def test_a_case_that_the_other_build_does_not_know_is_left_out(tmp_path: Path) -> None:
    package = tmp_path / "python" / "hopcast"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text("raise SystemExit(2)\n")
    said = beside("--quick", "--matrix", "loggp, all-to-all pairwise 1 KiB, torus", other=tmp_path)
    assert "not known to the other build" in said and "geometric mean" not in said


def test_a_run_is_ended_at_the_limit() -> None:
    said = beside("--limit", "1", "--matrix", "packet, halo 7 kB, hopper, random")
    assert "both take more than 1 s" in said
