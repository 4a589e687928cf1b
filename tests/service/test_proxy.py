"""Accounts by a proxy's header: believed from named addresses alone; forged, doubled and odd ones are not."""

from __future__ import annotations

import http.client
import json
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import HOST, request, result_of, user_of
from fastapi.testclient import TestClient
from servers import HOPCAST
from test_access import asked, routes

from hopcast.service.app import application, prepare
from hopcast.service.proxy import IDENTITY, ProxyHeaders
from hopcast.service.settings import Accounts, Settings, SignIn
from hopcast.service.state import Service

PROXY, HEADER = "10.1.0.7", "X-Forwarded-Email"
ADA, EVE, OPERATOR = "ada@example.org", "eve@elsewhere.example", "op@example.org"
PUBLIC = "https://hopcast.example.org"


@pytest.fixture
def group(settings: Settings) -> Settings:
    accounts = Accounts(
        SignIn.PROXY,
        domains=frozenset({"example.org"}),
        operators=frozenset({OPERATOR}),
        sign_out="/oauth2/sign_out",
    )
    return replace(settings, accounts=accounts, proxies=("10.1.0.0/24", "::1"), public_url=PUBLIC)


@pytest.fixture
def service(group: Settings, served: Callable[..., tuple[Service, TestClient]]) -> Service:
    return served(group)[0]


@pytest.fixture
def browser(service: Service) -> Callable[..., TestClient]:
    """Browsers that come from an address, with headers."""
    app = application(service)

    def new(headers: Any = None, client: str = PROXY) -> TestClient:
        new = TestClient(app, f"http://{HOST}", follow_redirects=False, client=(client, 5), headers=headers)
        return new

    return new


def test_a_user_whom_the_proxy_names(browser: Callable[..., TestClient], service: Service) -> None:
    ada = browser({HEADER: "Ada@Example.org "})
    assert ada.get("/").status_code == 200
    assert service.store.user(ADA).name == ADA and len(service.directory.users()) == 1
    assert browser({HEADER: ADA}, "::1").get("/").status_code == 200
    assert browser({HEADER: ADA}, "::ffff:10.1.0.9").get("/").status_code == 200
    answer = ada.post("/leave", headers={"Origin": PUBLIC})
    assert answer.status_code == 303 and answer.headers["location"] == "/oauth2/sign_out"


@pytest.mark.parametrize(
    "client", ["10.1.1.7", "127.0.0.1", "192.0.2.1", "::2", "testclient", "10.1.0.7.evil"]
)
def test_forged_headers_from_elsewhere(client: str, browser: Callable[..., TestClient]) -> None:
    forged = {
        HEADER: ADA,
        "X-Forwarded-For": PROXY,
        "X-Real-IP": PROXY,
        "Forwarded": f"for={PROXY}",
        "X-Forwarded-User": ADA,
    }
    visitor = browser(forged, client)
    for method, path in routes(visitor.app):
        if path in ("/health", "/leave", "/static/{name}"):
            continue
        names = {
            "run_id": "x",
            "upload_id": "x",
            "study_id": "x",
            "token_id": "1",
            "user_id": "1",
            "name": "x",
        }
        assert asked(visitor, method, path, **names) in (401, 403, 404), (method, path)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([], 401),
        ([(HEADER, "")], 401),
        ([(HEADER, "   ")], 401),
        ([(HEADER, ADA), (HEADER, OPERATOR)], 401),
        ([("X-Forwarded-User", ADA)], 401),
        ([("X_Forwarded_Email", ADA)], 401),
        ([(HEADER, EVE)], 403),
        ([(HEADER, "example.org")], 403),
        ([(HEADER, "@example.org")], 403),
        ([(HEADER.encode(), f"\u00a0{ADA}".encode())], 403),
        ([(HEADER, f"{ADA}, {EVE}")], 403),
        ([(HEADER, "ada@sub.example.org")], 403),
        ([(HEADER, f"{'a' * 300}@example.org")], 403),
        ([(HEADER, "a\x0b@example.org")], 403),
    ],
)
def test_odd_headers_of_the_proxy(headers: list, status: int, browser: Callable[..., TestClient]) -> None:
    visitor = browser()
    for path in ("/", "/api/v1/runs", "/users"):
        assert visitor.get(path, headers=headers).status_code == status, path


def test_who_is_blocked_stays_out(browser: Callable[..., TestClient], service: Service) -> None:
    operator, ada = browser({HEADER: OPERATOR, "Origin": PUBLIC}), browser({HEADER: ADA})
    assert ada.get("/").status_code == 200
    number = service.store.user(ADA).id
    assert operator.post(f"/users/{number}/block").status_code == 303
    assert ada.get("/").status_code == 403 and ada.get("/api/v1/runs").status_code == 403
    assert operator.post(f"/users/{number}/unblock").status_code == 303
    assert ada.get("/").status_code == 200


