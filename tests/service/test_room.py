"""A disk that is full: what was submitted waits, nothing that has ended is lost, and deletions make room."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import LONG, request, user_of
from fastapi.testclient import TestClient

from hopcast.service import room
from hopcast.service.settings import Settings
from hopcast.service.state import Service

Start = Callable[..., tuple[Service, TestClient]]

DISK_B = 96 << 20


@pytest.fixture
def small(settings: Settings, tmp_path: Path) -> Iterator[Settings]:
    """Settings whose data lie on a small disk of their own."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_B}", "hopcast-test", str(disk)]
    if subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("who runs this may mount nothing")
    try:
        yield replace(settings, data=disk / "data")
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


def filled(settings: Settings, left_B: int) -> Path:
    """A file that leaves so much of the disk."""
    filler = settings.data.parent / "filler"
    while (more_B := room.shutil.disk_usage(settings.data).free - left_B) > 0:
        with open(filler, "ab") as out:
            out.write(bytes(min(more_B, 1 << 20)))
    return filler


def test_a_full_disk_refuses_what_comes_and_keeps_what_is_there(small: Settings, served: Start) -> None:
    user = user_of(*served(small), "alice")
    done = user.over(user.submit(request(4)))
    upload = user.ask("POST", "/uploads", 201, json={"name": "a", "size_B": 4 << 20})["id"]
    filler = filled(small, room.KEPT_B - (1 << 20))
    for path, body in (
        ("/runs", {"request": request(4)}),
        ("/studies", {"study": 'platform = "crossbar"\nworkload = "barrier"\n[factors]\nranks = [2]\n'}),
        ("/uploads", {"name": "b", "size_B": 1}),
    ):
        assert "disk of the server is full" in user.ask("POST", path, 507, json=body)["detail"]
    user.ask("PATCH", f"/uploads/{upload}", 507, content=bytes(4 << 20), headers={"Upload-Offset": "0"})
    page = user.http.post("/runs", data={"platform": "fat-tree"}, headers=user.headers)
    assert page.status_code in (422, 507)
    assert user.ask("GET", f"/runs/{done['id']}") == done
    assert user.ask("GET", f"/runs/{done['id']}/report")["outcome_hash"] == done["outcome"]["outcome_hash"]
    user.ask("DELETE", f"/runs/{done['id']}", 204)
    filler.unlink()
    come_B = user.ask("GET", f"/uploads/{upload}")["received_B"]
    rest = {"content": bytes((4 << 20) - come_B), "headers": {"Upload-Offset": str(come_B)}}
    assert user.ask("PATCH", f"/uploads/{upload}", **rest)["received_B"] == 4 << 20


def test_a_disk_that_fills_while_a_piece_comes_keeps_the_piece_whole(
    small: Settings, served: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = user_of(*served(small), "alice")
    content = bytes(range(256)) * (32 << 10)
    upload = user.ask("POST", "/uploads", 201, json={"name": "a", "size_B": len(content)})["id"]
    monkeypatch.setattr(room, "KEPT_B", 0)  # nothing is kept: the disk itself refuses
    filler = filled(small, 3 << 20)
    user.ask("PATCH", f"/uploads/{upload}", 507, content=content, headers={"Upload-Offset": "0"})
    filler.unlink()
    come_B = user.ask("GET", f"/uploads/{upload}")["received_B"]
    rest = {"content": content[come_B:], "headers": {"Upload-Offset": str(come_B)}}
    assert come_B < len(content) and user.ask("PATCH", f"/uploads/{upload}", **rest)["received_B"] == len(
        content
    )
    assert small.upload_file(upload).read_bytes() == content


def test_runs_wait_for_room(small: Settings, served: Start, capfd: pytest.CaptureFixture[str]) -> None:
    user = user_of(*served(small), "alice")
    long = user.submit(request(64, {"iterations": "6000"}))
    waits = user.submit(request(4))
    user.going(long)
    filler = filled(small, room.KEPT_B // 4 - (1 << 20))
    user.until(long, lambda state: state["state"] == "queued")
    assert not list(small.run_folder(long).glob("attempt-*"))
    time.sleep(2)
    assert [user.ask("GET", f"/runs/{run}")["state"] for run in (long, waits)] == ["queued", "queued"]
    said = capfd.readouterr().err
    assert said.count("runs wait until there is more") == 1, said
    filler.unlink()
    states = [user.over(run) for run in (long, waits)]
    assert [(state["state"], state["attempts"]) for state in states] == [("finished", 2), ("finished", 1)]


def test_a_run_that_fills_the_disk_itself_is_given_up_and_leaves_room(
    small: Settings, served: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    service, http = served(small)
    user = user_of(service, http, "alice")
    watch = service.pool._watch

    def writing(run: object, started: object) -> str | None:
        """Stands for a run that has written too much once it is looked at."""
        folder = next(small.run_folder(run.id).glob("attempt-*"))  # type: ignore[attr-defined]
        (folder / "large").write_bytes(bytes(room.shutil.disk_usage(small.data).free - (8 << 20)))
        return watch(run, started)  # type: ignore[arg-type]

    monkeypatch.setattr(service.pool, "_watch", writing)
    state = user.over(user.submit(request(64, LONG)))
    assert state["state"] == "failed" and state["attempts"] == 3
    assert state["error"] == "the disk of the server had no room for what it writes"
    assert room.is_there(small)
