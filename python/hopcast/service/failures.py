"""Answers to what cannot be done: of the HTTP interface as JSON, and as a page for a browser."""

from __future__ import annotations

import errno
from pathlib import Path

from fastapi import FastAPI, Request, Response
from fastapi.exception_handlers import http_exception_handler
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.orm.exc import StaleDataError
from starlette.exceptions import HTTPException

from hopcast.service import api, leavings, pages
from hopcast.service.admission import Refused
from hopcast.service.settings import SignIn
from hopcast.service.state import service_of
from hopcast.service.submission import TooMany

_WORDS = 20_000
"""Characters of an answer."""
_FULL = (errno.ENOSPC, errno.EDQUOT)
_FULL_OF_POSTGRESQL = "53100"
_GONE = "this has been deleted meanwhile"


def add_to(app: FastAPI) -> None:
    """Lets an application answer so."""
    app.add_exception_handler(HTTPException, _failed)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(Refused, _refused)
    app.add_exception_handler(TooMany, _too_many)
    app.add_exception_handler(DBAPIError, _database_failed)
    app.add_exception_handler(StaleDataError, _row_gone)
    app.add_exception_handler(OSError, _system_failed)


def _answer(request: Request, status: int, words: str, field: str | None = None) -> Response:
    text = leavings.text(words, _WORDS)
    if _is_page(request):
        sign_in = service_of(request).settings.accounts.sign_in
        return pages.error_page(status, text, sign_in=sign_in)
    return JSONResponse({"detail": text, "field": field and leavings.text(field, _WORDS)}, status)


def _is_page(request: Request) -> bool:
    return not request.url.path.startswith((api.PREFIX, "/health"))


async def _failed(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if not _is_page(request):
        return await http_exception_handler(request, error)
    accounts = service_of(request).settings.accounts
    if error.status_code == 401 and accounts.sign_in is SignIn.MAIL and request.method == "GET":
        return RedirectResponse("/sign-in", 303)
    return _answer(request, error.status_code, str(error.detail))


async def _invalid(request: Request, error: Exception) -> Response:
    """Words about each wrong field, without what was sent, which may be no text at all."""
    assert isinstance(error, RequestValidationError)
    wrong = error.errors()
    places = [".".join(str(part) for part in one["loc"][1:]) for one in wrong]
    words = [
        f"{place}: {one['msg']}" if place else one["msg"] for place, one in zip(places, wrong, strict=True)
    ]
    return _answer(request, 422, "; ".join(words), places[0] or None)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    return _answer(request, 422, str(error), error.field)


async def _too_many(request: Request, error: Exception) -> Response:
    return _answer(request, 429, str(error))


async def _database_failed(request: Request, error: Exception) -> Response:
    assert isinstance(error, DBAPIError)
    if _is_full(error):
        return _answer(request, 507, "the disk of the server's database is full")
    if not error.connection_invalidated and not isinstance(error, OperationalError):
        raise error
    return _answer(request, 503, "the database does not answer; try again in a minute")


def _is_full(error: DBAPIError) -> bool:
    state = getattr(error.orig, "sqlstate", None)
    return state == _FULL_OF_POSTGRESQL or "database or disk is full" in str(error.orig)


async def _row_gone(request: Request, _error: Exception) -> Response:
    return _answer(request, 404, _GONE)


async def _system_failed(request: Request, error: Exception) -> Response:
    """A full disk, or a file of a run that somebody else has deleted at this moment; all else is a bug."""
    assert isinstance(error, OSError)
    if error.errno in _FULL:
        return _answer(request, 507, "the disk of the server is full; try again once there is room")
    data = service_of(request).settings.data
    if isinstance(error, FileNotFoundError) and data in Path(str(error.filename)).parents:
        return _answer(request, 404, _GONE)
    raise error
