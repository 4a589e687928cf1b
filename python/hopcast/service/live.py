"""The live part of a run's page: progress and pictures, sent whenever they change."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool

from hopcast.report import parts
from hopcast.service.schema import Run
from hopcast.service.state import Service

if TYPE_CHECKING:
    import pyarrow

_MOST_DRAWN = 16
_drawing = threading.Lock()
_drawn: dict[Path, tuple[tuple[str, ...], list]] = {}
"""Names of the parts of a run's tables, and the pictures that were drawn of them; the latest used last."""

_EVERY_S = 0.5
_QUIET = 20
"""Looks without news after which a comment is sent, so that a connection that is gone is noticed."""


def pictures(report: Path, ranks: int | None) -> list:
    """Pictures of the rows that a run has written so far; none where it keeps no rows.

    report: folder into which the run will write its report.
    ranks: number of its ranks, if that is known.
    """
    # One at a time, and once for all who watch: drawing takes memory.
    with _drawing:
        stamp = tuple(sorted(path.name for path in (report / parts.FOLDER).glob("*/[0-9]*.parquet")))
        if not stamp:
            return []
        before = _drawn.pop(report, None)
        if before is None or before[0] != stamp:
            before = (stamp, _draw(report, ranks))
        _drawn[report] = before
        while len(_drawn) > _MOST_DRAWN:
            del _drawn[next(iter(_drawn))]
        return before[1]


def _draw(report: Path, ranks: int | None) -> list:
    import pyarrow

    from hopcast.live_tables import rows
    from hopcast.report.pictures import matrix_over_time, messages_over_time
    from hopcast.report.store import Result

    tables = rows(report)
    ranks = ranks or _ranks(tables.get("matrix_periods"))
    result = Result({"ranks": ranks, "kept_messages": _kept(tables.get("messages"))}, tables)
    drawn = [picture.draw(result) for picture in (messages_over_time, matrix_over_time)]
    del tables, result
    pyarrow.default_memory_pool().release_unused()
    return [picture for picture in drawn if picture is not None]


def _kept(messages: pyarrow.Table | None) -> dict | None:
    """Number of messages so far, of which `messages` holds an equal share, as a report has it."""
    if messages is None or not messages.num_rows:
        return None
    share = messages["share"][0].as_py()
    return {"messages": round(messages.num_rows / share), "kept": messages.num_rows, "share": share}


def _ranks(matrix: pyarrow.Table | None) -> int:
    """Number of ranks of a trace: up to the highest that has sent or received."""
    if matrix is None or not matrix.num_rows:
        return 1
    from pyarrow import compute

    return 1 + max(compute.max(matrix[name]).as_py() for name in ("source", "destination"))


async def events(service: Service, run_id: str, render: Callable[[Run], str]) -> AsyncIterator[str]:
    """Server-sent events of a run: `state` with the live part whenever it changes, `over` at the end."""
    before, quiet = "", 0
    while True:
        run = await run_in_threadpool(service.store.run, run_id)
        if run is None or run.is_over:
            yield event("over", "over")
            return
        text = await run_in_threadpool(render, run)
        if text != before:
            before, quiet = text, 0
            yield event("state", text)
        else:
            quiet += 1
            if quiet % _QUIET == 0:
                yield ": still here\n\n"
        await asyncio.sleep(_EVERY_S)


def event(name: str, text: str) -> str:
    """One event, with each line of its data."""
    lines = "".join(f"data: {line}\n" for line in text.splitlines() or [""])
    return f"event: {name}\n{lines}\n"
