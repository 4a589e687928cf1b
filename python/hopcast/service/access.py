"""Access: who a request comes from, what it may see, and requests that another site made a browser send."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Depends, HTTPException, Request
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hopcast.service.proxy import IDENTITY
from hopcast.service.schema import Run, Study, User
from hopcast.service.state import Service, service_of

SESSION_S = 30 * 24 * 3600.0
"""Life of a session [s]."""

_SAFE = ("GET", "HEAD", "OPTIONS")


def visitor(request: Request) -> User | None:
    """The user who sends a request: by a proxy's word, a token for scripts, or the cookie of a session.

    A token that is not valid is an error, and not a visitor without one.
    """
    service = service_of(request)
    if (name := request.scope.get(IDENTITY)) is not None:
        user = service.directory.named(name)
        if user is None:
            raise HTTPException(403, "this user may not sign in here; ask who runs this server")
        return user
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if "authorization" in request.headers:
        user = service.store.bearer(token.strip(), "api") if scheme.lower() == "bearer" else None
        if (user := service.directory.admitted(user)) is None:
            raise HTTPException(401, "this token is not valid")
        return user
    cookie = request.cookies.get(service.settings.cookie)
    return service.directory.admitted(service.store.bearer(cookie, "session")) if cookie else None


def enter_session(service: Service, user: User) -> Response:
    """Goes on to the user's runs, with a session in a cookie."""
    answer = RedirectResponse("/", 303)
    answer.set_cookie(
        service.settings.cookie,
        service.store.issue(user, "session", SESSION_S),
        max_age=int(SESSION_S),
        httponly=True,
        samesite="lax",
        secure=service.settings.is_encrypted,
        path="/",
    )
    return answer


Visitor = Annotated[User | None, Depends(visitor)]
Services = Annotated[Service, Depends(service_of)]


def signed_in(user: Visitor) -> User:
    """The user; nobody else goes on."""
    if user is None:
        raise HTTPException(401, "sign in, or send a token: Authorization: Bearer TOKEN")
    return user


Signed = Annotated[User, Depends(signed_in)]


def own_run(run_id: str, user: Signed, service: Services) -> Run:
    """A run of the user's own; for all others there is none."""
    run = service.store.run(run_id)
    if run is None or run.owner_id != user.id:
        raise HTTPException(404, "there is no such run")
    return run


def readable_run(run_id: str, user: Visitor, service: Services) -> Run:
    """A run that the user owns, or whose owner lets everybody read it who has its link."""
    run = service.store.run(run_id)
    if run is None or not (run.shared or (user is not None and run.owner_id == user.id)):
        raise HTTPException(404, "there is no such run")
    return run


def own_study(study_id: str, user: Signed, service: Services) -> Study:
    """A study of the user's own; for all others there is none."""
    study = service.store.study(study_id)
    if study is None or study.owner_id != user.id:
        raise HTTPException(404, "there is no such study")
    return study


def readable_study(study_id: str, user: Visitor, service: Services) -> Study:
    """A study that the user owns, or whose owner lets everybody read it who has its link."""
    study = service.store.study(study_id)
    if study is None or not (study.shared or (user is not None and study.owner_id == user.id)):
        raise HTTPException(404, "there is no such study")
    return study


OwnStudy = Annotated[Study, Depends(own_study)]
ReadableStudy = Annotated[Study, Depends(readable_study)]
Own = Annotated[Run, Depends(own_run)]
Readable = Annotated[Run, Depends(readable_run)]


class SameSite:
    """Refuses changes that a page of another site asks a browser for, with the user's cookie."""

    def __init__(self, app: ASGIApp, public_url: str | None) -> None:
        self._app, self._public_url = app, public_url

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if (
            scope["type"] == "http"
            and scope["method"] not in _SAFE
            and not _is_same_site(scope, self._public_url)
        ):
            text = "this change was asked for by another site, and was not made\n"
            await PlainTextResponse(text, 403)(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _is_same_site(scope: Scope, public_url: str | None) -> bool:
    """True for requests of our own pages, and of scripts, which send a token and no cookie."""
    headers = Headers(scope=scope)
    if "authorization" in headers:
        return True  # no browser adds it by itself
    site = headers.get("sec-fetch-site")
    if site is not None and site not in ("same-origin", "none"):
        return False
    origin = headers.get("origin")
    if origin is not None:
        return origin == public_url or urlsplit(origin).netloc == headers.get("host")
    # A proxy signs in by a cookie of its own, which need not come as far as here.
    return site is not None or ("cookie" not in headers and IDENTITY not in scope)


class SizeLimit:
    """Refuses bodies that are larger than any form; uploads count their bytes themselves."""

    def __init__(self, app: ASGIApp, most_B: int, uploads: str) -> None:
        self._app, self._most_B, self._uploads = app, most_B, uploads

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or (
            scope["method"] == "PATCH" and scope["path"].startswith(self._uploads)
        ):
            await self._app(scope, receive, send)
            return
        body, more = b"", True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                return
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > self._most_B:
                await PlainTextResponse("this request is too large\n", 413)(scope, receive, send)
                return
        given = False

        async def whole() -> Message:
            nonlocal given
            if given:
                return await receive()
            given = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self._app(scope, whole, send)


class SafeHeaders:
    """Adds to each answer what keeps a browser from loading or framing anything of another site."""

    POLICY = (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; frame-src 'self'; frame-ancestors 'self'; base-uri 'none'"
    )
    REPORT_POLICY = (
        "sandbox allow-scripts allow-popups allow-downloads; default-src 'none'; script-src 'unsafe-inline'; "
        "style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'; base-uri 'none'; "
        "form-action 'none'"
    )
    """Policy of pages that hold their own scripts and styles: they may load nothing and have no cookie."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                names = {name for name, _ in message["headers"]}
                added = {
                    b"content-security-policy": self.POLICY.encode(),
                    b"x-content-type-options": b"nosniff",
                    b"referrer-policy": b"same-origin",
                    b"cross-origin-opener-policy": b"same-origin",
                    b"cross-origin-resource-policy": b"same-origin",
                    b"cache-control": b"no-store",
                }
                message["headers"] = [
                    *message["headers"],
                    *((name, value) for name, value in added.items() if name not in names),
                ]
            await send(message)

        await self._app(scope, receive, with_headers)
