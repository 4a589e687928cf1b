"""One-time codes that are sent by e-mail: of eight digits, for one browser, ten minutes and five tries."""

from __future__ import annotations

import enum
import hashlib
import hmac
import ipaddress
import secrets
import threading
import time

from sqlalchemy import delete, func, select, update

from hopcast.service.schema import Code
from hopcast.service.store import Store

LIFE_S = 600.0
"""Life of a code [s]."""

TRIES = 5
"""Tries of a code."""

PER_HOUR = {"address and client": 5, "address": 30, "client": 30}
"""Codes in an hour for one address from one client, for one address from all, and for one client."""

_HOUR_S = 3600.0
_DAY_S = 24 * 3600.0
_DIGITS = 8


class Tried(enum.Enum):
    """Outcome of a try that was not right."""

    WRONG = "wrong"
    OVER = "over"
    """No more tries: it is too old, was used, or was tried too often."""


class TooManyCodes(Exception):
    """Too many codes were asked for in the last hour."""


class Codes:
    """Codes in the database, which knows them by a hash that needs the browser's own secret."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._counting = threading.Lock()

    def begin(self, address: str, client: str) -> tuple[str, str]:
        """A secret for the browser that asks, and the code to send. Raises `TooManyCodes`.

        It is the same for addresses that have an account, may have one, and may not.
        """
        now_s, client = time.time(), _network(client)
        flow, code = secrets.token_urlsafe(32), f"{secrets.randbelow(10**_DIGITS):0{_DIGITS}}"
        # One at a time, so that those at the same time count one by one.
        with self._counting, self._store.sessions.begin() as session:
            session.execute(delete(Code).where(Code.created_at < now_s - _DAY_S))
            lately = select(func.count()).select_from(Code).where(Code.created_at > now_s - _HOUR_S)
            by_address, by_client = Code.address == address, Code.client == client
            for filters, most in zip(
                ((by_address, by_client), (by_address,), (by_client,)), PER_HOUR.values(), strict=True
            ):
                if (session.scalar(lately.where(*filters)) or 0) >= most:
                    raise TooManyCodes
            fields = {"address": address, "client": client, "created_at": now_s}
            session.add(Code(flow=_flow_hash(flow), hash=_code_hash(flow, code), **fields))
        return flow, code

    def redeem(self, flow: str, code: str) -> str | Tried:
        """The address to which a code was sent, if this is the code; it counts once."""
        digits = "".join(one for one in code if one.isascii() and one.isdigit())
        mine, now_s = Code.flow == _flow_hash(flow), time.time()
        is_open = (Code.tries < TRIES) & (Code.created_at > now_s - LIFE_S) & Code.used.is_(False)
        with self._store.sessions.begin() as session:
            # Counted before it is compared, so that tries at the same time count one by one.
            counted = session.execute(update(Code).where(mine, is_open).values(tries=Code.tries + 1))
            if not counted.rowcount:
                return Tried.OVER
            found = session.scalar(select(Code).where(mine).execution_options(populate_existing=True))
            assert found is not None, "a row that was just counted is there"
            if not hmac.compare_digest(found.hash, _code_hash(flow, digits)):
                return Tried.WRONG if found.tries < TRIES else Tried.OVER
            used = session.execute(update(Code).where(mine, Code.used.is_(False)).values(used=True))
            return found.address if used.rowcount else Tried.OVER


def _flow_hash(flow: str) -> str:
    return hashlib.sha256(flow.encode()).hexdigest()


def _code_hash(flow: str, code: str) -> str:
    # Without the browser's secret, all codes can be tried against this, and none is seen to fit.
    return hmac.new(flow.encode(), code.encode(), "sha256").hexdigest()


def _network(client: str) -> str:
    """Address of a client, or the network that a client of IPv6 has for itself."""
    try:
        address = ipaddress.ip_address(client)
    except ValueError:
        return client[:64]
    address = getattr(address, "ipv4_mapped", None) or address
    return str(address) if address.version == 4 else str(ipaddress.ip_network((address, 64), strict=False))
