"""Results that are kept: an experiment that goes on repeats nothing."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from hopcast.errors import InputError
from hopcast.experiment.pieces import LOST, Result

FILE = "pieces.sqlite"
"""Name of the store in the folder of an experiment."""


class Store:
    """Results by key, in one file. What was put is there after the process is killed."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def known(self, keys: Iterable[str]) -> dict[str, Result]:
        """Results of those keys that are not to be computed again."""
        wanted = set(keys)
        found = self._connection.execute("SELECT key, result FROM pieces")
        results = {key: Result.from_json(text) for key, text in found if key in wanted}
        return {key: result for key, result in results.items() if result.state != LOST}

    def put(self, key: str, result: Result) -> None:
        """Keeps a result, instead of an earlier one."""
        with self._connection:
            self._connection.execute("INSERT OR REPLACE INTO pieces VALUES (?, ?)", (key, result.to_json()))


@contextmanager
def opened(folder: Path) -> Iterator[Store]:
    """The store of a folder, for this process alone until it ends, however it ends."""
    file = folder / FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(file, timeout=1)
    except (OSError, sqlite3.Error) as error:
        raise InputError(f"{file}: cannot be opened: {error}") from error
    try:
        # An exclusive lock needs no memory that is shared with others, which network file systems lack.
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        with connection:
            connection.execute(
                "CREATE TABLE IF NOT EXISTS pieces (key TEXT PRIMARY KEY, result TEXT NOT NULL)"
            )
        yield Store(connection)
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            raise InputError(f"{folder}: another process works on this folder") from error
        raise InputError(f"{file}: {error}") from error
    except sqlite3.DatabaseError as error:
        raise InputError(f"{file}: is no store of results: {error}") from error
    finally:
        connection.close()
