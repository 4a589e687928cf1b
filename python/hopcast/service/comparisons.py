"""Runs side by side: the page of a comparison, and the same in the HTTP interface."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, HTTPException, Query, Response
from fastapi.responses import HTMLResponse

from hopcast.service import access, admission, process
from hopcast.service.access import Services, Signed
from hopcast.service.answers import ComparedGroup, ComparedRow, ComparisonState
from hopcast.service.api import ERRORS, PREFIX
from hopcast.service.pages import html_page
from hopcast.service.schema import Run, User
from hopcast.service.state import Service

if TYPE_CHECKING:
    from hopcast.report.compare import Comparison

_MOST = 50
"""Most runs of a comparison: each has a column."""
_REPORTS_B = 32 << 20
"""Size of their reports together [B], which take more memory once they are read."""
_one_at_a_time = threading.Lock()

Chosen = Annotated[
    list[str], Query(default_factory=list, max_length=200, description="Ids of two runs or more.")
]

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
api_router = APIRouter(prefix=f"{PREFIX}/comparison", responses=ERRORS, tags=["runs"])


@router.get("/compare")
def compare(user: Signed, service: Services, run: Chosen) -> Response:
    """Runs side by side."""
    return html_page("compare.html", user, runs=_chosen(user, service, run))


@router.get("/compare/page")
def compare_page(user: Signed, service: Services, run: Chosen) -> Response:
    """The comparison itself, as 'hopcast compare --out' writes it."""
    from hopcast.report.html import comparison_page

    page = _made(service, _chosen(user, service, run), lambda found: comparison_page(found).encode())
    return HTMLResponse(page, headers={"Content-Security-Policy": access.SafeHeaders.REPORT_POLICY})


@api_router.get("", response_model=ComparisonState)
def comparison(user: Signed, service: Services, run: Chosen) -> Response:
    """Sets runs side by side: what differs in platform and options, then results; A is the first."""
    runs = _chosen(user, service, run)
    found = _made(service, runs, lambda found: _state(found, runs).model_dump_json().encode())
    return Response(found, media_type="application/json")


def _state(found: Comparison, runs: Sequence[Run]) -> ComparisonState:
    """The comparison of these runs as scripts get it."""
    groups = [
        ComparedGroup(
            title=group.title,
            rows=[
                ComparedRow(name=row.name, values=row.cells, differences=row.differences, ratios=row.ratios)
                for row in group.rows
            ],
        )
        for group in found.groups
    ]
    ids = dict(zip(found.letters, (run.id for run in runs), strict=True))
    return ComparisonState(title=found.title, verdict=found.verdict, runs=ids, groups=groups)


def _made(service: Service, runs: Sequence[Run], make: Callable[[Comparison], bytes]) -> bytes:
    """The comparison of runs that have reports, as `make` writes it."""
    from hopcast.report import store
    from hopcast.report.compare import compare as compared

    files = [service.settings.run_folder(one.id) / process.REPORT / "report.json" for one in runs]
    places = [one.name or f"{one.workload} on {one.platform}" for one in runs]
    if sum(file.stat().st_size for file in files) > _REPORTS_B:
        raise HTTPException(422, "the reports of these runs are too large together; choose fewer")
    try:
        with _one_at_a_time:  # Of the tables nothing is shown, so they are not read.
            return make(compared([store.read(file) for file in files], places))
    except Exception as error:
        if not all(file.is_file() for file in files):
            raise HTTPException(404, "one of these runs has been deleted meanwhile") from error
        if not any(admission.is_program(one.request) for one in runs):
            raise
        # A program can leave anything as its report.
        raise HTTPException(422, "a report of these runs of programs cannot be read") from error


def _chosen(user: User, service: Service, ids: list[str]) -> list[Run]:
    """Runs that the user can read and that have a report."""
    different = list(dict.fromkeys(ids))
    if len(different) > _MOST:
        raise HTTPException(422, f"these are {len(different)} runs; choose {_MOST} at most")
    found = [run for one in different if (run := service.store.run(one)) is not None]
    found = [run for run in found if run.outcome is not None and (run.shared or run.owner_id == user.id)]
    if len(found) < 2:
        raise HTTPException(422, "choose two runs or more that have a report")
    return found
