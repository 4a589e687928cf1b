"""Runs in workers of Dask: outcomes and limits are those of runs here, whatever is killed meanwhile."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import time
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from clusters import WHILE, cluster_of, forget_leases, outcome_here, processes, stranger, until, worker_of
from conftest import LONG, User, browser_of, request, user_of
from servers import HOPCAST, Server

from hopcast import core
from hopcast.errors import InputError
from hopcast.service import dask_place, dask_worker, places
from hopcast.service.settings import Limits, Settings

distributed = pytest.importorskip("distributed", reason="Dask is not installed")
pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at /proc")


def test_a_run_in_a_worker_has_the_outcome_and_the_report_of_one_here(far: User, tmp_path: Path) -> None:
    platform = core.platform_text("crossbar", (), False)
    (tmp_path / "mine.toml").write_text(platform)
    (tmp_path / "places").write_text("7\n6\n5\n4\n3\n2\n1\n0\n")
    files = {name: far.upload(name, (tmp_path / name).read_bytes()) for name in ("mine.toml", "places")}
    asked = request(8, seed=5, placement="places") | {"platform": "mine.toml"}
    run = far.submit(asked, files)
    state = far.over(run)
    assert state["state"] == "finished" and state["attempts"] == 1, state
    assert state["outcome"]["outcome_hash"] == outcome_here(asked, tmp_path)
    assert far.ask("GET", f"/runs/{run}/report")["outcome_hash"] == state["outcome"]["outcome_hash"]
    packed = zipfile.ZipFile(io.BytesIO(far.ask("GET", f"/runs/{run}/archive")))
    names = {name.partition("/")[2] for name in packed.namelist()}
    assert {"mine.toml", "places", "report/report.html", "report/report.json"} <= names
    assert not list((far.service.settings.data / "runs" / run).glob("attempt-*"))
    until(lambda: not processes())


def test_files_larger_than_a_piece_come_whole(
    far: User, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(dask_place, "_PIECE_B", 5000)
    platform = core.platform_text("crossbar", (), False) + "# " + "x" * 12_345 + "\n"
    (tmp_path / "mine.toml").write_text(platform)
    asked = request(4) | {"platform": "mine.toml"}
    state = far.over(far.submit(asked, {"mine.toml": far.upload("mine.toml", platform.encode())}))
    assert state["outcome"]["outcome_hash"] == outcome_here(asked, tmp_path)


def test_a_run_whose_worker_is_killed_is_run_again(far: User, tmp_path: Path) -> None:
    asked = request(64, WHILE)
    run = far.submit(asked)
    far.going(run)
    ((process, folder),) = processes().items()
    os.kill(worker_of(process), signal.SIGKILL)
    until(lambda: process not in processes(), 20)
    state = far.over(run)
    assert state["state"] == "finished" and state["attempts"] == 2, state
    assert state["outcome"]["outcome_hash"] == outcome_here(asked, tmp_path)
    until(lambda: not processes() and not folder.exists())


def test_a_run_is_given_up_after_three_workers(far: User) -> None:
    run = far.submit(request(64, LONG))
    for attempt in range(1, 4):
        far.until(run, lambda state, attempt=attempt: state["attempts"] == attempt and state["progress"])
        (process,) = processes()
        os.kill(worker_of(process), signal.SIGKILL)
        until(lambda process=process: process not in processes(), 20)
    state = far.over(run)
    assert state["state"] == "failed" and "killed 3 times" in state["error"], state
    assert "is gone" in state["error"]


def test_a_run_that_is_stopped_or_deleted_leaves_no_process(far: User) -> None:
    stopped = far.submit(request(64, LONG))
    far.going(stopped)
    ((_, folder),) = processes().items()
    far.ask("POST", f"/runs/{stopped}/stop", 202)
    state = far.over(stopped)
    assert state["state"] == "stopped" and state["outcome"]["partial"] and state["makespan_s"] > 0
    until(lambda: not processes() and not folder.exists(), 20)
    deleted = far.submit(request(64, LONG))
    far.going(deleted)
    ((_, folder),) = processes().items()
    far.ask("DELETE", f"/runs/{deleted}", 204)
    until(lambda: not processes() and not folder.exists(), 20)
    until(lambda: not (far.service.settings.data / "runs" / deleted).exists(), 20)


@pytest.mark.parametrize(
    ("changes", "asked", "state", "words"),
    [
        ({"wall_s": 4.0}, request(64, LONG), "stopped", "a run may take 4 s here"),
        ({"cpu_s": 3}, request(64, LONG), "failed", "3 s of processor time"),
        ({"disk_B": 3 << 20}, request(64, LONG, messages=5_000_000), "failed", "a run may write"),
        ({"memory_B": 1 << 30}, request(100_000, LONG), "failed", "memory"),
    ],
)
def test_limits_hold_in_a_worker(
    changes: dict[str, Any],
    asked: dict[str, Any],
    state: str,
    words: str,
    settings: Settings,
    served: Callable[..., Any],
    cluster: Any,
) -> None:
    changed = replace(settings, scheduler=cluster.scheduler_address, limits=replace(Limits(), **changes))
    user = user_of(*served(changed), "alice")
    found = user.over(user.submit(asked))
    assert found["state"] == state and words in found["error"] and found["attempts"] == 1, found
    until(lambda: not processes())


def test_the_live_page_has_the_rows_of_a_run_in_a_worker(far: User) -> None:
    run = far.submit(request(64, LONG, messages=2000))
    parts = far.service.settings.data / "runs" / run / "attempt-1" / "report" / "live" / "messages"
    until(lambda: list(parts.glob("[0-9]*.parquet")))
    assert "so far" in page_of(far, run)
    far.ask("POST", f"/runs/{run}/stop", 202)
    assert far.over(run)["state"] == "stopped"


def page_of(user: User, run: str) -> str:
    """The page of a run that goes on, with its pictures."""
    browser = browser_of(user)

    def shown() -> str:
        text = browser.get(f"/runs/{run}").text
        return text if "Message latency" in text else ""

    return until(shown)


def test_a_worker_of_another_build_is_refused(far: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_worker, "build", lambda: ["0.0.7", "x"])
    state = far.over(far.submit(request()))
    assert state["state"] == "failed" and "another build of hopcast" in state["error"]
    assert "0.0.7" in state["error"] and state["attempts"] == 1


def test_a_server_that_is_closed_takes_its_runs_back(
    settings: Settings, served: Callable[..., Any], cluster: Any
) -> None:
    changed = replace(settings, scheduler=cluster.scheduler_address)
    service, http = served(changed)
    user = user_of(service, http, "alice")
    run = user.submit(request(64, LONG))
    user.going(run)
    service.pool.close()
    assert not processes()
    found = service.store.run(run)
    assert found is not None and found.state == "queued" and found.attempts == 0


def test_a_server_that_is_killed_runs_again_what_was_running(tmp_path: Path, cluster: Any) -> None:
    where = ("--on", f"dask:{cluster.scheduler_address}")
    server = Server(tmp_path / "data", *where)
    run = server.client.submit(request(64, WHILE), {})["id"]
    until(lambda: server.client.state(run)["progress"])
    (process,) = processes()
    server.end(signal.SIGKILL)
    again = Server(tmp_path / "data", *where)
    try:
        until(lambda: process not in processes(), 20)
        state = again.client.wait(run)
        assert state["state"] == "finished" and state["attempts"] == 2
        assert state["outcome"]["outcome_hash"] == outcome_here(request(64, WHILE), tmp_path)
    finally:
        assert "Dask's scheduler" in again.end()
    until(lambda: not processes())


def test_a_worker_shares_no_files_with_the_server(
    settings: Settings, served: Callable[..., Any], tmp_path: Path
) -> None:
    platform = core.platform_text("crossbar", (), False)
    with cluster_of(0) as cluster:
        user = user_of(*served(replace(settings, scheduler=cluster.scheduler_address)), "alice")
        asked = request(8) | {"platform": "mine.toml"}
        run = user.submit(asked, {"mine.toml": user.upload("mine.toml", platform.encode())})
        time.sleep(1)
        assert user.ask("GET", f"/runs/{run}")["state"] == "queued", "no run begins without a worker"
        with stranger(cluster.scheduler_address):
            state = user.over(run)
            assert state["state"] == "finished", state
            assert (user.service.settings.data.stat().st_mode & 0o077) == 0
        (tmp_path / "mine.toml").write_text(platform)
        assert state["outcome"]["outcome_hash"] == outcome_here(asked, tmp_path)


def test_a_run_that_nobody_wants_ends_by_itself(far: User, monkeypatch: pytest.MonkeyPatch) -> None:
    place = far.service.pool._place
    assert isinstance(place, dask_place.DaskPlace)
    run = far.submit(request(64, LONG))
    far.going(run)
    (process,) = processes()
    place._client.run(forget_leases)  # type: ignore[union-attr]
    until(lambda: process not in processes(), 20)
    assert far.until(run, lambda state: state["attempts"] == 2)["state"] in ("queued", "running")
    far.ask("DELETE", f"/runs/{run}", 204)
    until(lambda: not processes(), 20)


def test_a_scheduler_that_does_not_answer_is_an_error(tmp_path: Path) -> None:
    for where, words in (
        ("tcp://localhost:9", "no scheduler answers: Connection refused"),
        ("tcp://nowhere.invalid:8786", "no scheduler answers: "),
    ):
        with pytest.raises(InputError, match=f"--on dask:{where}: {words}"):
            dask_place.DaskPlace(Settings(tmp_path, scheduler=where)).open()
    for where, words in (
        ("nowhere", "nowhere: is no address of a scheduler"),
        ("tcp//nowhere", "tcp//nowhere: is no address of a scheduler"),
        ("[::1:8786", "is no address of a scheduler"),
    ):
        with pytest.raises(InputError, match=re.escape(words)):
            places.scheduler_of(f"dask:{where}")
    with pytest.raises(InputError, match="known: local, dask:ADDRESS"):
        places.scheduler_of("slurm")


def test_encryption_without_keys_ends_with_2(tmp_path: Path) -> None:
    where = "dask:tls://localhost:9"
    command = [*HOPCAST, "serve", "--no-browser", "--port", "0", "--data", str(tmp_path), "--on", where]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90)
    assert done.returncode == 2 and "needs keys: distributed.comm.tls.ca-file" in done.stderr, done.stderr


def test_runs_are_given_back_when_the_scheduler_ends(
    settings: Settings, served: Callable[..., Any], capfd: pytest.CaptureFixture[str]
) -> None:
    with cluster_of(1) as cluster:
        port = int(cluster.scheduler_address.rpartition(":")[2])
        user = user_of(*served(replace(settings, scheduler=cluster.scheduler_address)), "alice")
        run = user.submit(request(64, WHILE))
        user.going(run)
    until(lambda: not processes(), 30)
    user.until(run, lambda state: state["state"] == "queued")
    with cluster_of(1, scheduler_port=port):
        state = user.over(run)
    assert state["state"] == "finished" and state["attempts"] == 2, state
    assert "no run begins until that changes" in capfd.readouterr().err
