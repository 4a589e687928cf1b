"""Headers of proxies: believed from those that the configuration names, and removed from all others."""

from __future__ import annotations

import ipaddress
from typing import Any, cast

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from hopcast.service.accounts import name_of
from hopcast.service.settings import Settings, SignIn

IDENTITY = "hopcast.identity"
"""Key of a request's scope with the name of the user that a trusted proxy has sent."""

_FORWARDED = (b"forwarded", b"x-real-ip")


class ProxyHeaders:
    """Takes the user, the client's address and the scheme from headers of a trusted proxy.

    It sees a request first, so that all else can take the scope at its word.
    """

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._trusted = [ipaddress.ip_network(proxy) for proxy in settings.proxies]
        # Typed by other words for the same interface.
        self._forwarded: Any = ProxyHeadersMiddleware(cast(Any, app), trusted_hosts=list(settings.proxies))
        is_by_proxy = settings.accounts.sign_in is SignIn.PROXY
        self._header = settings.accounts.header.encode() if is_by_proxy else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope = dict(scope)
        scope["client"] = _unmapped(scope.get("client"))
        is_trusted = self._is_trusted(scope)
        names = self._identities(scope) if is_trusted else []
        scope["headers"] = [
            (name, value) for name, value in scope["headers"] if not self._is_removed(name, is_trusted, names)
        ]
        if len(names) == 1:  # two headers are a client's and the proxy's: neither is believed
            scope[IDENTITY] = _name_of(names[0])
        await (self._forwarded if is_trusted else self._app)(scope, receive, send)

    def _is_trusted(self, scope: Scope) -> bool:
        try:
            client = ipaddress.ip_address((scope.get("client") or ("",))[0])
        except ValueError:
            return False
        return any(client in network for network in self._trusted)

    def _identities(self, scope: Scope) -> list[bytes]:
        return [value for name, value in scope["headers"] if name == self._header and value.strip(b" \t")]

    def _is_removed(self, name: bytes, is_trusted: bool, names: list[bytes]) -> bool:
        # A proxy may add its own tokens for the user whom it names: those are none of ours.
        if name == self._header or (name == b"authorization" and names):
            return True
        return not is_trusted and (name.startswith(b"x-forwarded-") or name in _FORWARDED)


def _unmapped(client: tuple[str, int] | None) -> tuple[str, int] | None:
    """A client with its address of IPv4, where a socket of IPv6 has written it as `::ffff:192.0.2.1`."""
    if client is None:
        return None
    try:
        mapped = getattr(ipaddress.ip_address(client[0]), "ipv4_mapped", None)
    except ValueError:
        return client
    return client if mapped is None else (str(mapped), client[1])


def _name_of(value: bytes) -> str:
    """Name of a user; empty, which nobody's is, for bytes that are no text."""
    try:
        return name_of(value.decode())
    except UnicodeDecodeError:
        return ""
