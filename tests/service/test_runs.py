"""Runs from submission to report: what they leave, their limits, and what survives a killed process."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import signal
import time
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import LONG, User, request, user_of
from fastapi.testclient import TestClient

import hopcast
from hopcast import core
from hopcast.service import api
from hopcast.service.answers import NewUpload
from hopcast.service.schema import State
from hopcast.service.settings import Limits, Settings
from hopcast.service.state import Service
from hopcast.service.submission import TooMany

Start = Callable[..., tuple[Service, TestClient]]


def is_alive(process: int) -> bool:
    try:
        return " Z " not in Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return False


def test_a_run_leaves_the_report_of_the_command_line(alice: User) -> None:
    run = alice.submit(request(bytes_ := 16, {"bytes": "1 KiB"}, messages=100), name="first", notes="of all")
    state = alice.over(run)
    assert (state["state"], state["error"], state["attempts"]) == ("finished", None, 1)
    here = hopcast.run("fat-tree", "halo3d", ranks=bytes_, kwargs={"bytes": "1 KiB"})
    assert state["makespan_s"] == here.makespan_s
    assert state["outcome"]["outcome_hash"] == here.summary["outcome_hash"]
    assert alice.ask("GET", f"/runs/{run}/report")["outcome_hash"] == here.summary["outcome_hash"]
    packed = zipfile.ZipFile(io.BytesIO(alice.ask("GET", f"/runs/{run}/archive")))
    names = {name.partition("/")[2] for name in packed.namelist()}
    assert {"request.json", "report/report.json", "report/report.html", "report/messages.parquet"} <= names
    everything = b"".join(
        packed.read(name) for name in packed.namelist() if name.endswith((".json", ".html"))
    )
    assert str(alice.service.settings.data).encode() not in everything
    folder = alice.service.settings.run_folder(run)
    assert sorted(path.name for path in folder.iterdir()) == ["inputs", "report"]


def test_an_estimate_says_what_a_run_takes(alice: User) -> None:
    short = alice.ask("POST", "/estimates", json={"request": request(16)})
    assert (short["hosts"], short["ranks"], short["is_whole"]) == (800, 16, True)
    long = alice.ask("POST", "/estimates", json={"request": request(64, LONG)})
    assert not long["is_whole"] and long["seconds"] > 30 and long["memory_B"] > 10**6
    assert not list((alice.service.settings.data / "estimates").iterdir())
    wrong = alice.ask("POST", "/estimates", 422, json={"request": request(10**8)})
    assert wrong["field"] == "ranks" and "do not fit" in wrong["detail"]


def test_bad_input_fails_in_the_words_of_the_command_line(alice: User) -> None:
    state = alice.over(alice.submit(request(10**8)))
    assert state["state"] == "failed"
    assert state["error"].startswith("-n 100000000: 100000000 ranks do not fit: 800 hosts")


def test_a_stopped_run_has_partial_results(alice: User) -> None:
    run = alice.submit(request(64, LONG))
    process = alice.process_of(run) if alice.going(run) else 0
    alice.ask("POST", f"/runs/{run}/stop", 202)
    state = alice.over(run)
    assert (state["state"], state["outcome"]["partial"]) == ("stopped", True)
    assert state["makespan_s"] > 0 and not is_alive(process)
    alice.ask("POST", f"/runs/{run}/stop", 409)


def test_a_waiting_run_can_be_stopped_and_says_its_place(alice: User) -> None:
    first = alice.submit(request(64, LONG))
    alice.going(first)
    waits = [alice.submit(request(16)) for _ in range(2)]
    assert [alice.ask("GET", f"/runs/{run}")["ahead"] for run in waits] == [0, 1]
    alice.ask("POST", f"/runs/{waits[0]}/stop", 202)
    assert alice.ask("GET", f"/runs/{waits[0]}")["state"] == "stopped"
    assert alice.ask("GET", f"/runs/{waits[1]}")["ahead"] == 0
    alice.ask("DELETE", f"/runs/{first}", 204)
    assert alice.over(waits[1])["state"] == "finished"


def test_a_deleted_run_leaves_no_process_and_no_file(alice: User) -> None:
    run = alice.submit(request(64, LONG))
    alice.going(run)
    process, folder = alice.process_of(run), alice.service.settings.run_folder(run)
    assert is_alive(process) and folder.is_dir()
    alice.ask("DELETE", f"/runs/{run}", 204)
    alice.ask("GET", f"/runs/{run}", 404)
    end_s = time.monotonic() + 20
    while (is_alive(process) or folder.exists()) and time.monotonic() < end_s:
        time.sleep(0.05)
    assert not is_alive(process) and not folder.exists()


def test_a_killed_process_is_started_again_and_has_the_same_result(alice: User) -> None:
    run = alice.submit(request(64, {"iterations": "300"}))
    alice.going(run)
    os.kill(alice.process_of(run), signal.SIGKILL)
    state = alice.over(run)
    assert (state["state"], state["attempts"]) == ("finished", 2)
    again = alice.over(alice.submit(request(64, {"iterations": "300"})))
    assert again["outcome"]["outcome_hash"] == state["outcome"]["outcome_hash"]


def test_a_process_that_is_always_killed_is_given_up(alice: User) -> None:
    run = alice.submit(request(64, LONG))
    for attempt in (1, 2, 3):
        alice.until(
            run, lambda state, attempt=attempt: state["attempts"] == attempt and bool(state["progress"])
        )
        os.kill(alice.process_of(run), signal.SIGKILL)
    state = alice.over(run)
    assert state["state"] == "failed" and "killed 3 times" in state["error"]


@pytest.mark.parametrize(
    ("changes", "asked", "words"),
    [
        ({"cpu_s": 3}, request(64, LONG), "3 s of processor time"),
        ({"disk_B": 3 << 20}, request(64, LONG, messages=5_000_000), "a run may write"),
        ({"memory_B": 1 << 30}, request(100_000, LONG, platform="fat-tree"), "memory"),
    ],
)
def test_limits_end_a_run(changes: dict, asked: dict, words: str, settings: Settings, served: Start) -> None:
    limited = replace(settings, limits=replace(Limits(), **changes))
    user = user_of(*served(limited), "alice")
    state = user.over(user.submit(asked))
    assert state["state"] == "failed" and words in state["error"]
    assert state["attempts"] == 1


def test_a_run_that_takes_too_long_leaves_partial_results(settings: Settings, served: Start) -> None:
    user = user_of(*served(replace(settings, limits=replace(Limits(), wall_s=10))), "alice")
    state = user.over(user.submit(request(64, LONG)))
    assert (state["state"], state["outcome"]["partial"]) == ("stopped", True)
    assert "10 s" in state["error"]


def test_a_user_has_a_limit_of_waiting_runs(settings: Settings, served: Start) -> None:
    user = user_of(*served(replace(settings, limits=replace(Limits(), waiting=2))), "alice")
    for _ in range(2):
        user.submit(request(64, LONG))
    user.ask("POST", "/runs", 429, json={"request": request(16)})


def test_what_a_killed_server_has_left_goes_on(settings: Settings, served: Start) -> None:
    """States in which a server may be killed: before a run, in it, after the report is in its place."""
    service, http = served()
    user = user_of(service, http, "alice")
    done = user.submit(request(16))
    user.over(done)
    report = user.ask("GET", f"/runs/{done}/report")
    going = user.submit(request(64, LONG))
    user.going(going)
    waits = user.submit(request(16))
    http.__exit__(None, None, None)
    store = service.store
    # As a server leaves them that gets no time to write anything.
    store.change(going, state=State.RUNNING.value, attempts=1, process={"process": 2**22 - 1, "start": "1"})
    store.change(done, state=State.RUNNING.value, attempts=1, outcome=None, makespan_s=None)
    store.change(going, request=request(16) | {"version": 1})
    service, http = served(settings)
    user = user_of(service, http, "alice")
    assert user.over(done)["outcome"]["outcome_hash"] == report["outcome_hash"]
    assert user.over(done)["attempts"] == 1
    assert (user.over(going)["state"], user.over(going)["attempts"]) == ("finished", 2)
    assert user.over(waits)["state"] == "finished"


def test_runs_are_found_by_words_and_state(alice: User) -> None:
    runs = [alice.submit(request(16), name=name) for name in ("50% of it", "5_ of it", "other")]
    for run in runs:
        alice.over(run)
    alice.ask("PATCH", f"/runs/{runs[2]}", json={"notes": "a Thought"})

    def found(**asked: str) -> list[str]:
        return [run["id"] for run in alice.ask("GET", "/runs", params=asked)["runs"]]

    assert found() == runs[::-1]
    assert found(search="50%") == [runs[0]] and found(search="5_") == [runs[1]]
    assert found(search="thought OTHER fat-tree halo3d") == [runs[2]]
    assert found(state="failed") == [] and len(found(state="finished", limit="2")) == 2


def test_an_upload_goes_on_where_it_was_broken_off(alice: User) -> None:
    content = bytes(range(256)) * 40
    upload = alice.ask("POST", "/uploads", 201, json={"name": "a.bin", "size_B": len(content)})["id"]
    place = f"/uploads/{upload}"
    alice.ask("PATCH", place, content=content[:1000], headers={"Upload-Offset": "0"})
    alice.ask("PATCH", place, 409, content=content[:1000], headers={"Upload-Offset": "0"})
    refused = alice.refused(request(16, placement="a.bin"), {"a.bin": upload})
    assert refused["field"] == "files" and "1,000 of 10,240" in refused["detail"]
    received = alice.ask("GET", place)["received_B"]
    alice.ask("PATCH", place, content=content[received:], headers={"Upload-Offset": str(received)})
    assert alice.service.settings.upload_file(upload).read_bytes() == content
    alice.ask("PATCH", place, 413, content=b"more", headers={"Upload-Offset": str(len(content))})
    assert alice.service.settings.upload_file(upload).read_bytes() == content
    alice.ask("DELETE", place, 204)
    alice.ask("GET", place, 404)


def test_uploads_at_the_same_time_count_one_by_one(idle: User, monkeypatch: pytest.MonkeyPatch) -> None:
    service = idle.service
    owner, asked = service.store.user("alice"), service.store.uploaded_B
    object.__setattr__(service.settings.limits, "uploads_B", 10)

    def slowly(user: Any) -> int:
        size_B = asked(user)
        time.sleep(0.02)
        return size_B

    monkeypatch.setattr(service.store, "uploaded_B", slowly)

    def begun(number: int) -> bool:
        try:
            api.begin_upload(NewUpload(name=f"file-{number}", size_B=4), owner, service)
        except TooMany:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(begun, range(8))) == 2


def test_a_piece_that_came_in_between_is_not_overwritten(idle: User, monkeypatch: pytest.MonkeyPatch) -> None:
    upload = idle.ask("POST", "/uploads", 201, json={"name": "a", "size_B": 4})["id"]
    store, in_loop = idle.service.store, []
    find, received = store.upload, store.received
    looked: list[str] = []

    def found(owner: Any, upload_id: str) -> Any:
        row = find(owner, upload_id)
        if not looked:  # another request begins and ends after the first look
            received(upload_id, 2)
        looked.append(upload_id)
        return row

    def note(upload_id: str, received_B: int) -> None:
        with contextlib.suppress(RuntimeError):
            in_loop.append(asyncio.get_running_loop())
        received(upload_id, received_B)

    monkeypatch.setattr(store, "upload", found)
    monkeypatch.setattr(store, "received", note)
    first = {"content": b"abcd", "headers": {"Upload-Offset": "0"}}
    assert "2 bytes have come" in idle.ask("PATCH", f"/uploads/{upload}", 409, **first)["detail"]
    rest = {"content": b"cd", "headers": {"Upload-Offset": "2"}}
    assert idle.ask("PATCH", f"/uploads/{upload}", **rest)["received_B"] == 4
    assert not in_loop, "the database keeps no other request waiting"


def test_a_platform_and_a_placement_are_uploaded(alice: User) -> None:
    platform = core.platform_text("crossbar", (), False).encode()
    ids = {
        "mine.toml": alice.upload("mine.toml", platform),
        "places": alice.upload("places", b"3\n2\n1\n0\n"),
    }
    asked = request(4, platform="mine.toml", placement="places")
    state = alice.over(alice.submit(asked, ids))
    assert state["state"] == "finished", state["error"]
    here = hopcast.run("crossbar", "halo3d", ranks=4, placement=[3, 2, 1, 0])
    assert state["outcome"]["outcome_hash"] == here.summary["outcome_hash"]
    for upload in ids.values():  # a run keeps its files
        alice.ask("DELETE", f"/uploads/{upload}", 204)
    packed = zipfile.ZipFile(io.BytesIO(alice.ask("GET", f"/runs/{state['id']}/archive")))
    assert {"mine.toml", "places"} <= {name.partition("/")[2] for name in packed.namelist()}


def test_a_request_file_is_given_for_other_machines(alice: User, tmp_path: Path) -> None:
    from hopcast.request import RunRequest

    run = alice.submit(request(16, {"bytes": "2 KiB"}, seed=3))
    file = tmp_path / "request.json"
    file.write_text(json.dumps(alice.ask("GET", f"/runs/{run}/request")))
    state = alice.over(run)
    assert hopcast.run(RunRequest.load(file)).summary["outcome_hash"] == state["outcome"]["outcome_hash"]


def test_the_health_needs_no_token(alice: User) -> None:
    answer: Any = alice.http.get("/health")
    assert (answer.status_code, answer.json()["status"]) == (200, "ok")
