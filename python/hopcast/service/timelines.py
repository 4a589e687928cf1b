"""The timeline of a run: a page of its own, which loads the calls that were kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fastapi import APIRouter, HTTPException, Response
from fastapi.responses import FileResponse, HTMLResponse

from hopcast.report import timeline_view
from hopcast.report.store import Result
from hopcast.service import admission, process
from hopcast.service.access import Readable, Services, Visitor
from hopcast.service.pages import html_page
from hopcast.service.schema import Run
from hopcast.service.state import Service

MOST = 200_000
"""Calls, and as many messages, that the page shows."""

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)


@router.get("/runs/{run_id}/timeline")
def timeline(run: Readable, user: Visitor, service: Services) -> Response:
    """The calls of a run by rank and time, to zoom and to move."""
    words = timeline_view.words(_kept(service, run), MOST, "The file for Perfetto")
    return html_page("timeline_page.html", user, run=run, words=words)


@router.get("/runs/{run_id}/timeline/calls")
def calls(run: Readable, service: Services) -> Response:
    """Calls and messages that the page draws."""
    return Response(timeline_view.data(_kept(service, run), MOST), media_type="application/json")


@router.get("/runs/{run_id}/timeline.json")
def for_perfetto(run: Readable, service: Services) -> Response:
    """The whole timeline, for another viewer."""
    file = _report(service, run) / "timeline.json"
    if not file.is_file():
        raise HTTPException(404, "this run has kept no records")
    return FileResponse(file, media_type="application/json", filename=f"timeline-{run.id}.json")


def _report(service: Service, run: Run) -> Path:
    return service.settings.run_folder(run.id) / process.REPORT


def _kept(service: Service, run: Run) -> Result:
    """The two tables of a report that a timeline is made of."""
    from pyarrow import parquet

    if admission.is_program(run.request):
        # A program can leave anything as its tables, which this process must not open.
        raise HTTPException(
            404, "of a program's run there is no timeline here; fetch the run and open it there"
        )
    tables: dict[str, Any] = {}
    for name in ("call_records", "message_records"):
        file = _report(service, run) / f"{name}.parquet"
        if file.is_file():
            tables[name] = parquet.read_table(file)
    if "call_records" not in tables:
        raise HTTPException(404, "this run has kept no records")
    return Result({"ranks": (run.outcome or {}).get("ranks")}, tables)
