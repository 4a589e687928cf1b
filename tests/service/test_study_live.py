"""The page of a large study that goes on: what it loads from the database, and what it sends."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from conftest import User, browser_of, result_of
from sqlalchemy import event
from test_queue import run_of, study_of

from hopcast.service import live, study_live, study_pages
from hopcast.service.schema import State, Study
from hopcast.service.study_live import Follower
from hopcast.service.study_store import DELETED

CELLS = 1000
LARGE = "x" * 5000
"""Part of each request and outcome, which no page of a study shows."""


class Loaded:
    """Statements that the database has got, and the rows and characters that it has given."""

    def __init__(self) -> None:
        self.statements: list[str] = []
        self.rows, self.characters = 0, 0


@contextmanager
def watched(user: User, monkeypatch: pytest.MonkeyPatch) -> Iterator[Loaded]:
    """Statements and rows of the database meanwhile."""
    from sqlalchemy.engine import CursorResult

    loaded, engine = Loaded(), user.service.store._engine

    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        loaded.statements.append(statement)

    def counted(self: Any) -> list:
        rows = fetch(self)
        loaded.rows += len(rows)
        loaded.characters += len(str(rows))
        return rows

    fetch = CursorResult._fetchall_impl
    event.listen(engine, "before_cursor_execute", note)
    with monkeypatch.context() as patched:
        patched.setattr(CursorResult, "_fetchall_impl", counted)
        yield loaded
    event.remove(engine, "before_cursor_execute", note)


@pytest.fixture
def study(idle: User) -> Study:
    """A study of a thousand cells, the first ten of which are over."""
    store = idle.service.store
    large = {"request": {"large": LARGE}, "outcome": {"failure": None, "large": LARGE}}
    study = study_of(store, store.user("alice"), CELLS, makespan_s=1.5, **large)
    for cell in store.cells(study.id)[:10]:
        store.change(cell.run_id, state=State.FINISHED.value, started_at=1.0, ended_at=2.0)
    return study


def ended(user: User, study: Study, number: int, state: State = State.FINISHED) -> str:
    """Ends the run of a cell; gives its id."""
    run_id = user.service.store.cells(study.id)[number].run_id
    now_s = time.time()
    user.service.store.change(run_id, state=state.value, started_at=now_s, ended_at=now_s, error="no reason")
    return run_id


def test_a_look_loads_what_has_changed(idle: User, study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    store = idle.service.store
    with watched(idle, monkeypatch) as begun:
        follower = Follower(store, study.id, time.time())
    assert len(begun.statements) == 1 and begun.characters < 200 * CELLS < len(LARGE) * CELLS
    assert not any(word in text for text in begun.statements for word in ("request", "words", "notes"))
    assert follower.look().cells == []
    with watched(idle, monkeypatch) as quiet:
        assert follower.look().cells == []
    assert len(quiet.statements) == 1 and quiet.rows == 2, "counts by state, and nothing else"
    run_id = ended(idle, study, 500, State.FAILED)
    with watched(idle, monkeypatch) as busy:
        news = follower.look()
    assert [(cell.number, cell.run_id, cell.error) for cell in news.cells] == [(500, run_id, "no reason")]
    assert news.standing.counts == {"finished": 10, "failed": 1, "queued": 989} and news.standing.over == 11
    assert len(busy.statements) == 2 and busy.rows == 4 and busy.characters < 1000


def test_what_no_time_tells_of_is_noticed_by_the_counts(
    idle: User, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = idle.service.store
    follower = Follower(store, study.id, time.time())
    follower.look()
    store.delete_run(store.cells(study.id)[3].run_id)
    assert follower.look().cells == [], "all cells are not loaded at every look"
    monkeypatch.setattr(study_live, "_RELOAD_EVERY_S", 0.0)
    news = follower.look()
    assert [(cell.number, cell.state) for cell in news.cells] == [(3, DELETED)]
    assert news.standing.counts[DELETED] == 1


def test_a_page_is_told_of_what_has_changed_since_it_was_made(idle: User, study: Study) -> None:
    since_s = time.time() - study_live._MARGIN_S
    ended(idle, study, 7)
    assert [cell.number for cell in Follower(idle.service.store, study.id, since_s).look().cells] == [7]
    late = time.time() + 2 * study_live._MARGIN_S
    assert Follower(idle.service.store, study.id, late).look().cells == []


def test_a_page_gets_rows_and_not_the_whole_table(
    idle: User, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study_pages, "_EVERY_S", 0.0)
    monkeypatch.setattr(live, "QUIET", 3)

    async def events() -> list[str]:
        stream = study_pages._events(idle.service, study, time.time() + 60)
        got = [await anext(stream)]
        ended(idle, study, 20)
        got.append(await anext(stream))
        got.append(await anext(stream))
        await stream.aclose()
        return got

    first, second, third = result_of(events())
    assert third == ": still here\n\n", "a change sends one event"
    assert "<tr" not in first and "990 queued" in first
    assert second.count("<tr") == 1 and 'id="cell-20" hx-swap-oob="true"' in second
    assert "989 queued" in second and len(second) < 1500
    with watched(idle, monkeypatch) as loaded:
        page = browser_of(idle).get(f"/studies/{study.id}").text
    assert page.count("<tr id=") == CELLS and LARGE not in page
    assert loaded.characters < 250 * CELLS
    with watched(idle, monkeypatch) as loaded:
        listed = browser_of(idle).get("/studies").text
    assert f'<td class="n">{CELLS}</td><td class="n">11</td>' in listed and loaded.characters < 2000


def test_runs_that_are_no_cells_do_not_count(idle: User) -> None:
    store = idle.service.store
    alice = store.user("alice")
    study = study_of(store, alice, 2)
    store.add_run(run_of(alice))
    assert store.counts([study.id, "none"]) == {study.id: {"queued": 2}, "none": {}}
