"""The store over a database that an earlier build has left."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import URL, create_engine, text
from test_queue import study_of

from hopcast.service.store import Store


def with_columns_added(address: URL | str) -> None:
    """Lets a store open a database that lacks columns, and looks at what it makes of the rows."""
    store = Store(address)
    owner = store.user("alice")
    study = study_of(store, owner, 2, "Kept")
    store.close()
    engine = create_engine(address)
    with engine.begin() as connection:
        for column in ("notes", "words"):
            connection.execute(text(f"ALTER TABLE studies DROP COLUMN {column}"))
    engine.dispose()
    again = Store(address)
    found = again.study(study.id)
    assert found is not None and (found.name, found.notes) == ("Kept", "")
    assert [one.id for one in again.studies(owner, 10, 0, "kept")[0]] == [study.id]
    assert len(again.cells(study.id)) == 2
    again.close()


def test_a_database_of_an_earlier_build_has_columns_added(tmp_path: Path) -> None:
    with_columns_added(f"sqlite:///{tmp_path / 'service.sqlite'}")
