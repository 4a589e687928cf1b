"""Tables of a run, to sort and to filter."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Query, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from hopcast.service import leavings, process, table_process
from hopcast.service.access import Readable, Services, Visitor
from hopcast.service.admission import Refused
from hopcast.service.pages import html_page
from hopcast.service.probes import TooMany
from hopcast.service.schema import Run
from hopcast.service.state import Service

_PAGE = 100
"""Rows on a page."""
_LIMIT_S = 20
_ENDING = ".parquet"

Name = Annotated[str, Query(max_length=200)]
Relation = Literal["contains", "=", "<", ">"]

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)


@router.get("/runs/{run_id}/tables")
def first(run: Readable, service: Services) -> Response:
    """Goes on to the first table of a run."""
    names = _names(service, run)
    if not names:
        raise HTTPException(404, "this run has no tables")
    return RedirectResponse(f"/runs/{run.id}/tables/{names[0]}", 303)


@router.get("/runs/{run_id}/tables/{name}")
def table(
    run: Readable,
    name: str,
    user: Visitor,
    service: Services,
    column: Name = "",
    relation: Relation = "contains",
    value: Name = "",
    sort: Name = "",
    down: bool = False,
    page: Annotated[int, Query(ge=1, le=10**7)] = 1,
) -> Response:
    """Rows of a table."""
    names = _names(service, run)
    if name not in names:
        raise HTTPException(404, "this run has no such table")
    asked: dict[str, Any] = {
        "column": column,
        "relation": relation,
        "value": value,
        "sort": sort,
        "down": down,
    }
    file = f"{name}{_ENDING}"
    fields = {**asked, "file": file, "offset": (page - 1) * _PAGE, "most": _PAGE}
    error, status = None, 200
    found: dict[str, Any] = {"columns": [], "rows": [], "count": 0}
    try:
        found = service.pool.task("table", fields, {file: _report(service, run) / file}, _LIMIT_S)
    except (Refused, TooMany) as refused:
        error, status = str(refused), 422 if isinstance(refused, Refused) else 429
    pages = max(1, -(-found["count"] // _PAGE))
    shown = {"asked": asked, "found": found, "error": error, "page": page, "pages": pages}
    relations = table_process.RELATIONS
    return html_page(
        "table_page.html", user, status, run=run, name=name, names=names, relations=relations, **shown
    )


def _report(service: Service, run: Run) -> Path:
    return service.settings.run_folder(run.id) / process.REPORT


def _names(service: Service, run: Run) -> list[str]:
    """Names of the tables in a report."""
    files = sorted(_report(service, run).glob(f"*{_ENDING}"))
    return [file.name.removesuffix(_ENDING) for file in files if leavings.is_plain(file)]
