"""A service in this process, and users of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from browsers import CHROMIUM, uncomplaining
from clusters import cluster_of
from fastapi.testclient import TestClient
from servers import Server

from hopcast.service.app import application, prepare
from hopcast.service.settings import Limits, Settings
from hopcast.service.state import Service

LONG = {"iterations": "1000000"}
"""Arguments with which a pattern on 64 ranks goes on for minutes."""

HOST = "localhost"


def request(ranks: int = 16, arguments: dict[str, str] | None = None, **options: Any) -> dict[str, Any]:
    """A request of a pattern."""
    workload = {"kind": "pattern", "name": "halo3d", "arguments": arguments or {}}
    return {"platform": "fat-tree", "workload": workload, "ranks": ranks, **options}


@dataclass
class User:
    """A user with a token."""

    http: TestClient
    service: Service
    headers: dict[str, str]

    def ask(self, method: str, path: str, status: int = 200, **body: Any) -> Any:
        """Body of the answer to a request of the HTTP interface, which has this status."""
        headers = self.headers | body.pop("headers", {})
        answer = self.http.request(method, f"/api/v1{path}", headers=headers, **body)
        assert answer.status_code == status, answer.text
        is_json = answer.headers.get("content-type") == "application/json"
        return answer.json() if is_json else answer.content

    def submit(self, asked: dict[str, Any], files: dict[str, str] | None = None, **fields: Any) -> str:
        """Id of a run that is submitted."""
        body = {"request": asked, "files": files or {}, **fields}
        return self.ask("POST", "/runs", 201, json=body)["id"]

    def refused(self, asked: dict[str, Any], files: dict[str, str] | None = None) -> dict[str, Any]:
        """Answer to a request that is refused."""
        return self.ask("POST", "/runs", 422, json={"request": asked, "files": files or {}})

    def upload(self, name: str, content: bytes) -> str:
        """Id of an upload."""
        upload = self.ask("POST", "/uploads", 201, json={"name": name, "size_B": len(content)})["id"]
        self.ask("PATCH", f"/uploads/{upload}", content=content, headers={"Upload-Offset": "0"})
        return upload

    def until(self, run: str, fits: Callable[[dict], bool], limit_s: float = 150) -> dict[str, Any]:
        """State of a run as soon as it fits."""
        end_s = time.monotonic() + limit_s
        while not fits(state := self.ask("GET", f"/runs/{run}")):
            assert time.monotonic() < end_s, str(state)
            time.sleep(0.05)
        return state

    def over(self, run: str) -> dict[str, Any]:
        """State of a run that is over."""
        return self.until(run, lambda state: state["ended_at"] is not None)

    def going(self, run: str) -> dict[str, Any]:
        """State of a run once it simulates."""
        return self.until(run, lambda state: bool(state["progress"]))

    def process_of(self, run: str) -> int:
        """Number of the process of a run."""
        found = self.service.store.run(run)
        assert found is not None and found.process is not None
        return found.process["process"]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A server as a process of its own."""
    server = Server(tmp_path / "data")
    yield server
    if server.process.poll() is None:
        server.end()


@pytest.fixture(scope="session")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for all tests that neither end it nor count what it keeps."""
    server = Server(tmp_path_factory.mktemp("shared") / "data")
    yield server
    server.end()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """Debian's Chromium."""
    if CHROMIUM is None:
        pytest.skip("no Chromium here: apt-get install chromium")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")
    with playwright.sync_playwright() as drivers:
        browser = drivers.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def signed_in(chromium: Any, shared_server: Server) -> Any:
    """Cookies of a first visit to the shared server."""
    with uncomplaining(chromium, shared_server) as page:
        page.goto(shared_server.entry)
        return page.context.storage_state()


@pytest.fixture
def page(chromium: Any, shared_server: Server, signed_in: Any) -> Iterator[Any]:
    """A page of the shared server, signed in."""
    with uncomplaining(chromium, shared_server, storage_state=signed_in) as page:
        yield page


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(tmp_path / "data", workers=1, hosts=(HOST,))


@pytest.fixture
def limits() -> Callable[..., Limits]:
    return lambda **changes: replace(Limits(), **changes)


@pytest.fixture
def served(settings: Settings) -> Iterator[Callable[..., tuple[Service, TestClient]]]:
    """Starts services, and ends them after the test."""
    clients: list[TestClient] = []

    def start(changed: Settings = settings) -> tuple[Service, TestClient]:
        service = prepare(changed)
        client = TestClient(application(service), f"http://{HOST}", follow_redirects=False)
        client.__enter__()
        clients.append(client)
        return service, client

    yield start
    for client in clients:
        client.__exit__(None, None, None)


def user_of(service: Service, http: TestClient, name: str) -> User:
    """A user of this name."""
    token = service.store.issue(service.store.user(name), "api")
    return User(http, service, {"Authorization": f"Bearer {token}"})


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """A scheduler of Dask with two workers, which are replaced when they die."""
    pytest.importorskip("distributed", reason="Dask is not installed")
    with cluster_of(2) as cluster:
        yield cluster


@pytest.fixture
def far(settings: Settings, served: Callable[..., tuple[Service, TestClient]], cluster: Any) -> User:
    """Alice, whose runs go on in workers of Dask."""
    return user_of(*served(replace(settings, scheduler=cluster.scheduler_address)), "alice")


@pytest.fixture
def alice(served: Callable[..., tuple[Service, TestClient]]) -> User:
    return user_of(*served(), "alice")


@pytest.fixture
def idle(settings: Settings, served: Callable[..., tuple[Service, TestClient]]) -> User:
    """Alice, where nobody works: all runs wait."""
    return user_of(*served(replace(settings, workers=0)), "alice")


@pytest.fixture
def bob(alice: User) -> User:
    return user_of(alice.service, alice.http, "bob")


@pytest.fixture
def browser(alice: User) -> TestClient:
    """A browser in which alice has signed in."""
    return browser_of(alice)


def browser_of(alice: User) -> TestClient:
    """A browser in which this user, called alice, has signed in."""
    once = alice.service.store.issue(alice.service.store.user("alice"), "once", 60)
    http = TestClient(alice.http.app, f"http://{HOST}", follow_redirects=False)
    http.headers["Sec-Fetch-Site"] = "same-origin"
    assert http.get(f"/enter?token={once}").status_code == 303
    return http


def result_of(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Result of a coroutine that runs in a thread of its own: that of the tests may have an event loop."""
    with ThreadPoolExecutor(1) as apart:
        return apart.submit(asyncio.run, coroutine).result()
