"""Runs are deleted by age and size; what a killed server has left goes, too."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace

import pytest
from conftest import User, request, user_of
from fastapi.testclient import TestClient
from sqlalchemy import func, inspect, select, update
from test_queue import study_of

from hopcast.service import retention
from hopcast.service.schema import Study, Token, Upload
from hopcast.service.settings import Settings
from hopcast.service.state import Service

DAY_S = 24 * 3600.0


def runs_of(user: User) -> set[str]:
    return {run["id"] for run in user.ask("GET", "/runs")["runs"]}


def test_runs_go_by_age_and_by_size(
    settings: Settings, served: Callable[..., tuple[Service, TestClient]]
) -> None:
    user = user_of(*served(settings), "alice")
    runs = [user.submit(request(4, seed=seed)) for seed in range(4)]
    for age, run in enumerate(runs):
        user.over(run)
        user.service.store.change(run, ended_at=time.time() - (4 - age) * DAY_S, size_B=1000)

    def clean(**kept: float) -> set[str]:
        retention.clean(replace(user.service, settings=replace(settings, **kept)))
        return runs_of(user)

    assert clean() == set(runs)
    assert clean(keep_s=3.5 * DAY_S) == set(runs[1:])
    assert clean(keep_B=3000) == set(runs[1:])
    assert clean(keep_B=2999) == set(runs[2:])
    folders = {path.name for path in (settings.data / "runs").iterdir()}
    assert folders == set(runs[2:])
    assert clean(keep_s=0.0) == set()


def test_a_study_goes_with_its_last_run(idle: User) -> None:
    store, settings = idle.service.store, idle.service.settings
    owner = store.user("alice")
    old, fresh = study_of(store, owner, 2), study_of(store, owner, 2)
    with store._begin() as session:
        session.execute(update(Study).where(Study.id == old.id).values(created_at=time.time() - 9 * DAY_S))
    kept = settings.data / "studies" / old.id / "page"
    kept.mkdir(parents=True)
    runs = [cell.run_id for study in (old, fresh) for cell in store.cells(study.id)]
    for run in (runs[0], *runs[2:]):
        store.change(run, state="finished", ended_at=time.time() - 8 * DAY_S)

    def clean(**changes: float) -> set[str]:
        retention.clean(replace(idle.service, settings=replace(settings, **changes)))
        return {study.id for study in store.studies(owner, 10, 0)[0]}

    assert clean(keep_s=7 * DAY_S) == {old.id, fresh.id}, "one of its cells waits, the other is young"
    store.change(runs[1], state="finished", ended_at=time.time() - 8 * DAY_S)
    store.delete_run(runs[1])
    assert clean() == {old.id, fresh.id} and kept.is_dir(), "without retention nothing goes"
    assert clean(keep_B=10**12) == {fresh.id} and not kept.exists()
    assert store.cells(old.id) == [] and store.study(old.id) is None


def test_what_nobody_needs_goes(alice: User) -> None:
    data, store = alice.service.settings.data, alice.service.store
    kept = alice.submit(request(4))
    alice.over(kept)
    uploads = [alice.upload(name, b"x") for name in ("old", "new")]
    with store._begin() as session:
        old = {"created_at": time.time() - 8 * DAY_S}
        session.execute(update(Upload).where(Upload.id == uploads[0]).values(**old))
    for name in ("runs/left", "runs/fresh", "estimates/left"):
        (data / name).mkdir(parents=True)
    for name in ("runs/left", "estimates/left"):
        os.utime(data / name, (1, 1))
    os.utime(data / "runs" / kept, (1, 1))
    retention.clean(alice.service)
    assert {path.name for path in (data / "runs").iterdir()} == {kept, "fresh"}
    assert not list((data / "estimates").iterdir())
    alice.ask("GET", f"/uploads/{uploads[0]}", 404)
    alice.ask("GET", f"/uploads/{uploads[1]}")
    assert [path.name for path in (data / "uploads").iterdir()] == [uploads[1]]


def test_tokens_that_count_no_more_go(idle: User) -> None:
    store = idle.service.store
    expired = store.issue(store.user("alice"), "session", -1)
    lives = store.issue(store.user("alice"), "session", 60)
    retention.clean(idle.service)
    with store.sessions.begin() as session:
        assert session.scalar(select(func.count()).select_from(Token)) == 2, "the session and alice's token"
    assert store.bearer(lives, "session") is not None and store.bearer(expired, "session") is None
    assert idle.ask("GET", "/runs")["count"] == 0


def test_an_error_ends_no_janitor(
    monkeypatch: pytest.MonkeyPatch, idle: User, capfd: pytest.CaptureFixture[str]
) -> None:
    cleaned: list[int] = []

    def clean(_service: Service) -> None:
        cleaned.append(1)
        if len(cleaned) < 3:
            raise OSError("no room")

    monkeypatch.setattr(retention, "_EVERY_S", 0.01)
    monkeypatch.setattr(retention, "clean", clean)
    janitor = retention.Janitor(idle.service)
    janitor.start()
    end_s = time.monotonic() + 20
    while len(cleaned) < 4 and time.monotonic() < end_s:
        time.sleep(0.01)
    janitor.close()
    assert len(cleaned) >= 4 and capfd.readouterr().err.count("nothing was cleaned up: no room") == 2


def test_lists_leave_large_fields_in_the_database(idle: User) -> None:
    store, run = idle.service.store, idle.submit(request(4))
    assert idle.ask("GET", "/runs")["runs"][0]["id"] == run
    (listed,), count = store.runs(store.user("alice"))
    store.change(run, state="finished", ended_at=time.time(), size_B=5)
    (over,) = store.over()
    assert count == 1 and (over.id, over.size_B) == (run, 5)
    for one, fields in ((listed, ("request",)), (over, ("request", "outcome", "notes"))):
        for field in fields:
            assert field in inspect(one).unloaded
