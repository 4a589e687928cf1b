"""Runs are deleted by age and size; what a killed server has left goes, too."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace

from conftest import User, request, user_of
from fastapi.testclient import TestClient
from sqlalchemy import update

from hopcast.service import retention
from hopcast.service.schema import Upload
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
    (data / "archives").mkdir(exist_ok=True)
    (data / "archives" / "left.zip").touch()
    for name in ("runs/left", "estimates/left", "archives/left.zip"):
        os.utime(data / name, (1, 1))
    os.utime(data / "runs" / kept, (1, 1))
    retention.clean(alice.service)
    assert {path.name for path in (data / "runs").iterdir()} == {kept, "fresh"}
    assert not list((data / "archives").iterdir()) and not list((data / "estimates").iterdir())
    alice.ask("GET", f"/uploads/{uploads[0]}", 404)
    alice.ask("GET", f"/uploads/{uploads[1]}")
    assert [path.name for path in (data / "uploads").iterdir()] == [uploads[1]]
