"""The application: HTTP interface and pages over one store and one pool of workers."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from fastapi import FastAPI
from starlette.middleware.trustedhost import TrustedHostMiddleware

from hopcast import __version__
from hopcast.service import (
    api,
    comparisons,
    failures,
    pages,
    platform_api,
    sign_in,
    study_api,
    study_pages,
    tables,
    timelines,
)
from hopcast.service.access import SafeHeaders, SameSite, SizeLimit
from hopcast.service.accounts import Directory
from hopcast.service.cgroups import Groups
from hopcast.service.codes import Codes
from hopcast.service.mail import Mailer
from hopcast.service.pool import Pool
from hopcast.service.proxy import ProxyHeaders
from hopcast.service.retention import Janitor
from hopcast.service.settings import Settings, SignIn
from hopcast.service.state import Service
from hopcast.service.store import Store


def prepare(settings: Settings, groups: Groups | None = None) -> Service:
    """Opens the data of a service. Its workers begin with the application.

    groups: control groups for its runs; their limits are those of each process if None.
    """
    settings.data.mkdir(parents=True, exist_ok=True, mode=0o700)
    store, accounts = Store(settings.database), settings.accounts
    mailer = Mailer(accounts.smtp) if accounts.sign_in is SignIn.MAIL and accounts.smtp else None
    return Service(
        settings, store, Pool(settings, store, groups), Directory(store, accounts), Codes(store), mailer
    )


def application(service: Service) -> FastAPI:
    """The application of a service."""

    @contextlib.asynccontextmanager
    async def alive(_app: FastAPI) -> AsyncIterator[None]:
        janitor = Janitor(service)
        service.pool.start()
        janitor.start()
        if service.mailer is not None:
            service.mailer.start()
        yield
        if service.mailer is not None:
            service.mailer.close()
        janitor.close()
        service.pool.close()
        service.store.close()

    app = FastAPI(
        title="hopcast",
        version=__version__,
        summary="Runs of hopcast that are submitted, watched and fetched by HTTP.",
        lifespan=alive,
        docs_url=None,
        redoc_url=None,
        openapi_url=f"{api.PREFIX}/openapi.json",
    )
    app.state.service = service
    app.include_router(api.router)
    app.include_router(sign_in.operator_router)
    app.include_router(pages.router)
    app.include_router(timelines.router)
    app.include_router(tables.router)
    app.include_router(tables.api_router)
    app.include_router(comparisons.router)
    app.include_router(comparisons.api_router)
    app.include_router(platform_api.router)
    app.include_router(study_api.router)
    app.include_router(study_pages.router)
    app.include_router(sign_in.router)
    failures.add_to(app)

    @app.get("/health", tags=["health"])
    def health() -> dict[str, str]:
        """Says that the server answers."""
        return {"status": "ok", "version": __version__}

    # The last one added sees a request first.
    app.add_middleware(SizeLimit, most_B=service.settings.limits.form_B, uploads=f"{api.PREFIX}/uploads/")
    app.add_middleware(SameSite, public_url=service.settings.public_url)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=_host_names(service.settings))
    app.add_middleware(SafeHeaders)
    app.add_middleware(ProxyHeaders, settings=service.settings)
    return app


def _host_names(settings: Settings) -> list[str]:
    # Starlette compares what stands before the first colon: of [::1]:8080 a bracket.
    return ["[" if host.startswith("[") else host for host in settings.hosts]
