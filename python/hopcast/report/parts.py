"""Parts of tables in a report's directory while its run goes on.

`DIR/live/TABLE/PROCESS-NUMBER.parquet` are parts, one after the other for each process that runs;
`DIR/live/run.json` says how far the run is. Each file is written under another name and renamed, so that it
is whole from the moment at which it is seen. The finished report takes the place of all of them.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopcast import text_file
from hopcast.outcome import table_of

if TYPE_CHECKING:
    import pyarrow

    from hopcast.request import RunRequest

FOLDER = "live"
"""Name of the folder of parts in the report's directory."""

STATE = "run.json"
"""Name of the file in it that says how far the run is."""

KEPT = ("messages", "matrix_periods")
"""Options of a run that make rows of which there are parts."""


class Parts:
    """Writes the parts of one process; called by the core now and then while the run goes on."""

    def __init__(self, directory: Path, process: int = 0) -> None:
        self._folder = directory.absolute() / FOLDER
        self._process = process
        self._written = 0
        self._restarts = 0
        self._ended = False

    @classmethod
    def of(cls, request: RunRequest, directory: Path | None, process: int = 0) -> Parts | None:
        """The parts of a run with its report in `directory`; None where it keeps nothing that has parts."""
        if directory is None or not any(request.options.get(name) for name in KEPT):
            return None
        return cls(directory, process)

    def begin(self) -> None:
        """Removes the parts of a run that was killed. Other processes write nothing before this."""
        if self._process == 0:
            shutil.rmtree(self._folder, ignore_errors=True)

    def __call__(self, now_s: float, events: int, restarts: int, tables: list[tuple[str, Any]]) -> None:
        """Writes new rows; a full disk ends the parts, and not the run."""
        if self._ended:
            return
        try:
            self._write(now_s, events, restarts, tables)
        except OSError as error:
            self._ended = True
            print(f"hopcast: no more rows are written into {self._folder}: {error}", file=sys.stderr)

    def _write(self, now_s: float, events: int, restarts: int, tables: list[tuple[str, Any]]) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        if restarts != self._restarts:
            self._restarts = restarts
            for old in self._folder.glob(f"*/{self._process}-*"):
                old.unlink()
        for name, columns in tables:
            self._written += 1
            self._write_part(name, table_of(columns))
        if self._process == 0:
            who = {"host": socket.gethostname(), "process": os.getpid()}
            state = who | {"simulated_s": now_s, "events": events}
            draft = self._folder / f".{STATE}"
            draft.write_text(json.dumps(state), encoding="utf-8")
            draft.rename(self._folder / STATE)

    def _write_part(self, name: str, table: pyarrow.Table) -> None:
        from pyarrow import parquet

        folder = self._folder / name
        folder.mkdir(exist_ok=True)
        file = f"{self._process}-{self._written:09}.parquet"
        draft = folder / f".{file}"
        parquet.write_table(table, draft, compression="zstd")
        draft.rename(folder / file)


def written(directory: Path, table: str = "*") -> list[Path]:
    """Parts of a table, or of all, at this moment; none where the run has just ended, or begun again."""
    try:
        return sorted((directory / FOLDER).glob(f"{table}/[0-9]*.parquet"))
    except FileNotFoundError:  # a folder has gone that was there a moment ago
        return []


def state(directory: Path) -> dict[str, Any] | None:
    """Progress of the run that writes parts into `directory`; None if there is none."""
    try:
        return json.loads(text_file.read(directory / FOLDER / STATE))
    except (OSError, ValueError):
        return None


def is_alive(state: dict[str, Any]) -> bool:
    """False if the process of the run is known to be gone, which only its own host can tell."""
    if state["host"] != socket.gethostname():
        return True
    try:
        os.kill(state["process"], 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
