"""Clusters and days that a study draws: each cell has the processors of its own."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as parquet
import pytest
from test_replicates import products as products  # a fixture: a program, a model, and a platform

from hopcast.errors import InputError
from hopcast.study import cells, file as files

HOPCAST = [sys.executable, "-m", "hopcast"]
DRAWN = 'nodes = "{hosts}", seed = "{cluster}", gamma = "{gamma}", remove_slowest = 1'
STUDY = """
platform = "tabled.toml"
workload = "./products"
[options]
ranks = 2
ppn = 1
compute = "none"
[clusters]
"drawn.csv" = { model = "model.toml", DRAWN }
[set]
"compute.kernels.0.table" = "drawn.csv"
[factors]
cluster = [1, 2, 3]
gamma = [0.0, 0.1]
fixed = { hosts = 3 }
""".replace("DRAWN", DRAWN)


def hopcast(folder: Path, *words: str) -> str:
    done = subprocess.run([*HOPCAST, *words], cwd=folder, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows(text: str) -> list[list[str]]:
    return list(csv.reader(line for line in text.splitlines() if not line.startswith("#")))


def test_each_cell_runs_on_the_processors_that_the_command_draws(products: Path) -> None:
    (products / "study.toml").write_text(STUDY)
    hopcast(products, "study", "study.toml", "--quiet", "--out", "cells")
    found = parquet.read_table(products / "cells" / "results.parquet").to_pylist()
    assert len(found) == 6 and len({cell["makespan_s"] for cell in found}) == 6
    assert not (products / "drawn.csv").exists()
    for cell in found:
        options = ("--nodes", "3", "--seed", str(cell["cluster"]), "--gamma", str(cell["gamma"]))
        hopcast(products, "cluster", "draw", "model.toml", *options, "--remove-slowest", "1", "-o", "own.csv")
        words = ("--compute", "none", "--set", "compute.kernels.0.table=own.csv", "--json", "./products")
        alone = hopcast(products, "run", "tabled.toml", "-n", "2", "--ppn", "1", *words)
        assert f'"makespan_s": {cell["makespan_s"]!r}' in alone


def test_a_draw_depends_on_its_own_values_alone(products: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(products)
    day = STUDY.replace('gamma = "{gamma}"', 'day = "{day}"').replace("gamma = [0.0, 0.1]", "day = [4, 7]")
    tables = {}
    for piece in cells.pieces(files.read(day, "study.toml", products, "study")):
        tables[piece.parameters["cluster"], piece.parameters["day"]] = piece.inputs["files"]["drawn.csv"]
    assert len({str(rows(text)) for text in tables.values()}) == 3  # this model's days are all alike
    one = rows(tables[1, 4])
    assert [row[0] for row in one] == ["host", "", "0", "1"]
    assert "seed 1, day 4" in tables[1, 4]


@pytest.mark.parametrize(
    ("was", "becomes", "message"),
    [
        ('nodes = "{hosts}", ', "", r"\[clusters\] drawn.csv: 'nodes' is missing"),
        ("remove_slowest", "remove", "unknown key 'remove'; known: model, host_names, nodes"),
        ("model.toml", "none.toml", "none.toml"),
        ('seed = "{cluster}"', 'seed = "{clusters}"', "{clusters} is no factor"),
        ('"compute.kernels.0.table" = "drawn.csv"', "", "drawn.csv: nothing names it"),
        ('"drawn.csv" = {', '"../drawn.csv" = {', "the name of a file of its own is wanted"),
        ("cluster = [1, 2, 3]", 'cluster = ["a"]', "cell 0 .*seed = 'a': a whole number is wanted"),
        ("hosts = 3", "hosts = 1", "at least one must be left"),
        ("gamma = [0.0, 0.1]", "gamma = [-1]", "gamma = -1: a number from 0 on is wanted"),
        ("{ model", '{ host_names = "node", model', "host_names = 'node' has no {} for the number"),
    ],
)
def test_what_cannot_be_drawn_is_said(
    products: Path, monkeypatch: pytest.MonkeyPatch, was: str, becomes: str, message: str
) -> None:
    monkeypatch.chdir(products)
    assert was in STUDY
    with pytest.raises(InputError, match=message):
        cells.pieces(files.read(STUDY.replace(was, becomes), "study.toml", products, "study"))
