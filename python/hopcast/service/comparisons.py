"""Runs side by side: the page of a comparison, and the same in the HTTP interface."""

from __future__ import annotations

from collections.abc import Sequence
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

    page = comparison_page(_compared(service, _chosen(user, service, run)))
    return HTMLResponse(page, headers={"Content-Security-Policy": access.SafeHeaders.REPORT_POLICY})


@api_router.get("")
def comparison(user: Signed, service: Services, run: Chosen) -> ComparisonState:
    """Sets runs side by side: what differs in platform and options, then results; A is the first."""
    runs = _chosen(user, service, run)
    found = _compared(service, runs)
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
    return ComparisonState(
        title=found.title,
        verdict=found.verdict,
        runs=dict(zip(found.letters, (one.id for one in runs), strict=True)),
        groups=groups,
    )


def _compared(service: Service, runs: Sequence[Run]) -> Comparison:
    """The comparison of runs that have reports."""
    from hopcast.report import store
    from hopcast.report.compare import compare as compared

    reports = [service.settings.run_folder(one.id) / process.REPORT for one in runs]
    places = [one.name or f"{one.workload} on {one.platform}" for one in runs]
    try:
        # Of the tables nothing is shown, so they are not read.
        return compared([store.read(folder / "report.json") for folder in reports], places)
    except Exception as error:
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
