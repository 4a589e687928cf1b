"""Access: another user's runs by every route, forged tokens, other sites, and other names of the host."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import pytest
from conftest import User, browser_of, request
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient

OPEN = {"/health", "/enter", "/leave", "/static/{name}"}
"""Routes that need no user."""

STUDY = 'platform = "crossbar"\nworkload = "barrier"\n[factors]\nranks = [2]\n'


def routes(app: object) -> Iterator[tuple[str, str]]:
    """Method and path of each route."""
    stack = list(app.routes)  # type: ignore[attr-defined]
    while stack:
        route = stack.pop()
        if isinstance(route, APIRoute):
            yield from ((method, route.path) for method in route.methods or ())
        elif (inner := getattr(route, "original_router", None)) is not None:
            stack += inner.routes


def asked(http: TestClient, method: str, path: str, **names: str) -> int:
    """Status of the answer to a request of a route, with bodies that would be valid."""
    bodies: dict[str, dict] = {
        "PATCH /api/v1/runs/{run_id}": {"json": {"name": "mine now", "shared": True}},
        "POST /api/v1/runs": {"json": {"request": request(4)}},
        "POST /api/v1/estimates": {"json": {"request": request(4)}},
        "POST /api/v1/uploads": {"json": {"name": "a", "size_B": 1}},
        "PATCH /api/v1/uploads/{upload_id}": {"content": b"x", "headers": {"Upload-Offset": "0"}},
        "GET /new/parameters": {"params": {"pattern": "halo3d"}},
        "POST /api/v1/studies": {"json": {"study": STUDY}},
        "POST /api/v1/studies/estimates": {"json": {"study": STUDY}},
        "PATCH /api/v1/studies/{study_id}": {"json": {"name": "mine now", "shared": True}},
        "POST /api/v1/drawings": {"json": {"platform": ""}},
    }
    body = bodies.get(f"{method} {path}", {})
    return http.request(method, path.format(**{"name": "ranks", **names}), **body).status_code


def test_routes_are_found(alice: User) -> None:
    found = set(routes(alice.http.app))
    assert len(found) > 30
    assert {
        ("DELETE", "/api/v1/runs/{run_id}"),
        ("POST", "/runs/{run_id}/delete"),
        ("GET", "/health"),
    } <= found


def test_nobody_does_anything_without_a_token(alice: User) -> None:
    run = alice.submit(request(4))
    alice.over(run)
    upload = alice.upload("a", b"x")
    study = alice.ask("POST", "/studies", 201, json={"study": STUDY})["id"]
    names = {"run_id": run, "upload_id": upload, "study_id": study, "token_id": "1", "name": "site.css"}
    names |= {"user_id": "1"}
    stranger = TestClient(alice.http.app, "http://localhost", follow_redirects=False)
    for method, path in routes(alice.http.app):
        if path in OPEN:
            continue
        assert asked(stranger, method, path, **names) in (401, 404), (method, path)
    assert alice.ask("GET", f"/runs/{run}")["name"] == ""


def test_another_users_runs_by_every_route(alice: User, bob: User) -> None:
    run = alice.submit(request(4), name="secret")
    before = alice.over(run)
    upload = alice.upload("a", b"x")
    study = alice.ask("POST", "/studies", 201, json={"study": STUDY, "name": "secret"})
    once = bob.service.store.issue(bob.service.store.user("bob"), "once", 60)
    browser = TestClient(bob.http.app, "http://localhost", follow_redirects=False)
    browser.headers["Sec-Fetch-Site"] = "same-origin"
    assert browser.get(f"/enter?token={once}").status_code == 303
    script = TestClient(bob.http.app, "http://localhost", follow_redirects=False, headers=bob.headers)
    for http in (browser, script):
        for method, path in routes(bob.http.app):
            for name in ("run_id", "upload_id", "study_id"):
                if f"{{{name}}}" in path:
                    names = {"run_id": run, "upload_id": upload, "study_id": study["id"]}
                    assert asked(http, method, path, **names) == 404, (method, path)
        assert "secret" not in http.get("/").text and run not in http.get("/?search=secret").text
        assert http.get(f"/compare?run={run}&run={run}").status_code == 422
        assert "secret" not in http.get(f"/new?like={run}").text
        assert "secret" not in http.get("/studies").text
    assert bob.ask("GET", "/runs")["count"] == 0 and bob.ask("GET", "/studies")["count"] == 0
    stolen = bob.ask(
        "POST", "/runs", 422, json={"request": request(4, placement="a"), "files": {"a": upload}}
    )
    assert stolen["field"] == "files"
    assert alice.ask("GET", f"/runs/{run}") == before
    assert alice.ask("GET", f"/uploads/{upload}")["received_B"] == 1


def test_a_shared_run_is_read_by_all_and_changed_by_its_owner(alice: User, bob: User) -> None:
    run = alice.submit(request(4))
    alice.over(run)
    alice.ask("PATCH", f"/runs/{run}", json={"shared": True})
    stranger = TestClient(alice.http.app, "http://localhost", follow_redirects=False)
    for path in (f"/runs/{run}", f"/runs/{run}/report", f"/api/v1/runs/{run}", f"/api/v1/runs/{run}/archive"):
        assert stranger.get(path).status_code == 200, path
    assert "Delete this run" not in stranger.get(f"/runs/{run}").text
    for path in (f"/runs/{run}/delete", f"/runs/{run}/edit", f"/runs/{run}/stop"):
        assert stranger.post(path).status_code == 401
    bob.ask("DELETE", f"/runs/{run}", 404)
    bob.ask("PATCH", f"/runs/{run}", 404, json={"shared": False})
    assert bob.ask("GET", f"/runs/{run}")["id"] == run
    alice.ask("PATCH", f"/runs/{run}", json={"shared": False})
    assert stranger.get(f"/runs/{run}").status_code == 404


def test_tokens_are_kept_as_hashes_and_count_for_their_kind(alice: User) -> None:
    store = alice.service.store
    user = store.user("alice")
    tokens = {kind: store.issue(user, kind, 60) for kind in ("once", "session", "api")}
    database = (alice.service.settings.data / "service.sqlite").read_bytes()
    database += (alice.service.settings.data / "service.sqlite-wal").read_bytes()
    for kind, token in tokens.items():
        assert token.encode() not in database
        assert hashlib.sha256(token.encode()).hexdigest().encode() in database
        for asked_for in ("once", "session", "api"):
            assert (store.bearer(token, asked_for) is not None) == (kind == asked_for)
    assert store.spend(tokens["once"]) is not None
    assert store.spend(tokens["once"]) is None and store.spend(tokens["api"]) is None
    assert store.bearer(store.issue(user, "api", -1), "api") is None


@pytest.mark.parametrize(
    "header",
    ["", "Bearer", "Bearer ", "Bearer x", "Bearer ' OR 1=1 --", "bearer %", "Basic YTpi", "x" * 5000],
)
def test_forged_tokens(alice: User, header: str) -> None:
    answer = alice.http.get("/api/v1/runs", headers={"Authorization": header})
    assert answer.status_code == 401
    cookie = alice.service.settings.cookie
    token = alice.headers["Authorization"].removeprefix("Bearer ")
    for forged in (token, header or "x", hashlib.sha256(token.encode()).hexdigest()):
        answer = alice.http.get("/api/v1/runs", headers={"Cookie": f"{cookie}={forged}"})
        assert answer.status_code == 401


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site", "Origin": "http://localhost"},
        {"Origin": "http://evil.example"},
        {"Origin": "http://localhost:1"},
        {"Origin": "null"},
        {},
    ],
)
def test_another_site_changes_nothing(idle: User, headers: dict) -> None:
    alice, browser = idle, browser_of(idle)
    run = alice.submit(request(4))
    names = {"run_id": run, "upload_id": "x", "study_id": "x", "token_id": "1", "user_id": "1"}
    del browser.headers["Sec-Fetch-Site"]
    for method, path in routes(alice.http.app):
        if method in ("GET", "HEAD"):
            continue
        status = browser.request(method, path.format(**names), headers=headers)
        assert status.status_code == 403, (method, path)
    assert alice.ask("GET", f"/runs/{run}")["state"] == "queued"


def test_pages_of_a_browser_without_fetch_metadata_work(browser: TestClient) -> None:
    del browser.headers["Sec-Fetch-Site"]
    answer = browser.post("/tokens", data={"label": "x"}, headers={"Origin": "http://localhost"})
    assert answer.status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "evil.example:80"]
)
def test_other_names_of_the_host_are_refused(alice: User, host: str) -> None:
    for path in ("/", "/health", "/api/v1/runs"):
        assert alice.http.get(path, headers={"Host": host} | alice.headers).status_code == 400


def test_the_cookie_is_for_this_server_alone(alice: User) -> None:
    once = alice.service.store.issue(alice.service.store.user("alice"), "once", 60)
    answer = alice.http.get(f"/enter?token={once}")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=lax" in cookie and "domain" not in cookie
    assert answer.headers["location"] == "/" and once not in answer.headers["location"]
    assert alice.http.get(f"/enter?token={once}").status_code == 401


def test_signing_out_ends_the_session(browser: TestClient, alice: User) -> None:
    cookie = dict(browser.cookies)
    assert browser.get("/").status_code == 200
    browser.post("/leave")
    again = TestClient(alice.http.app, "http://localhost", cookies=cookie)
    assert again.get("/").status_code == 401


def test_a_revoked_token_is_worthless(browser: TestClient, alice: User) -> None:
    page = browser.post("/tokens", data={"label": "mine"}).text
    token = page.partition('id="token">')[2].partition("<")[0]
    headers = {"Authorization": f"Bearer {token}"}
    assert alice.http.get("/api/v1/runs", headers=headers).status_code == 200
    number = alice.service.store.tokens(alice.service.store.user("alice"))[-1].id
    assert browser.post(f"/tokens/{number}/revoke").status_code == 303
    assert alice.http.get("/api/v1/runs", headers=headers).status_code == 401
