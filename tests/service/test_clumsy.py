"""Bodies that no page and no script would send, and users who delete what others read at this moment."""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Callable, Iterator
from typing import Any

from conftest import User, browser_of, request
from fastapi.testclient import TestClient
from test_access import STUDY, routes

from hopcast import core
from hopcast.service.retention import clean
from hopcast.service.settings import Settings

FORM, JSON = "application/x-www-form-urlencoded", "application/json"

BODIES = (
    (b"\xff\xfe\x00", "multipart/form-data; boundary=x"),
    (b"\xff\xfe\x00", "text/plain"),
    (b"\xff\xfe\x00", JSON),
    (b'"\\ud800"', JSON),
    (b'{"\\ud800": "\\udfff", "name": "\\ud800"}', JSON),
    (b'{"request": {"platform": "\\ud800", "workload": {"kind": "pattern", "name": "\\ud800"}}}', JSON),
    (b'{"request": {"platform": "fat-tree", "workload": {"kind": "pattern"}, "set": {"a.b": NaN}}}', JSON),
    (b'{"request": {"platform": "fat-tree", "workload": {"kind": "jobs", "jobs": [{}]}}}', JSON),
    (b"null", f"{JSON}; charset=utf-99"),
    (b"name=%ff%00&notes=%ed%a0%80&study=%00&workload=jobs&job.0.ranks=9e9&file==", FORM),
    (b"name=a&name=b&state=%0a&page=" + b"9" * 400, f"{FORM}; charset=utf-99"),
    (
        b'--x\r\nContent-Disposition: form-data; name="name"; filename="f"\r\n\r\na\r\n--x--\r\n',
        "multipart/form-data; boundary=x",
    ),
    (b"", ""),
)


def places(names: dict[str, str]) -> Iterator[dict[str, str]]:
    """Names in addresses: those of what is there, and those of what is not."""
    yield names
    for odd in ("%00", "%ff", "9" * 50, "-1", "a" * 300):
        yield dict.fromkeys(names, odd)


def test_no_body_and_no_address_makes_a_route_fail(idle: User) -> None:
    run = idle.submit(request(4))
    study = idle.ask("POST", "/studies", 201, json={"study": STUDY})["id"]
    names = {"run_id": run, "upload_id": idle.upload("a", b"x"), "study_id": study, "token_id": "1"}
    names |= {"name": "x", "user_id": "1"}
    browser = browser_of(idle)
    statuses: dict[int, int] = {}
    for method, path in routes(browser.app):
        if path.endswith("/events") or path == "/leave" or "delete" in f"{method}{path}".lower():
            continue
        bodies = BODIES if method in ("POST", "PATCH") else BODIES[-1:]
        for place in places(names) if "{" in path else ({},):
            for body, kind in bodies if place in ({}, names) else BODIES[-1:]:
                query = "?state=%ed%a0%80&page=-1&run=%00&search=%ff&since=nan&limit=1e9&token=%00"
                headers = {"Content-Type": kind, "Upload-Offset": "9" * 30} if kind else {}
                answer = browser.request(method, path.format(**place) + query, content=body, headers=headers)
                assert answer.status_code < 500, (method, path, body, answer.text[:300])
                statuses[answer.status_code] = statuses.get(answer.status_code, 0) + 1
    assert {200, 303, 400, 404, 422} <= set(statuses), statuses


def test_a_wrong_body_is_named_by_its_field(idle: User) -> None:
    wrong = idle.ask("POST", "/uploads", 422, json={"name": "a", "size_B": -1, "more": 1})
    assert wrong["detail"].startswith("size_B: ") and "; more: " in wrong["detail"]
    assert wrong["field"] == "size_B"
    asked = request(4, set={"link.bandwidth": float("nan")})
    content = str(asked).replace("'", '"').replace("nan", "NaN")
    headers = {"Content-Type": JSON}
    refused = idle.ask("POST", "/runs", 422, content=f'{{"request": {content}}}', headers=headers)
    assert refused["field"] == "request" and "JSON" in refused["detail"]


