"""Runs in workers of Dask that die, fall silent or bring a report slowly."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from clusters import cluster_of, processes, stranger, until
from conftest import LONG, User, request, result_of, user_of

from hopcast.service import dask_place, dask_worker
from hopcast.service.dask_place import DaskPlace
from hopcast.service.pool import Pool
from hopcast.service.settings import Limits, Settings
from hopcast.service.store import Store

distributed = pytest.importorskip("distributed", reason="Dask is not installed")
pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at /proc")


def test_a_run_whose_only_worker_dies_waits_for_another(
    settings: Settings, served: Callable[..., Any], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with cluster_of(0) as alone:
        user = user_of(*served(replace(settings, scheduler=alone.scheduler_address)), "alice")
        with stranger(alone.scheduler_address) as worker:
            run = user.submit(request(64, LONG))
            user.going(run)
            os.kill(worker.pid, signal.SIGKILL)
            state = user.until(run, lambda state: state["state"] == "queued")
            assert state["attempts"] == 1 and state["started_at"] is None
            until(lambda: not processes())
        until(lambda: "has no workers: no run begins until that changes" in capfd.readouterr().err)
        with stranger(alone.scheduler_address):
            assert user.going(run)["attempts"] == 2
            user.ask("DELETE", f"/runs/{run}", 204)
            until(lambda: not processes())


def test_a_task_that_the_server_has_ended_before_it_comes_does_not_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = SimpleNamespace(local_directory=str(tmp_path), address="here", log_event=lambda *_: None)
    monkeypatch.setattr(distributed, "get_worker", lambda: worker)
    task = {"limits": asdict(Limits())}
    assert result_of(dask_worker.end("ended"))
    thread = threading.Thread(target=dask_worker.perform, args=("ended", "topic", task), daemon=True)
    thread.start()
    thread.join(dask_worker.LEASE_S / 2)
    assert not thread.is_alive() and not dask_worker._attempts and not list(tmp_path.iterdir())


class Bringing:
    """A run that has ended, and whose report comes slowly; or one that goes on."""

    code, has_begun = 0, True

    def __init__(self, has_ended: bool, over_s: float) -> None:
        self.has_ended, self.is_told = has_ended, False
        self._over_s = time.monotonic() + over_s

    def is_over(self) -> bool:
        return time.monotonic() > self._over_s

    def exceeded(self) -> str | None:
        return None

    def ended_by(self) -> str | None:
        return None

    def terminate(self) -> None:
        self.is_told = True

    def end(self) -> None:
        pass


@pytest.mark.parametrize(("has_ended", "why"), [(True, None), (False, "wall")])
def test_the_time_of_a_run_is_not_that_of_its_report(
    has_ended: bool, why: str | None, idle: User, settings: Settings
) -> None:
    limits = Limits(wall_s=0.1, grace_s=0.1)
    run = idle.service.store.run(idle.submit(request()))
    assert run is not None
    started = Bringing(has_ended, 1.5 if has_ended else 600)
    store: Store = idle.service.store
    assert Pool(replace(settings, limits=limits), store)._watch(run, started) == why
    assert started.is_told == (why == "wall")


def test_a_run_has_ended_while_its_report_is_on_its_way(far: User, monkeypatch: pytest.MonkeyPatch) -> None:
    held, may_go, call = threading.Event(), threading.Event(), DaskPlace.call

    def slowly(place: DaskPlace, worker: str, function: Callable[..., Any], *arguments: Any) -> Future:
        if function is not dask_worker.read or arguments[1] is not None:
            return call(place, worker, function, *arguments)
        held.set()
        return place._calls.submit(
            lambda: may_go.wait() and call(place, worker, function, *arguments).result()
        )

    monkeypatch.setattr(DaskPlace, "call", slowly)
    run = far.submit(request(8))
    assert held.wait(150)
    (started,) = far.service.pool._place._runs.values()  # type: ignore[attr-defined]
    assert started.has_ended and not started.is_over()
    assert far.ask("GET", f"/runs/{run}")["state"] == "running"
    may_go.set()
    assert far.over(run)["state"] == "finished"


def test_a_worker_that_does_not_answer_has_lost_its_run(far: User, monkeypatch: pytest.MonkeyPatch) -> None:
    call = DaskPlace.call

    def never(place: DaskPlace, worker: str, function: Callable[..., Any], *arguments: Any) -> Future:
        return Future() if function is dask_worker.begin else call(place, worker, function, *arguments)

    monkeypatch.setattr(DaskPlace, "call", never)
    monkeypatch.setattr(dask_place, "_SILENCE_S", 0.5)
    state = far.over(far.submit(request(8)))
    assert state["state"] == "failed" and state["attempts"] == 3
    assert "did not answer for 0.5 s" in state["error"]
    until(lambda: not processes())
