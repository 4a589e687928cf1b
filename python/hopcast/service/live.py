"""The live parts of a run's page: progress and pictures, each sent whenever it changes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool

from hopcast.report import parts
from hopcast.service.schema import Run
from hopcast.service.state import Service

if TYPE_CHECKING:
    from hopcast.report.pictures import Picture

_MOST_DRAWN = 16
_drawing = threading.Lock()
_drawn: dict[Path, tuple[tuple[str, ...], list[Picture]]] = {}
"""Names of the parts of a run's tables, and the pictures that were drawn of them; the latest used last."""

_EVERY_S = 0.5
QUIET = 20
"""Looks without news after which a comment is sent, so that a connection that is gone is noticed."""


def pictures(report: Path, ranks: int | None) -> list[Picture]:
    """Pictures of the rows that a run has written so far; none where it keeps no rows.

    report: folder into which the run will write its report.
    ranks: number of its ranks, if that is known.
    """
    # One at a time, and once for all who watch: drawing takes memory.
    with _drawing:
        stamp = tuple(path.name for path in parts.written(report))
        if not stamp:
            return []
        before = _drawn.pop(report, None)
        if before is None or before[0] != stamp:
            before = (stamp, _draw(report, ranks))
        _drawn[report] = before
        while len(_drawn) > _MOST_DRAWN:
            del _drawn[next(iter(_drawn))]
        return before[1]


def _draw(report: Path, ranks: int | None) -> list[Picture]:
    import pyarrow

    from hopcast.service import live_pictures

    drawn = live_pictures.draw(report, ranks)
    pyarrow.default_memory_pool().release_unused()
    return drawn


async def events(
    service: Service, run_id: str, render: Callable[[Run], dict[str, str]]
) -> AsyncIterator[str]:
    """Server-sent events of a run: the parts of its page by name whenever they change, `over` at the end."""
    before: dict[str, str] = {}
    quiet = 0
    while True:
        run = await run_in_threadpool(service.store.run, run_id)
        if run is None or run.is_over:
            yield event("over", "over")
            return
        shown = await run_in_threadpool(render, run)
        for text in changed(shown, before):
            quiet = 0
            yield text
        quiet += 1
        if quiet % QUIET == 0:
            yield ": still here\n\n"
        await asyncio.sleep(_EVERY_S)


def changed(shown: dict[str, str], before: dict[str, str]) -> Iterator[str]:
    """An event for each part that is not as before, which is noted."""
    for name, text in shown.items():
        if before.get(name) != text:
            before[name] = text
            yield event(name, text)


def event(name: str, text: str) -> str:
    """One event, with each line of its data."""
    lines = "".join(f"data: {line}\n" for line in text.splitlines() or [""])
    return f"event: {name}\n{lines}\n"
