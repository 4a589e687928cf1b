"""`bench/matrix.py`: its cells are runs that work, and its headlines say what it measured."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

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
