"""The whole HTTP interface against its own OpenAPI: whatever is sent, the server does not fail."""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import User, request
from hypothesis import HealthCheck, given, settings as hypothesis_settings
from hypothesis.errors import Unsatisfiable
from servers import Server

from hopcast import service

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")

CASES = 6
"""Requests of each kind, valid and invalid, for each operation."""


def test_no_request_makes_the_server_fail(shared_server: Server) -> None:
    server = shared_server
    described = json.load(urllib.request.urlopen(f"{server.address}/api/v1/openapi.json"))
    schema = schemathesis.openapi.from_dict(described)
    headers = {"Authorization": f"Bearer {server.token}"}
    statuses: dict[int, int] = {}

    known = itertools.cycle([None, run_of(server), None, upload_of(server)])

    def ask(case: Any) -> None:
        for name in case.path_parameters or {}:
            case.path_parameters[name] = next(known) or case.path_parameters[name]
        answer = case.call(base_url=server.address, headers=headers, timeout=60)
        statuses[answer.status_code] = statuses.get(answer.status_code, 0) + 1
        assert answer.status_code < 500, (case.method, case.formatted_path, case.body, answer.text)
        described = case.operation.definition.raw["responses"]
        assert str(answer.status_code) in described, (case.method, case.formatted_path, answer.status_code)

    operations = [result.ok() for result in schema.get_all_operations()]
    assert len(operations) >= 14
    for operation in operations:
        tried(operation, ask)
    assert sum(statuses.values()) > CASES * len(operations) / 2
    assert {200, 204, 404, 409, 422} <= set(statuses)
    assert urllib.request.urlopen(f"{server.address}/health").status == 200


def test_every_status_that_a_route_gives_is_described(idle: User) -> None:
    paths = idle.http.get("/api/v1/openapi.json").json()["paths"]
    written = "".join(file.read_text() for file in Path(service.__file__).parent.glob("*.py"))
    given = set(re.findall(r"HTTPException\((\d{3})\b", written))
    given |= set(re.findall(r"_answer\(request, (\d{3})\b", written))
    assert {"404", "409", "422", "429", "503", "507"} <= given
    for path, operations in paths.items():
        for method, operation in operations.items():
            if path.startswith("/api/v1/"):
                assert given <= set(operation["responses"]), (method, path)
    for path in ("/runs/{run_id}/report", "/studies/{study_id}/table"):
        assert {"206", "416"} <= set(paths[f"/api/v1{path}"]["get"]["responses"])


def run_of(server: Server) -> str:
    run = server.client.submit(request(4), {})["id"]
    server.client.wait(run)
    return run


def upload_of(server: Server) -> str:
    asked = urllib.request.Request(
        f"{server.address}/api/v1/uploads",
        json.dumps({"name": "a", "size_B": 10**6}).encode(),
        {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"},
    )
    return json.load(urllib.request.urlopen(asked))["id"]


def tried(operation: Any, ask: Callable[[Any], None]) -> None:
    """Asks with cases of an operation, valid and invalid ones."""
    modes = list(schemathesis.GenerationMode)
    places = [place.definition.get("schema", {}).get("type") for place in operation.path_parameters]
    if not (operation.body or operation.query or operation.headers or set(places) - {"string"}):
        # A text in an address is never invalid, which takes a second of tries to be seen.
        modes = [schemathesis.GenerationMode.POSITIVE]
    quiet = hypothesis_settings(
        max_examples=CASES,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    for mode in modes:
        with contextlib.suppress(Unsatisfiable):
            quiet(given(operation.as_strategy(generation_mode=mode))(ask))()
