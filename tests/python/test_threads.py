"""Simulations on threads of one process: a free interpreter, the same results, and progress."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import hopcast

ENDLESS = {"ranks": 64, "kwargs": {"iterations": 100_000_000, "bytes": "1 KiB"}}


class Enough(Exception):
    """Ends a run from its progress."""


def test_other_threads_run_while_a_simulation_does() -> None:
    """A thread counts. What it counts between two calls of the progress, it counts while the core works."""
    counted, over, spans = [0], threading.Event(), []

    def count() -> None:
        while not over.is_set():
            counted[0] += 1

    def progress(*_state) -> None:
        entered = counted[0]
        if (spans and entered > spans[-1]) or len(spans) == 100:
            raise Enough(entered > spans[-1])
        spans.append(counted[0])

    thread = threading.Thread(target=count)
    thread.start()
    try:
        with pytest.raises(Enough, match="True"):
            hopcast.run("crossbar", "ring", progress=progress, **ENDLESS)
    finally:
        over.set()
        thread.join()


RUNS = [
    ("crossbar", "ring", {"ranks": 16}),
    ("crossbar", "halo3d", {"ranks": 8, "model": "packet", "ppn": 1}),
    ("crossbar", "uniform", {"ranks": 8, "model": "packet", "seed": 4}),
    ("crossbar", "alltoall", {"ranks": 8, "model": "loggp", "threads": 2, "ppn": 1}),
    ("crossbar", "program", {"ranks": 8}),
]


def program(comm):
    return comm.allreduce(comm.rank)


def simulated(run: tuple) -> str:
    platform, workload, how = run
    return hopcast.run(platform, program if workload == "program" else workload, **how).outcome_hash


def test_simulations_on_threads_have_the_outcomes_that_they_have_alone() -> None:
    alone = [simulated(run) for run in RUNS]
    assert len(set(alone)) == len(RUNS)
    with ThreadPoolExecutor(len(RUNS)) as pool:
        assert list(pool.map(simulated, RUNS * 2)) == alone * 2


def test_two_simulations_are_under_way_at_once() -> None:
    both = threading.Barrier(2, timeout=60)

    def progress(*_state) -> None:
        both.wait()
        raise Enough

    def run(_number: int) -> str:
        with pytest.raises(Enough):
            hopcast.run("crossbar", "ring", progress=progress, **ENDLESS)
        return "met"

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(run, range(2))) == ["met", "met"]


def test_progress_is_told_up_to_the_end() -> None:
    told: list[tuple] = []
    report = hopcast.run(
        "crossbar", "ring", 16, kwargs={"iterations": 2_000}, progress=lambda *state: told.append(state)
    )
    assert told[-1] == (report.makespan_s, report.events, 1.0)
    times, events, shares = zip(*told, strict=True)
    assert list(times) == sorted(times) and list(events) == sorted(events)
    assert all(0 <= share <= 1 for share in shares)


def test_a_request_of_another_folder_is_refused_on_a_thread(tmp_path: Path) -> None:
    hopcast.RunRequest.of("crossbar", "ring", ranks=2).save(tmp_path / "request.json", moves=False)
    (tmp_path / "inner").mkdir()
    request = hopcast.RunRequest.load(tmp_path / "request.json")
    from dataclasses import replace

    moved = replace(request, directory=str(tmp_path / "inner"))
    assert hopcast.run(moved).ranks == 2
    with (
        ThreadPoolExecutor(1) as pool,
        pytest.raises(hopcast.InputError, match="all threads share the working"),
    ):
        pool.submit(hopcast.run, moved).result()
