"""Pages of studies: list, form, and a study with its cells."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Form, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse, StreamingResponse
from starlette.concurrency import run_in_threadpool

from hopcast.service import access, live, studies
from hopcast.service.access import OwnStudy, ReadableStudy, Services, Signed, Visitor
from hopcast.service.admission import Refused
from hopcast.service.names import name_of
from hopcast.service.pages import SentName, SentNotes, html_page, notes_of, render, sent_form
from hopcast.service.report_files import answered_file
from hopcast.service.schema import Study, User
from hopcast.service.state import Service
from hopcast.service.studies import Standing
from hopcast.service.study_live import Follower, columns
from hopcast.service.submission import TooMany

_PAGE = 50
_EVERY_S = 1.0
_EXAMPLE = """platform = "fat-tree"
workload = "halo3d --iterations 2"

[options]
ranks = 64
ppn = 1

[factors]
"--bytes" = ["4 KiB", "64 KiB", "1 MiB"]
model = ["flow", "max-rate"]
"""

router = APIRouter(prefix="/studies", include_in_schema=False, default_response_class=HTMLResponse)


@router.get("")
def listing(
    request: Request,
    user: Signed,
    service: Services,
    search: Annotated[str, Query(max_length=200)] = "",
    page: Annotated[int, Query(ge=1, le=10**6)] = 1,
) -> Response:
    """The user's studies, with search."""
    found, count = service.store.studies(user, _PAGE, (page - 1) * _PAGE, search)
    counts = service.store.counts([study.id for study in found])
    standings = [(study, Standing(counts[study.id])) for study in found]
    pages = max(1, -(-count // _PAGE))
    values = {"studies": standings, "count": count, "page": page, "pages": pages, "search": search}
    name = "studies_found.html" if "hx-request" in request.headers else "studies.html"
    return html_page(name, user, **values)


@router.get("/new")
def new(user: Signed) -> Response:
    """A form with an example."""
    return _form(user, {"study": _EXAMPLE})


@router.post("/new/check")
async def check(request: Request, user: Signed, service: Services) -> Response:
    """The form once more, with its cells and what they will take, or with its error."""
    return await _submitted(request, user, service, queue=False)


@router.post("")
async def submit(request: Request, user: Signed, service: Services) -> Response:
    """Queues the cells of a form's study, and goes on to its page."""
    return await _submitted(request, user, service, queue=True)


async def _submitted(request: Request, user: User, service: Service, queue: bool) -> Response:
    values, uploads = await sent_form(request)
    alone = "hx-request" in request.headers
    return await run_in_threadpool(_answer, service, user, values, uploads, queue, alone)


def _answer(
    service: Service, user: User, values: dict[str, str], uploads: dict[str, str], queue: bool, alone: bool
) -> Response:
    text, name = values.get("study", ""), name_of(values.get("name", ""))
    notes = notes_of(values.get("notes", ""))
    shown: dict[str, Any] = {"uploads": uploads, "alone": alone}
    try:
        if not queue:
            return _form(user, values, found=studies.estimate(service, user, text, uploads), **shown)
        study = studies.submit(service, user, text, uploads, name, notes)
    except (Refused, TooMany) as error:
        status = 200 if alone else 422 if isinstance(error, Refused) else 429
        return _form(user, values, error=str(error), status=status, **shown)
    return RedirectResponse(f"/studies/{study.id}", 303)


def _form(
    user: User,
    sent: dict[str, str],
    error: str | None = None,
    found: dict[str, Any] | None = None,
    uploads: dict[str, str] | None = None,
    alone: bool = False,
    status: int = 200,
) -> Response:
    template = "study_form.html" if alone else "new_study.html"
    found = found or {"planned": None, "estimate": None}
    values = {"sent": sent, "error": error, "uploads": uploads or {}, **found}
    return html_page(template, user, status, **values)


@router.get("/{study_id}")
def study_page(study: ReadableStudy, user: Visitor, service: Services) -> Response:
    """A study: how its cells stand, and its page."""
    since_s = time.time()
    cells = service.store.cells(study.id)
    is_own = user is not None and study.owner_id == user.id
    shown = {"study": study, "cells": cells, "standing": Standing.of(cells), "columns": columns(cells)}
    return html_page("study_page.html", user, is_own=is_own, since=since_s, **shown)


@router.get("/{study_id}/events")
def events(
    study: ReadableStudy, service: Services, since: Annotated[float, Query(ge=0, le=10**11)] = 0.0
) -> Response:
    """Cells as server-sent events: those that have changed since this time, and then as they change."""
    headers = {"X-Accel-Buffering": "no"}
    stream = _events(service, study, since)
    return StreamingResponse(stream, media_type="text/event-stream", headers=headers)


async def _events(service: Service, study: Study, since_s: float) -> AsyncIterator[str]:
    follower = await run_in_threadpool(Follower, service.store, study.id, since_s)
    before: dict[str, int] | None = None
    quiet = 0
    while True:
        news = await run_in_threadpool(follower.look)
        if news.cells or news.standing.counts != before:
            before, quiet = news.standing.counts, 0
            values = {"cells": news.cells, "standing": news.standing, "columns": follower.columns}
            yield live.event("cells", render("study_news.html", **values))
        if news.standing.is_over:
            yield live.event("over", "over")
            return
        quiet += 1
        if quiet % live.QUIET == 0:
            yield ": still here\n\n"
        await asyncio.sleep(_EVERY_S)


@router.get("/{study_id}/report")
def report(study: ReadableStudy, service: Services) -> Response:
    """The page about the cells that are over, which may load nothing and has no cookie."""
    headers = {"Content-Security-Policy": access.SafeHeaders.REPORT_POLICY}
    return answered_file(studies.page(service, study), "text/html", headers=headers)


@router.post("/{study_id}/stop")
def stop(study: OwnStudy, service: Services) -> Response:
    """Stops the cells that wait or go on."""
    studies.stop(service, study)
    return RedirectResponse(f"/studies/{study.id}", 303)


@router.post("/{study_id}/edit")
def edit(
    study: OwnStudy,
    service: Services,
    name: SentName = "",
    notes: SentNotes = "",
    shared: Annotated[str, Form(max_length=5)] = "",
) -> Response:
    """Changes name, notes, and who may read."""
    service.store.change_study(study.id, name=name or study.name, notes=notes, shared=bool(shared))
    return RedirectResponse(f"/studies/{study.id}", 303)


@router.post("/{study_id}/delete")
def delete(study: OwnStudy, service: Services) -> Response:
    """Deletes a study with the runs of its cells."""
    studies.delete(service, study)
    return RedirectResponse("/studies", 303)
