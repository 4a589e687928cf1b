"""Conducts a study: its cells are run, and table and page written, however it ends."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hopcast.errors import InputError
from hopcast.experiment import engine
from hopcast.experiment.pieces import DONE, FAILED, Piece, Result, Work
from hopcast.experiment.progress import PiecesProgress
from hopcast.experiment.runners import Runner
from hopcast.experiment.stopping import Stop
from hopcast.experiment.store import Store, opened
from hopcast.signals import without_end
from hopcast.study import cells, page, table
from hopcast.study.file import Study

WORK = "hopcast.study.run_cell:run"
REPORTS = "reports"
"""Folder of the cells' reports, where they are kept."""
_FILES = (table.TABLE, table.COSTS, page.FILE, "study.toml", "pieces.sqlite", REPORTS)


@dataclass(frozen=True)
class Outcome:
    """Results of a study."""

    rows: list[dict[str, Any]]
    """The table, row by row."""
    folder: Path
    kept: int
    """Cells whose results were there before."""
    stopped: bool
    """True if it was stopped before its end, and can go on."""

    def count(self, state: str) -> int:
        """Number of cells in a state."""
        return sum(row["state"] == state for row in self.rows)


def conduct(study: Study, runner: Runner, folder: Path, reports: bool = False, quiet: bool = True) -> Outcome:
    """Runs the cells of a study that have no result in `folder` yet, and writes its table and page there.

    Ctrl-C and SIGTERM end it in order: what had come by then stands in the table, and the next call goes on.

    reports: whether each cell's whole report is kept.
    """
    _check(study, folder)
    folder = folder.absolute()
    with opened(folder) as store:
        (folder / "study.toml").write_text(study.text, encoding="utf-8")
        with inside(study.directory):
            pieces = _pieces(study, folder if reports else None)
            results, kept, stopped = _results(study, pieces, runner, store, quiet)
        with without_end():
            rows = table.write(study, pieces, results, folder)
            page.write(study, rows, folder)
    return Outcome(rows, folder, kept, stopped)


def _check(study: Study, folder: Path) -> None:
    """Refuses a folder that holds other things, and names of columns that are taken."""
    if folder.exists():
        strangers = [] if not folder.is_dir() else [entry.name for entry in folder.iterdir()]
        strangers = [
            name for name in strangers if name not in _FILES and not name.startswith((".", "pieces."))
        ]
        if not folder.is_dir() or strangers:
            holds = f" holds {strangers[0]}, which is" if strangers else ": is"
            raise InputError(f"--out {folder}{holds} no part of a study; name another folder")
    names = [name for factor in study.factors for name in factor.settings(factor.levels[0])]
    for name in [*names, *study.derived, *study.responses]:
        if name in table.reserved():
            raise InputError(f"{study.place}: '{name}' is a column of every study; choose another name")


def _pieces(study: Study, folder: Path | None) -> list[Piece]:
    pieces = cells.pieces(study)
    if not pieces:
        raise InputError(f"{study.place}: its conditions exclude every cell")
    if folder is None:
        return pieces
    return [_with_report(piece, folder / REPORTS / f"{piece.number:06}") for piece in pieces]


def _with_report(piece: Piece, place: Path) -> Piece:
    """The same piece with a report: another key, since a result without one does not do."""
    return Piece(piece.number, piece.parameters, {**piece.inputs, "report": str(place)})


def _results(
    study: Study, pieces: Sequence[Piece], runner: Runner, store: Store, quiet: bool
) -> tuple[Mapping[str, Result], int, bool]:
    """Results by key, how many cells were there before, and whether the study was stopped."""
    keys = [piece.key for piece in pieces]
    before = store.known(keys)
    kept = sum(key in before for key in keys)
    progress = PiecesProgress("cell", len(set(keys)), len(before), enabled=not quiet)
    work = Work(WORK, str(study.directory))
    try:
        with Stop() as stop:
            results = engine.run(pieces, lambda tasks: runner.run(work, tasks, stop), store, progress, stop)
        return results, kept, bool(stop)
    finally:
        progress.close()


@contextmanager
def inside(directory: Path) -> Iterator[None]:
    """Works in a folder meanwhile."""
    here = os.getcwd()
    os.chdir(directory)
    try:
        yield
    finally:
        os.chdir(here)


def summary(outcome: Outcome) -> str:
    """One line about what was run."""
    from hopcast.report import units

    text = f"{units.things(len(outcome.rows), 'cell')}: {outcome.count(DONE):,} done"
    if outcome.kept:
        text += f", {outcome.kept:,} of them from before"
    if failed := outcome.count(FAILED):
        text += f", {failed:,} failed"
    if lost := len(outcome.rows) - outcome.count(DONE) - failed:
        text += f", {lost:,} not run"
    return text
