"""Cells of a study that goes on, for its page: each look loads the counts, and what may have changed."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

from hopcast.service.store import Store
from hopcast.service.studies import Standing
from hopcast.service.study_store import Cell

_MARGIN_S = 5.0
"""Time that the database may take to note what has happened [s]; what takes longer shows in the counts."""
_RELOAD_EVERY_S = 30.0
"""Time between two looks at all cells, where their states do not add up to the counts [s]."""
_SURE_EVERY = 10
"""Looks after which cells are loaded though no count has changed."""


@dataclass(frozen=True)
class News:
    """Changes since the last look."""

    cells: list[Cell]
    standing: Standing


class Follower:
    """Watches one study. All its cells are loaded once, when it begins."""

    def __init__(self, store: Store, study_id: str, since_s: float) -> None:
        """since_s: time of the page that knows all that had happened before."""
        self._store, self._study_id = store, study_id
        self._since_s = time.time() - _MARGIN_S
        self._counts: dict[str, int] = {}
        self._looks, self._reloaded_s = 0, time.monotonic()
        self._cells = {cell.number: cell for cell in store.cells(study_id)}
        self.columns = columns(self._cells.values())
        self._first = [cell for cell in self._cells.values() if _is_new(cell, since_s - _MARGIN_S)]

    def look(self) -> News:
        """Cells that are not as they were at the last look, and the counts."""
        changed = {cell.number: cell for cell in self._first}
        self._first = []
        counts = self._store.counts([self._study_id])[self._study_id]
        if counts != self._counts or self._looks % _SURE_EVERY == 0:
            self._counts = counts
            now_s = time.time()
            changed |= self._taken(self._store.cells_since(self._study_id, self._since_s))
            self._since_s = now_s - _MARGIN_S
        self._looks += 1
        if counts != Standing.of(self._cells.values()).counts:
            changed |= self._reloaded()
        return News([self._cells[number] for number in sorted(changed)], Standing(counts))

    def _reloaded(self) -> dict[int, Cell]:
        """Cells that differ, of all of them: a run was deleted, or waits again, or the database was away."""
        now_s = time.monotonic()
        if now_s < self._reloaded_s + _RELOAD_EVERY_S:
            return {}
        self._reloaded_s = now_s
        return self._taken(self._store.cells(self._study_id))

    def _taken(self, found: list[Cell]) -> dict[int, Cell]:
        changed = {cell.number: cell for cell in found if self._cells.get(cell.number) != cell}
        self._cells |= changed
        return changed


def columns(cells: Iterable[Cell]) -> list[str]:
    """Names of what varies among cells."""
    return list(dict.fromkeys(name for cell in cells for name in cell.settings))


def _is_new(cell: Cell, since_s: float) -> bool:
    """True for a cell that a page of this time may not know as it is."""
    return max(cell.started_at or 0.0, cell.ended_at or 0.0) >= since_s
