"""Addresses of schedulers of Dask: what is wrong with one is said at once, before a client tries for long."""

from __future__ import annotations

import re
import socket

from hopcast.errors import InputError

_ADDRESS = re.compile(
    r"((?P<scheme>\w+)://)?(\[(?P<six>[0-9a-fA-F:]+)\]|(?P<host>[^\s/:\[\]]+)):(?P<port>\d{1,5})"
)
_OTHER = re.compile(r"\w+://\S+")
"""Addresses of transports of which we know no more."""
_ENCRYPTED = ("tls", "wss")
_CONNECT_S = 30.0


def check(address: str) -> None:
    """Raises `InputError` for a text that is no address of a scheduler."""
    if not (_ADDRESS.fullmatch(address) or _OTHER.fullmatch(address)):
        raise InputError(f"--on dask:{address}: is no address of a scheduler, such as tcp://node1:8786")


def check_reachable(address: str) -> None:
    """Raises `InputError` where no client can connect: keys are missing, or nobody listens.

    Dask's own client tries for its whole time where a port is closed, and does not end where it has no keys.
    """
    if address.partition("://")[0] in _ENCRYPTED:
        _check_keys(address)
        return
    found = _ADDRESS.fullmatch(address)
    if found is None or found["scheme"] not in (None, "tcp"):
        return
    try:
        socket.create_connection((found["six"] or found["host"], int(found["port"])), _CONNECT_S).close()
    except (ConnectionRefusedError, socket.gaierror, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"--on dask:{address}: no scheduler answers: {reason}") from error
    except OSError:  # Dask's client tries again, and says in the end why
        return


def _check_keys(address: str) -> None:
    from distributed.security import Security

    try:
        context = Security().get_connection_args("client")["ssl_context"]
    except (OSError, ValueError) as error:
        raise InputError(f"--on dask:{address}: the keys distributed.comm.tls: {error}") from error
    if context is None:
        raise InputError(
            f"--on dask:{address}: an encrypted connection needs keys: distributed.comm.tls.ca-file, "
            "client.cert and client.key in Dask's configuration"
        )
