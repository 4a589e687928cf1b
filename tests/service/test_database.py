"""A service over PostgreSQL does what it does over SQLite, also when the database is killed meanwhile."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest
from conftest import request, user_of
from databases import Postgres
from fastapi.testclient import TestClient
from sqlalchemy import make_url
from sqlalchemy.exc import OperationalError
from test_attacks import SQL
from test_queue import claimed, single, study_of
from test_store import with_columns_added

from hopcast.errors import InputError
from hopcast.service.config import read
from hopcast.service.names import name_of
from hopcast.service.schema import Base, Run
from hopcast.service.server import _prepared as prepared
from hopcast.service.settings import Settings
from hopcast.service.state import Service
from hopcast.service.store import Store
from hopcast.service.study_store import DELETED

pytest.importorskip("psycopg")

Start = Callable[..., tuple[Service, TestClient]]


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    server = Postgres()
    yield server
    server.close()


@pytest.fixture
def grouped(postgres: Postgres, tmp_path: Path) -> Settings:
    """Settings as of a file, over an empty database."""
    file = tmp_path / "service.toml"
    file.write_text(f'data = "{tmp_path}/data"\n[database]\nurl = "{postgres.url}"\n')
    settings = replace(read(file), hosts=("localhost",))
    assert settings.database.drivername == "postgresql+psycopg"
    store = Store(settings.database)
    Base.metadata.drop_all(store.sessions.kw["bind"])
    store.close()
    return settings


def test_a_run_from_its_submission_to_its_end(grouped: Settings, served: Start) -> None:
    service, http = served(grouped)
    alice, bob = user_of(service, http, "alice"), user_of(service, http, "bob")
    run = alice.submit(request(4), name="Mine", notes="Ünïcode")
    assert alice.over(run)["state"] == "finished"
    assert [one["id"] for one in alice.ask("GET", "/runs", params={"search": "ünï MINE"})["runs"]] == [run]
    assert bob.ask("GET", "/runs")["count"] == 0
    bob.ask("GET", f"/runs/{run}", 404)
    upload = alice.upload("a", b"xyz")
    assert alice.ask("GET", f"/uploads/{upload}")["received_B"] == 3
    bob.ask("GET", f"/uploads/{upload}", 404)
    alice.ask("DELETE", f"/runs/{run}", 204)
    alice.ask("GET", f"/runs/{run}", 404)


@pytest.mark.parametrize("text", [*SQL, "a\u0000b"])
def test_sql_in_every_field_is_text(text: str, grouped: Settings, served: Start) -> None:
    user = user_of(*served(grouped), "alice")
    run = user.submit(request(4), name=text, notes=text)
    kept = text.replace("\0", "\ufffd")  # the one character that this database keeps in no text
    assert user.ask("GET", f"/runs/{run}")["name"] == name_of(text)
    assert user.ask("PATCH", f"/runs/{run}", json={"notes": text})["id"] == run
    assert user.ask("GET", f"/runs/{run}")["notes"] == kept
    assert user.ask("GET", "/runs", params={"search": text})["count"] in (0, 1)
    for path in (f"/runs/{quote(text)}", f"/uploads/{quote(text)}"):
        assert user.http.get(f"/api/v1{path}", headers=user.headers).status_code in (404, 405)
    assert user.http.get("/enter", params={"token": text}).status_code == 401
    assert user.http.get("/api/v1/runs", headers={"Cookie": "hopcast=%00"}).status_code == 401
    user.ask("POST", "/runs", 422, json={"request": request(4, placement=text)})
    user.over(run)


def test_a_database_of_an_earlier_build_has_columns_added(grouped: Settings) -> None:
    with_columns_added(grouped.database)


def test_no_run_is_claimed_twice(grouped: Settings) -> None:
    store = Store(grouped.database)
    owner = store.user("alice")
    for number in range(60):
        store.add_run(Run(id=str(number), owner_id=owner.id, request={}, platform="p", workload="w"))
    claimed: list[str] = []

    def claim() -> None:
        misses = 0
        while misses < 20:
            run = store.claim()
            misses = 0 if run is not None else misses + 1
            claimed.extend([] if run is None else [run.id])

    threads = [threading.Thread(target=claim) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(claimed, key=int) == [str(number) for number in range(60)]
    names = [threading.Thread(target=store.user, args=("bob",)) for _ in range(8)]
    for thread in names:
        thread.start()
    for thread in names:
        thread.join()
    assert store.user("bob").id == store.user("bob").id
    store.close()


def test_a_database_that_is_killed_loses_nothing(
    grouped: Settings, served: Start, postgres: Postgres
) -> None:
    user = user_of(*served(replace(grouped, workers=2)), "alice")
    runs = [user.submit(request(16, {"iterations": "3000"}, seed=seed)) for seed in range(8)]
    for _ in range(4):
        time.sleep(0.7)
        postgres.stop()
        answer = user.http.get("/api/v1/runs", headers=user.headers)
        assert answer.status_code == 503 and "database" in answer.json()["detail"]
        assert user.http.get("/", headers=user.headers).status_code == 503
        time.sleep(0.5)
        postgres.start()
    states = [user.over(run) for run in runs]
    assert [state["state"] for state in states] == ["finished"] * 8
    hashes = {state["outcome"]["outcome_hash"] for state in states}
    assert len(hashes) == 1, "the seed draws nothing in this run, so all outcomes are equal"


def test_a_database_serves_one_server(grouped: Settings, served: Start, tmp_path: Path) -> None:
    service = prepared(grouped)
    with pytest.raises(InputError, match="another hopcast serve works with it"):
        prepared(replace(grouped, data=tmp_path / "elsewhere"))
    service.store.close()
    prepared(replace(grouped, data=tmp_path / "elsewhere")).store.close()


def test_a_lock_is_taken_again_where_the_database_was_started_anew(
    grouped: Settings, postgres: Postgres, capfd: pytest.CaptureFixture[str]
) -> None:
    first, second = Store(grouped.database), Store(grouped.database)
    owner = first.user("alice")
    for number in range(2):
        first.add_run(Run(id=str(number), owner_id=owner.id, request={}, platform="p", workload="w"))
    assert first.lock() and not second.lock()
    postgres.stop()
    with pytest.raises(OperationalError):
        first.claim()
    postgres.start()
    claimed = first.claim()
    assert claimed is not None and claimed.id == "0" and not second.lock()
    postgres.stop()
    postgres.start()
    assert second.lock()
    assert first.claim() is None and first.claim() is None
    assert capfd.readouterr().err.count("another server has taken the database") == 1
    second.close()
    claimed = first.claim()
    assert claimed is not None and claimed.id == "1", "the other server has ended"
    first.close()


def test_studies_and_turns_are_those_of_the_other_database(grouped: Settings) -> None:
    store = Store(grouped.database)
    alice, bob = store.user("alice"), store.user("bob")
    outcome = {"failure": "a deadlock", "values": {}}
    study = study_of(store, alice, 3, outcome=outcome)
    single(store, bob, "of bob")
    assert claimed(store, 3) == ["study", "of bob", "study"]
    first, second, third = store.cells(study.id)
    assert (first.state, third.state, third.started_at) == ("running", "queued", None)
    assert first.error == "a deadlock" and first.started_at is not None
    assert [cell.number for cell in store.cells_since(study.id, first.started_at + 3600)] == [0, 1]
    store.delete_run(second.run_id)
    assert store.counts([study.id]) == {study.id: {"running": 1, "queued": 1, DELETED: 1}}
    store.close()


def test_a_study_with_the_character_of_code_zero(grouped: Settings, served: Start) -> None:
    user = user_of(*served(replace(grouped, workers=0)), "alice")
    text = 'platform = "fat-tree"\nworkload = "barrier"\n[options]\nranks = 4\n[factors]\nppn = [1, 2]\n'
    study = user.ask("POST", "/studies", 201, json={"study": text, "name": "a\0b"})
    assert study["name"] == "ab" == user.ask("GET", f"/studies/{study['id']}")["name"]
    run = study["cells"][0]["run"]
    assert user.ask("GET", f"/runs/{run}")["name"] == "ab, cell 0"


def test_a_wrong_password_is_named_and_not_shown(postgres: Postgres, tmp_path: Path) -> None:
    url = make_url(postgres.url).set(drivername="postgresql+psycopg", database="none", password="secret-word")
    with pytest.raises(InputError, match='database "none" does not exist') as raised:
        prepared(Settings(tmp_path / "data", database_url=url))
    assert "secret-word" not in str(raised.value)


def test_without_its_driver_the_error_names_the_command(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from pathlib import Path\n"
        "from sqlalchemy import make_url\n"
        "from hopcast.service.settings import Settings\n"
        "from hopcast.service.server import _prepared\n"
        "from hopcast.errors import InputError\n"
        f"settings = Settings(Path({str(tmp_path)!r}), database_url=make_url('postgresql+psycopg://a@b/c'))\n"
        "try: _prepared(settings)\n"
        "except InputError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'hopcast[serve-group]'" in done.stdout
