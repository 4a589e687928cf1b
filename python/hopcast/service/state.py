"""The parts of a running service, which each request finds in its application."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from fastapi import Request

from hopcast.service.accounts import Directory
from hopcast.service.codes import Codes
from hopcast.service.mail import Mailer
from hopcast.service.pool import Pool
from hopcast.service.settings import Settings
from hopcast.service.store import Store


@dataclass(frozen=True)
class Service:
    """A running service."""

    settings: Settings
    store: Store
    pool: Pool
    directory: Directory
    codes: Codes
    mailer: Mailer | None = None
    """Sender of codes, where users sign in by e-mail."""
    receiving: set[str] = field(default_factory=set)
    """Uploads of which a piece comes at this moment."""


def service_of(request: Request) -> Service:
    """The service that answers a request."""
    return cast(Service, request.app.state.service)
