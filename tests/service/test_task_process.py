"""Process of a task: what is left where it cannot start, workers that go on, and time of ended children."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import User, request

from hopcast.service import sandbox, task_process
from hopcast.service.cgroups import Groups
from hopcast.service.settings import Settings
from hopcast.service.task_process import TaskProcess


def test_a_process_that_does_not_start_leaves_no_group(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[str] = []
    monkeypatch.setattr(Groups, "end", lambda _self, name: ended.append(name))

    def refuse(*_: Any, **__: Any) -> None:
        raise OSError("too many processes")

    monkeypatch.setattr(task_process.fork_server.ForkServer, "start", refuse)
    attempt = tmp_path / "one" / "attempt-1"
    attempt.mkdir(parents=True)
    (tmp_path / "groups").mkdir()
    with pytest.raises(OSError, match="too many"):
        TaskProcess(settings, Groups(tmp_path / "groups"), attempt, attempt, request(4), (), 1, "run")
    assert ended == ["one"] and (tmp_path / "groups" / "run-one").is_dir()


def test_a_task_that_ends_as_it_begins_leaves_no_process(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process has no session of its own yet, by which it would be found."""

    def sleeping(*_: Any, **__: Any) -> subprocess.Popen:
        return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])

    monkeypatch.setattr(task_process.fork_server.ForkServer, "start", sleeping)
    (tmp_path / "attempt").mkdir()
    started = TaskProcess(settings, None, tmp_path / "attempt", tmp_path, request(4), (), 100, "run")
    ending = threading.Thread(target=started.end, daemon=True)
    ending.start()
    ending.join(30)
    try:
        assert not ending.is_alive() and not Path(f"/proc/{started.process.pid}").exists()
    finally:
        started.process.terminate()


def test_a_worker_survives_any_error(alice: User, capfd: pytest.CaptureFixture[str]) -> None:
    pool, failed = alice.service.pool, threading.Event()
    claim = pool._claim

    def broken() -> Any:
        if failed.is_set():
            return claim()
        failed.set()
        raise ValueError("odd answer of the database")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool, "_claim", broken)
        assert failed.wait(60)
        assert alice.over(alice.submit(request(4)))["state"] == "finished"
    assert "A worker goes on after an error: ValueError" in capfd.readouterr().err


def test_a_run_with_which_the_server_fails_leaves_nothing(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = alice.service.pool

    def broken(*_: Any) -> None:
        raise PermissionError("a closed \ud800 folder")

    monkeypatch.setattr(pool, "_settle", broken)
    state = alice.over(alice.submit(request(4)))
    assert state["state"] == "failed" and state["error"] == "the server failed: a closed ? folder"
    folder = alice.service.settings.run_folder(state["id"])
    assert [path.name for path in folder.iterdir()] == ["inputs"]


BURN = """
import os, signal, sys, time
if sys.argv[1] == "ignored":
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for _ in range(2):
    child = os.fork()
    if child == 0:
        end_s = time.process_time() + 0.7
        while time.process_time() < end_s:
            pass
        os._exit(0)
    if sys.argv[1] != "ignored":
        os.waitpid(child, 0)
    else:
        while os.path.exists(f"/proc/{child}"):
            time.sleep(0.02)
print("done", flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("how", ["waited for", "ignored"])
def test_time_of_ended_children_counts_once(how: str) -> None:
    process = subprocess.Popen([sys.executable, "-c", BURN, how], stdout=subprocess.PIPE, text=True)
    try:
        meter, done = sandbox.Meter(process.pid), threading.Event()
        assert process.stdout is not None
        reader = threading.Thread(target=lambda out: out.readline() and done.set(), args=(process.stdout,))
        reader.start()
        before_s = 0.0
        while not done.is_set():
            used_s = meter.usage().cpu_s
            assert used_s >= before_s - 0.02
            before_s = used_s
            time.sleep(0.02)
        assert 1.2 < meter.usage().cpu_s < 1.9
    finally:
        process.kill()
        process.wait()