def asked_at_once(questions: list[Callable[[], Any]]) -> list[int]:
    """Statuses of the answers to questions that are asked at the same time."""
    statuses: list[int] = []

    def ask(question: Callable[[], Any]) -> None:
        try:
            statuses.append(question().status_code)
        except RuntimeError as error:  # the file went while its answer was being sent, which ends it early
            assert "response already started" in str(error)

    threads = [threading.Thread(target=ask, args=(question,)) for question in questions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return statuses


def questions_about(user: User, browser: TestClient) -> tuple[list[Callable[[], Any]], list[str]]:
    """Readers, and those who change and delete, of two runs, a study and an upload; ids of the runs."""
    runs = [user.submit(request(4, seed=seed)) for seed in (1, 2)]
    for run in runs:
        user.over(run)
    first, both = runs[0], f"run={runs[0]}&run={runs[1]}"
    upload = user.upload("p.toml", core.platform_text("crossbar", (), False).encode())
    study = user.ask("POST", "/studies", 201, json={"study": STUDY})["id"]
    body = {"request": request(4, platform="p.toml"), "files": {"p.toml": upload}}
    read = [f"/runs/{first}", f"/runs/{first}/report", f"/compare/page?{both}", f"/runs/{first}/timeline"]
    read += [f"/studies/{study}", f"/studies/{study}/report"]
    read += [f"/api/v1/runs/{first}/{part}" for part in ("report", "archive", "tables", "tables/links")]
    read += [f"/api/v1/comparison?{both}", f"/api/v1/studies/{study}/table"]
    changes: list[tuple[str, str, dict[str, Any]]] = [
        ("DELETE", f"/runs/{first}", {}),
        ("PATCH", f"/runs/{first}", {"json": {"name": "x"}}),
        ("DELETE", f"/studies/{study}", {}),
        ("PATCH", f"/studies/{study}", {"json": {"name": "x"}}),
        ("POST", f"/studies/{study}/stop", {}),
        ("DELETE", f"/uploads/{upload}", {}),
        ("POST", "/runs", {"json": body}),
        ("POST", "/estimates", {"json": body}),
    ]
    questions = [lambda path=path: browser.get(path) for path in read]
    questions += [
        lambda one=one: user.http.request(one[0], f"/api/v1{one[1]}", headers=user.headers, **one[2])
        for one in changes
    ]
    return questions, runs


def test_deletions_at_the_same_time_fail_nobody(alice: User) -> None:
    browser = browser_of(alice)
    for seed in range(4):
        questions, runs = questions_about(alice, browser)
        questions *= 3
        random.Random(seed).shuffle(questions)
        statuses = asked_at_once(questions)
        assert max(statuses) < 500 and {200, 204, 404} <= set(statuses), statuses
        alice.ask("GET", f"/runs/{runs[0]}", 404)
        assert not alice.service.settings.run_folder(runs[0]).exists()
        assert alice.ask("GET", f"/runs/{runs[1]}")["state"] == "finished"


def test_a_page_of_a_study_that_was_deleted_meanwhile_goes(idle: User, settings: Settings) -> None:
    kept = idle.ask("POST", "/studies", 201, json={"study": STUDY})["id"]
    folders = [settings.data / "studies" / name for name in (kept, "gone")]
    for folder in folders:
        folder.mkdir(parents=True)
        os.utime(folder, (1, 1))
    clean(idle.service)
    assert [folder.exists() for folder in folders] == [True, False]


def test_what_could_not_be_laid_out_leaves_nothing(idle: User, settings: Settings) -> None:
    upload = idle.upload("places", b"0\n1\n")
    asked = {"request": request(2, placement="places"), "files": {"places": upload}}
    text = STUDY.replace("[factors]", '[options]\nplacement = "places"\n[factors]')
    settings.upload_file(upload).unlink()
    assert "deleted meanwhile" in idle.ask("POST", "/runs", 404, json=asked)["detail"]
    idle.ask("POST", "/studies", 404, json={"study": text, "files": {"places": upload}})
    assert not list(settings.run_folder("x").parent.glob("*"))
    assert idle.ask("GET", "/runs")["count"] == 0
