"""The examples run as they say, and their numbers are those of closed forms on the unit platform."""

import importlib.util
import json
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import hopcast

from .conftest import UNIT, message_s

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
FLOP_RATE = 1e9
MEMORY_BANDWIDTH = 1e9


def load(name):
    """An example as a module."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_pingpong_is_latency_plus_length_over_bandwidth():
    sizes = [8, 512, 32768]
    report = hopcast.run(UNIT, EXAMPLES / "pingpong.py", ranks=2, args=sizes, model="postal")
    assert [nbytes for nbytes, _ in report.results[0]] == sizes
    for nbytes, time_s in report.results[0]:
        assert time_s == pytest.approx(message_s(nbytes), rel=1e-9)


@pytest.mark.parametrize("ranks", [1, 4, 9, 16])
def test_cannon_multiplies(go, ranks):
    generator = np.random.default_rng(1)
    side = int(ranks**0.5)
    a, b = generator.random((12, 12)), generator.random((12, 12))
    blocks = go(load("cannon").multiply, ranks, a, b)
    product = np.block([[blocks[row * side + column] for column in range(side)] for row in range(side)])
    np.testing.assert_allclose(product, a @ b)


@pytest.mark.parametrize("side", [2, 4, 8])
def test_cannon_takes_its_flops_and_its_shifts(predict, side):
    m = 64
    example = load("cannon")
    report = predict(example.cannon, side * side, m * side)
    creation_s = predict(lambda comm: example.square_grid(comm) and None, side * side).makespan_s
    block = 8 * m * m  # 32 KiB: eager
    read_s = 2 * block / MEMORY_BANDWIDTH
    # Two shifts align the blocks, then two follow each multiplication but the last.
    expected = read_s + 2 * message_s(block) + side * 2 * m**3 / FLOP_RATE + (side - 1) * 2 * message_s(block)
    assert report.makespan_s == pytest.approx(creation_s + expected, rel=1e-9)


def test_cannon_takes_a_square_number_of_ranks(go):
    with pytest.raises(hopcast.ProgramError, match="square number of ranks, not 6"):
        go(load("cannon").cannon, 6, 120)


@pytest.mark.parametrize(("dimensions", "cells", "ranks"), [(2, 128, 16), (3, 16, 64)])
def test_halo_sends_its_faces_at_once(go, dimensions, cells, ranks):
    step_s = go(load("halo").halo, ranks, dimensions, cells)
    face = 8 * cells ** (dimensions - 1)
    expected = message_s(face) + 8 * cells**dimensions / FLOP_RATE
    assert step_s == pytest.approx([expected] * ranks, rel=1e-9)


def test_one_worker_does_one_task_after_the_other(predict):
    example = load("master_worker")
    tasks, given, result = 10, 50_000, 1_000
    report = predict(example.farm, 2, tasks, given, result)
    assert report.results == [[1] * tasks, list(range(tasks))]
    work_s = sum(example.WORK_S[task % len(example.WORK_S)] for task in range(tasks))
    stop = len(pickle.dumps(None, pickle.HIGHEST_PROTOCOL))
    messages_s = message_s(0) + tasks * (message_s(given) + message_s(result)) + message_s(stop)
    assert report.makespan_s == pytest.approx(work_s + messages_s, rel=1e-9)


def test_the_schedule_of_the_workers_depends_on_congestion(predict):
    example = load("master_worker")
    tasks, workers = 100, 8

    def farm(model):
        report = predict(example.farm, workers + 1, tasks, model=model)
        worker_of, *done = report.results
        assert sorted(task for tasks in done for task in tasks) == list(range(tasks))
        assert all(task in done[worker - 1] for task, worker in enumerate(worker_of))
        return worker_of, report.makespan_s

    alone, alone_s = farm("postal")
    shared, shared_s = farm("loggp")
    assert shared != alone
    # All inputs leave the master through one interface, one after the other.
    assert shared_s > tasks * example.INPUT_BYTES / 1e9
    assert shared_s > alone_s
    assert farm("loggp") == (shared, shared_s)


@pytest.mark.parametrize(
    ("name", "ranks", "words"),
    [("pingpong", 2, ["8"]), ("cannon", 16, ["1000"]), ("halo", 8, ["3", "16"]), ("master_worker", 4, ["9"])],
)
def test_the_command_line_runs_it(name, ranks, words):
    command = [Path(sys.executable).with_name("hopcast"), "run", UNIT, "-n", str(ranks), "--model", "loggp"]
    command += ["--json", EXAMPLES / f"{name}.py", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert (summary["ranks"], summary["workload"]) == (ranks, " ".join((f"{name}.py", *words)))
    assert summary["makespan_s"] > 0


@pytest.mark.parametrize("name", ["pingpong", "cannon", "halo", "master_worker"])
def test_python_runs_it(name):
    done = subprocess.run(
        [sys.executable, EXAMPLES / f"{name}.py"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") >= 2
