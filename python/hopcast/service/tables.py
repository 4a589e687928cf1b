"""Tables of a run, to sort and to filter."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Query, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from hopcast.service import leavings, process, table_process
from hopcast.service.access import Readable, Services, Visitor
from hopcast.service.admission import Refused
from hopcast.service.answers import TableList, TablePart
from hopcast.service.api import ERRORS, PREFIX
from hopcast.service.pages import html_page
from hopcast.service.probes import TooMany
from hopcast.service.schema import Run
from hopcast.service.state import Service

_PAGE = 100
"""Rows on a page."""
_LIMIT_S = 20
_ENDING = ".parquet"

_MOST = 10_000
"""Rows in an answer of the HTTP interface."""

Name = Annotated[str, Query(max_length=200)]
Relation = Literal["contains", "=", "<", ">"]

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
api_router = APIRouter(prefix=f"{PREFIX}/runs/{{run_id}}/tables", responses=ERRORS, tags=["runs"])


@api_router.get("")
def listing(run: Readable, service: Services) -> TableList:
    """Lists the tables of a run."""
    return TableList(tables=_names(service, run))


@api_router.get("/{name}")
def rows(
    run: Readable,
    name: str,
    service: Services,
    column: Annotated[
        str, Query(max_length=200, description="Column of the filter; all rows if empty.")
    ] = "",
    relation: Relation = "contains",
    value: Name = "",
    sort: Annotated[
        str, Query(max_length=200, description="Column by which rows are sorted; as written if empty.")
    ] = "",
    down: Annotated[bool, Query(description="The largest first.")] = False,
    limit: Annotated[int, Query(ge=1, le=_MOST)] = _PAGE,
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
) -> TablePart:
    """Gives rows of a table of a run."""
    asked = {"column": column, "relation": relation, "value": value, "sort": sort, "down": down}
    return TablePart(**_part(service, run, name, asked, offset, limit, are_texts=False))


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
    asked: dict[str, Any] = {
        "column": column,
        "relation": relation,
        "value": value,
        "sort": sort,
        "down": down,
    }
    error, status = None, 200
    found: dict[str, Any] = {"columns": [], "rows": [], "count": 0}
    try:
        found = _part(service, run, name, asked, (page - 1) * _PAGE, _PAGE, are_texts=True)
    except (Refused, TooMany) as refused:
        error, status = str(refused), 422 if isinstance(refused, Refused) else 429
    pages = max(1, -(-found["count"] // _PAGE))
    shown = {"asked": asked, "found": found, "error": error, "page": page, "pages": pages}
    shown |= {"names": _names(service, run), "relations": table_process.RELATIONS}
    return html_page("table_page.html", user, status, run=run, name=name, **shown)


def _part(
    service: Service, run: Run, name: str, asked: dict[str, Any], offset: int, most: int, are_texts: bool
) -> dict[str, Any]:
    """Rows of a table, see `table_process`. Raises `Refused` and `TooMany`."""
    if name not in _names(service, run):
        raise HTTPException(404, "this run has no such table")
    file = f"{name}{_ENDING}"
    fields = {**asked, "file": file, "offset": offset, "most": most, "are_texts": are_texts}
    return service.pool.task("table", fields, {file: _report(service, run) / file}, _LIMIT_S)


def _report(service: Service, run: Run) -> Path:
    return service.settings.run_folder(run.id) / process.REPORT


def _names(service: Service, run: Run) -> list[str]:
    """Names of the tables in a report."""
    files = sorted(_report(service, run).glob(f"*{_ENDING}"))
    return [file.name.removesuffix(_ENDING) for file in files if leavings.is_plain(file)]
