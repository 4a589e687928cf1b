"""Live page of one run of the command line: `hopcast run --live`."""

from __future__ import annotations

import asyncio
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import uvicorn
from fastapi import FastAPI
from fastapi.responses import HTMLResponse, Response, StreamingResponse
from starlette.concurrency import run_in_threadpool
from starlette.middleware.trustedhost import TrustedHostMiddleware

from hopcast.service import live, pages
from hopcast.service.access import SafeHeaders
from hopcast.service.schema import State
from hopcast.service.store import secret

_EVERY_S = 0.5
_LAST_WORDS_S = 2.0
"""Time for which the page may still ask after the end of the run [s]."""


class LivePage:
    """Serves the page of a run of this process on the loopback interface, until it has ended."""

    def __init__(self, directory: Path, title: str, ranks: int | None, browser: bool) -> None:
        self._directory, self._title, self._ranks = directory, title, ranks
        self._progress: dict[str, Any] | None = None
        self._begin_s = time.monotonic()
        self._is_over = False
        self._readers = 0
        self._browser = browser
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://localhost:{self._listener.getsockname()[1]}/{secret()}/"
        config = uvicorn.Config(
            self._application(), log_level="error", timeout_graceful_shutdown=1, server_header=False
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._listener]}, daemon=True
        )

    def __enter__(self) -> LivePage:
        self._thread.start()
        print(f"Live page  {self.address}", file=sys.stderr, flush=True)
        if self._browser:
            threading.Thread(target=webbrowser.open, args=[self.address], daemon=True).start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._is_over = True
        until_s = time.monotonic() + _LAST_WORDS_S
        while self._readers and time.monotonic() < until_s:
            time.sleep(0.05)
        self._server.should_exit = True
        self._thread.join(_LAST_WORDS_S)

    def __call__(self, simulated_s: float, events: int, share: float | None) -> None:
        """Takes note of the progress of the run."""
        elapsed_s = time.monotonic() - self._begin_s
        state = {"simulated_s": simulated_s, "events": events, "share": share}
        self._progress = state | {"elapsed_s": elapsed_s}

    def _application(self) -> FastAPI:
        app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
        # The name of the page is its secret.
        place = self.address[self.address.index("/", len("http://")) :]
        app.add_api_route(place, self._page, response_class=HTMLResponse)
        app.add_api_route(f"{place}events", self._stream)
        app.add_api_route("/static/{name}", pages.static)
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=["localhost", "127.0.0.1"])
        app.add_middleware(SafeHeaders)
        return app

    def _page(self) -> Response:
        text = pages.render(
            "own.html",
            title=self._title,
            directory=self._directory,
            live=self._live(),
            user=None,
            version=pages.VERSION,
        )
        return HTMLResponse(text)

    def _live(self) -> dict[str, str]:
        run = SimpleNamespace(state=State.RUNNING.value, stop_asked=False)
        pictures = live.pictures(self._directory, self._ranks)
        return pages.render_live(run, 0, self._progress, pictures)

    def _stream(self) -> Response:
        return StreamingResponse(self._events(), media_type="text/event-stream")

    async def _events(self) -> AsyncIterator[str]:
        self._readers += 1
        before: dict[str, str] = {}
        try:
            while not self._is_over:
                for text in live.changed(await run_in_threadpool(self._live), before):
                    yield text
                await asyncio.sleep(_EVERY_S)
            ended = pages.render("ended.html", directory=self._directory)
            yield live.event("state", ended)
            yield live.event("over", "over")
        finally:
            self._readers -= 1
