"""The queue: users take turns, and so do the studies and the single runs of a user."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from conftest import User, request, user_of

from hopcast.service.queue_store import Line, Turns, Waiting
from hopcast.service.schema import Run, State, Study, StudyCell, User as Owner
from hopcast.service.store import Store, secret
from hopcast.service.study_store import Cell

MANY = 1000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(f"sqlite:///{tmp_path / 'service.sqlite'}")
    yield store
    store.close()


def run_of(owner: Owner, name: str = "", **fields: Any) -> Run:
    values = {"request": request(), "platform": "", "workload": ""} | fields
    return Run(id=secret(), owner_id=owner.id, name=name, **values)


def single(store: Store, owner: Owner, name: str) -> Run:
    run = run_of(owner, name)
    store.add_run(run)
    return run


def study_of(store: Store, owner: Owner, cells: int, name: str = "study", **fields: Any) -> Study:
    """A study whose cells wait."""
    study = Study(id=secret(), owner_id=owner.id, name=name, text="")
    runs = [run_of(owner, name, **fields) for _ in range(cells)]
    found = [
        StudyCell(study_id=study.id, number=number, run_id=run.id, settings={})
        for number, run in enumerate(runs)
    ]
    store.add_study(study, found, runs)
    return study


def claimed(store: Store, number: int) -> list[str]:
    """Names of the runs that begin next."""
    found = [store.claim() for _ in range(number)]
    return [run.name for run in found if run is not None]


def test_a_study_of_a_thousand_cells_holds_up_nobody(store: Store) -> None:
    alice, bob, carol = (store.user(name) for name in ("alice", "bob", "carol"))
    study_of(store, alice, MANY, "cell")
    assert claimed(store, 3) == ["cell"] * 3
    of_bob = [single(store, bob, f"bob {number}") for number in range(3)]
    of_carol = single(store, carol, "carol 0")
    own = single(store, alice, "her own")
    places = [store.ahead(run) for run in (*of_bob, of_carol, own)]
    assert places == [0, 3, 5, 1, 2]
    order = ["bob 0", "carol 0", "her own", "bob 1", "cell", "bob 2", "cell", "cell"]
    assert claimed(store, 8) == order
    last = store.cells_with_runs(store.studies(alice, 1, 0)[0][0].id)[-1][1]
    assert last is not None and store.ahead(last) == MANY - 7


def test_the_place_in_the_queue_is_the_one_in_which_runs_begin(store: Store) -> None:
    owners = [store.user(name) for name in "abc"]
    for number in range(4):
        single(store, owners[0], f"a{number}")
    study_of(store, owners[0], 5)
    study_of(store, owners[1], 3)
    study_of(store, owners[1], 1)
    for number in range(2):
        single(store, owners[2], f"c{number}")
    assert len(claimed(store, 2)) == 2
    waiting = 15 - 2
    promised = {run.id: store.ahead(run) for run in store.in_state(State.QUEUED)}
    assert sorted(promised.values()) == list(range(waiting))
    begun: Sequence[Run | None] = [store.claim() for _ in range(waiting)]
    assert [promised[run.id] for run in begun if run is not None] == list(range(waiting))
    assert store.claim() is None


def test_a_user_who_comes_back_goes_first() -> None:
    turns, old, new = Turns(), Line(1, None), Line(2, None)
    waiting = {old: Waiting(5, 1.0), new: Waiting(1, 2.0)}
    assert turns.next(waiting) == old
    turns.take(old)
    assert turns.next(waiting) == new
    turns.take(new)
    turns.take(old)
    assert turns.next(waiting) == new


def test_cells_take_turns_by_the_interface_too(idle: User) -> None:
    bob = user_of(idle.service, idle.http, "bob")
    text = 'platform = "fat-tree"\nworkload = "ring"\n[options]\nranks = 2\n[factors]\nseed = [1, 2, 3, 4]\n'
    study = idle.ask("POST", "/studies", 201, json={"study": text})
    run = bob.submit(request())
    assert bob.ask("GET", f"/runs/{run}")["ahead"] == 1
    cells: list[Cell] = idle.service.store.cells(study["id"])
    states = [idle.ask("GET", f"/runs/{cell.run_id}")["ahead"] for cell in cells]
    assert states == [0, 2, 3, 4]