def test_another_site_changes_nothing(browser: Callable[..., TestClient]) -> None:
    """The proxy signs a browser in by a cookie that the service never sees."""
    ada = browser({HEADER: ADA})
    other_sites: list[dict[str, str]] = [
        {},
        {"Sec-Fetch-Site": "cross-site"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site", "Authorization": "Bearer x"},
        {"Authorization": "Basic YTpi"},
    ]
    for headers in other_sites:
        assert ada.post("/tokens", data={"label": "x"}, headers=headers).status_code == 403, headers
    for headers in ({"Origin": PUBLIC}, {"Sec-Fetch-Site": "same-origin"}, {"Origin": f"http://{HOST}"}):
        assert ada.post("/tokens", data={"label": "x"}, headers=headers).status_code == 200, headers


def test_scripts_send_tokens_past_the_proxy(browser: Callable[..., TestClient], service: Service) -> None:
    alice = user_of(service, browser(), ADA)
    run = alice.submit(request(4), name="secret")
    alice.over(run)
    assert browser(alice.headers, "192.0.2.1").get("/api/v1/runs").json()["count"] == 1
    mixed = browser(alice.headers | {HEADER: OPERATOR})
    assert mixed.get("/api/v1/runs").json()["count"] == 0, "the proxy's word counts, and not the token"
    assert mixed.get(f"/runs/{run}").status_code == 404
    evil = user_of(service, browser(), EVE)
    evil.ask("GET", "/runs", 401)


def test_names_of_all_whom_the_proxy_lets_in(settings: Settings) -> None:
    everybody = Accounts(SignIn.PROXY, header="x-forwarded-user")
    assert everybody.admits("ada") and everybody.admits(EVE)
    service = prepare(replace(settings, accounts=everybody, proxies=(PROXY,), public_url=PUBLIC))
    app = application(service)
    ada = TestClient(app, f"http://{HOST}", client=(PROXY, 1), headers={"X-Forwarded-User": "ada"})
    assert ada.get("/api/v1/runs").status_code == 200
    assert (
        TestClient(app, f"http://{HOST}", client=(PROXY, 1), headers={HEADER: ADA}).get("/").status_code
        == 401
    )
    service.store.close()


def behind(group: Settings, peer: str, *headers: tuple[bytes, bytes]) -> dict[str, Any]:
    """The scope of a request that an address has sent, as the application sees it."""
    seen: dict[str, Any] = {}

    async def app(scope: Any, _receive: Any, _send: Any) -> None:
        seen.update(scope)

    scope = {"type": "http", "headers": list(headers), "client": (peer, 5), "scheme": "http"}
    result_of(ProxyHeaders(app, group)(scope, None, None))  # type: ignore[arg-type]
    return seen


def test_the_client_is_the_one_that_the_last_proxy_has_seen(group: Settings) -> None:
    def client_of(peer: str, forwarded: str) -> tuple[str, str]:
        sent = ((b"x-forwarded-for", forwarded.encode()), (b"x-forwarded-proto", b"https"))
        seen = behind(group, peer, *sent)
        return seen["client"][0], seen["scheme"]

    assert client_of(PROXY, "1.2.3.4, 192.0.2.1") == ("192.0.2.1", "https"), "what a client wrote counts not"
    assert client_of(PROXY, "1.2.3.4, 192.0.2.1, 10.1.0.9") == ("192.0.2.1", "https")
    assert client_of("192.0.2.9", "1.2.3.4") == ("192.0.2.9", "http")
    assert client_of(f"::ffff:{PROXY}", "192.0.2.1") == ("192.0.2.1", "https"), (
        "as a socket of IPv6 writes it"
    )
    assert client_of("::ffff:192.0.2.9", "1.2.3.4") == ("192.0.2.9", "http")
    assert client_of("testclient", "1.2.3.4") == ("testclient", "http")


def test_two_names_never_become_one(group: Settings) -> None:
    def name_in(value: bytes) -> str:
        return behind(group, PROXY, (HEADER.lower().encode(), value))[IDENTITY]

    assert name_in(b"Kelvin@example.org") == "kelvin@example.org"
    # The sign of the kelvin has a small k as its small letter.
    assert name_in("\u212aelvin@example.org".encode()) == "\u212aelvin@example.org"
    assert name_in("\u00a0ada@example.org".encode()) == "\u00a0ada@example.org", "no space but those of ASCII"
    assert name_in(b"\xff@example.org") == name_in(b"\xfe@example.org") == "", "no text is nobody"


def test_a_server_with_a_file(tmp_path: Path) -> None:
    """The real server: a header that comes over a real connection, from a proxy on the loopback interface."""
    file = tmp_path / "service.toml"
    file.write_text(
        f'data = "{tmp_path}/data"\n[server]\nlisten = "127.0.0.1:0"\npublic_url = "{PUBLIC}"\n'
        'trusted_proxies = ["127.0.0.1"]\n[accounts]\nsign_in = "proxy"\n'
    )
    server = subprocess.Popen(
        [*HOPCAST, "serve", "--config", str(file)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        said = server.stdout.readline()
        assert PUBLIC in said and "Users sign in by proxy." in server.stdout.readline()
        port = int(said.rpartition("port ")[2])

        def get(headers: dict[str, str]) -> tuple[int, bytes]:
            connection = http.client.HTTPConnection("127.0.0.1", port)
            connection.request("GET", "/api/v1/runs", headers={"Host": "hopcast.example.org"} | headers)
            answer = connection.getresponse()
            return answer.status, answer.read()

        assert get({})[0] == 401
        status, body = get({HEADER: ADA})
        assert status == 200 and json.loads(body)["count"] == 0
        assert get({HEADER: ADA, "Host": "evil.example"})[0] == 400
        assert not (tmp_path / "data" / "token").exists()
    finally:
        server.terminate()
        server.communicate(timeout=30)
