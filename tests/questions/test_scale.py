"""Scaling: closed forms of speed-up and efficiency, and losses that add up."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from hopcast.cli import commands, exits
from hopcast.errors import InputError
from hopcast.questions import formulas, scale


def hopcast(*words: object) -> str:
    done = CliRunner().invoke(commands, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_numbers_of_ranks() -> None:
    assert scale.numbers(8, 64, 2) == [8, 16, 32, 64]
    assert scale.numbers(1, 10, 2) == [1, 2, 4, 8, 10]
    assert scale.numbers(2, 4, 1.2) == [2, 3, 4]
    for arguments, why in (((4, 2, 2), "rising"), ((1, 2, 1), "above 1")):
        with pytest.raises(InputError, match=why):
            scale.numbers(*arguments)


def test_formulas_of_the_ranks() -> None:
    assert formulas.filled("{8/ranks}s", 16) == "0.5s" and formulas.filled("{1000*ranks}", 4) == "4000"
    assert formulas.filled("n={ranks//3}x{2**3}", 10) == "n=3x8" and formulas.filled("plain", 2) == "plain"
    for word in ("{rank}", "{1/0}", "{__import__('os')}", "{}", "{'a'}"):
        with pytest.raises(InputError, match="formula"):
            formulas.filled(word, 2)


def point(ranks: int, makespan_s: float, **parts: float) -> scale.Point:
    cost = dict.fromkeys(scale.NAMES, 0.0) | parts
    cost["end"] = ranks * makespan_s - sum(cost.values())
    return scale.Point(ranks, makespan_s, cost, "The links limit this run.")


def test_amdahls_law_and_its_loss() -> None:
    """One second of serial work on rank 0, nine that are shared: T = 1 + 9/p; all others are idle for a
    second."""
    points = [point(p, 1 + 9 / p, compute=10.0, late_sender=float(p - 1)) for p in (1, 2, 4, 9)]
    found = scale.scaling(points, weak=False, bound=0.6)
    assert [step.speed_up for step in found.steps] == pytest.approx([10 / (1 + 9 / p) for p in (1, 2, 4, 9)])
    assert [step.efficiency for step in found.steps] == pytest.approx([10 / (p + 9) for p in (1, 2, 4, 9)])
    assert found.breakdown is found.steps[3] and found.best is found.steps[3]
    # Of a cost of 18 s, 8 s are waiting: 44 %, the whole loss.
    assert found.steps[3].losses == (("late sender", pytest.approx(8 / 18)),)
    assert "Breaks down at 9 ranks: an efficiency of 56 %" in found.words()
    assert "late sender (44 % of" in found.words() and "The links limit" in found.words()
    assert scale.scaling(points, weak=False, bound=0.5).breakdown is None


def test_weak_scaling_keeps_the_work_of_a_rank() -> None:
    points = [point(p, 1 + 0.1 * (p - 1), compute=float(p), bandwidth=0.1 * p * (p - 1)) for p in (1, 3, 11)]
    found = scale.scaling(points, weak=True, bound=0.7)
    assert [step.efficiency for step in found.steps] == pytest.approx([1, 1 / 1.2, 1 / 2])
    assert [step.speed_up for step in found.steps] == pytest.approx([1, 3 / 1.2, 11 / 2])
    assert found.breakdown is found.steps[2] and found.steps[2].losses == (("bandwidth", pytest.approx(0.5)),)


def test_losses_of_simulated_runs_add_up_to_the_lost_efficiency(tmp_path: Path) -> None:
    """Time of the ranks by cause, and at the end, is their number times the makespan."""
    table, page = tmp_path / "scale.csv", tmp_path / "scale.html"
    said = hopcast(
        "scale", "fat-tree", "--from", 4, "--to", 64, "--factor", 4, "--table", table, "--page", page,
        "allreduce", "--bytes", "1MiB", "--compute", "{0.02/ranks}s",
    )  # fmt: skip
    with table.open() as file:
        rows = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]
    assert [row["ranks"] for row in rows] == [4, 16, 64]
    for row in rows:
        spent = sum(row[f"{name}_s"] for name in scale.NAMES)
        assert spent == pytest.approx(row["ranks"] * row["makespan_s"], rel=1e-6)
        assert row["compute_s"] == pytest.approx(0.02, rel=1e-6)
        assert row["speed_up"] == pytest.approx(rows[0]["makespan_s"] / row["makespan_s"])
        assert row["efficiency"] == pytest.approx(row["speed_up"] * 4 / row["ranks"])
    assert "Breaks down at 64 ranks" in said or "Breaks down at 16 ranks" in said
    shown = page.read_text()
    assert shown.count("<svg") == 2 and "Breaks down at" in shown and "http" not in shown


def test_options_of_one_run_are_refused() -> None:
    with pytest.raises(InputError, match="--from and --to"):
        CliRunner().invoke(
            commands,
            ["scale", "crossbar", "-n", "4", "--from", "1", "--to", "2", "halo3d"],
            catch_exceptions=False,
        )


@pytest.mark.parametrize(
    "option", [("--stop-at", "1ms"), ("--messages", 10), ("--profile-simulator",), ("--debug-rank", 0)]
)
@pytest.mark.parametrize(
    "question", [("scale", "crossbar", "--from", 2, "--to", 4), ("place", "crossbar", "-n", 4)]
)
def test_options_that_only_one_run_shows_are_refused(question, option) -> None:
    with pytest.raises(InputError, match=f"{question[0]}: {option[0]} is of one run"):
        hopcast(*question, *option, "ring", "--bytes", "8B")


def test_a_file_that_cannot_be_written_is_told_before_anything_runs(tmp_path: Path) -> None:
    file = tmp_path / "nowhere" / "scale.csv"
    done = CliRunner().invoke(
        commands, ["scale", "crossbar", "--from", "2", "--to", "4", "--table", str(file), "ring"]
    )
    assert isinstance(done.exception, InputError) and "there is no folder" in str(done.exception)
    assert done.output == ""


FAILS_ON_EIGHT = """
def main(comm):
    comm.barrier()
    if comm.size == 8:
        comm.recv(source=0)
"""


def test_what_was_simulated_before_a_failure_is_shown(tmp_path: Path) -> None:
    program, table = tmp_path / "program.py", tmp_path / "scale.csv"
    program.write_text(FAILS_ON_EIGHT)
    words = ["scale", "crossbar", "--from", "2", "--to", "16", "--table", str(table), str(program)]
    done = subprocess.run(
        [sys.executable, "-m", "hopcast", *words], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == exits.PROGRAM_FAILED
    assert "\nerror: deadlock" in done.stderr and "Traceback" not in done.stderr
    with table.open() as file:
        assert [row["ranks"] for row in csv.DictReader(file)] == ["2", "4"]
    assert "The next run failed: deadlock" in done.stdout
