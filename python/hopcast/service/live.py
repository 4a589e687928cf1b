"""The live part of a run's page: progress and pictures, sent whenever they change."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool

from hopcast.report import parts
from hopcast.service import process
from hopcast.service.schema import Run, State
from hopcast.service.state import Service

if TYPE_CHECKING:
    import pyarrow

_EVERY_S = 0.5
_QUIET = 20
"""Looks without news after which a comment is sent, so that a connection that is gone is noticed."""


def pictures(service: Service, run: Run) -> list:
    """Pictures of the rows that a run has written so far; none where it keeps no rows."""
    from hopcast.live_tables import rows
    from hopcast.report.pictures import matrix_over_time, messages_over_time
    from hopcast.report.store import Result

    folder = service.pool.attempt(run) / process.REPORT
    if run.state != State.RUNNING.value or not (folder / parts.FOLDER).is_dir():
        return []
    tables = rows(folder)
    ranks = tables.get("matrix_periods")
    result = Result({"ranks": _ranks(run, ranks), "kept_messages": _kept(tables.get("messages"))}, tables)
    drawn = [picture.draw(result) for picture in (messages_over_time, matrix_over_time)]
    return [picture for picture in drawn if picture is not None]


def _kept(messages: pyarrow.Table | None) -> dict | None:
    """Number of messages so far, of which `messages` holds an equal share, as a report has it."""
    if messages is None or not messages.num_rows:
        return None
    share = messages["share"][0].as_py()
    return {"messages": round(messages.num_rows / share), "kept": messages.num_rows, "share": share}


def _ranks(run: Run, matrix: pyarrow.Table | None) -> int:
    """Number of ranks: that of the request, or for a trace the highest that has sent or received."""
    known = run.request.get("ranks")
    if known is not None or matrix is None:
        return int(known or 1)
    from pyarrow import compute

    return 1 + max(compute.max(matrix[name]).as_py() for name in ("source", "destination"))


def stamp(folder: Path) -> tuple[str, ...]:
    """Names of the parts of tables, which change whenever a picture would."""
    return tuple(sorted(path.name for path in (folder / parts.FOLDER).glob("*/[0-9]*.parquet")))


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
