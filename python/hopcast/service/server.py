"""A service on this machine: its address, its one-time token, and its life."""

from __future__ import annotations

import os
import socket
import sys
import threading
import webbrowser
from dataclasses import replace
from pathlib import Path

import uvicorn
from sqlalchemy.exc import SQLAlchemyError

from hopcast.errors import InputError
from hopcast.service import confinement, exposure, sandbox
from hopcast.service.app import application, prepare
from hopcast.service.cgroups import Groups, Unavailable
from hopcast.service.settings import Settings, SignIn
from hopcast.service.state import Service

ENTRY_S = 24 * 3600.0
"""Time for which the address that is printed lets somebody in [s]."""

LOCAL_USER = "local"
"""Owner of all runs of a service on a laptop."""

TOKEN_FILE = "token"
"""File in the folder of the data with a token for scripts of this user."""

_BACKLOG = 512


def serve(settings: Settings, port: int, browser: bool) -> None:
    """Serves on the loopback interface until it is told to stop. Raises `InputError` where it cannot."""
    listener = _listen(("127.0.0.1", port), f"--port {port}", "; --port 0 takes any that is free")
    _serve_one_user(replace(settings, cookie=f"hopcast-{listener.getsockname()[1]}"), listener, browser)


def serve_configured(settings: Settings, file: Path) -> None:
    """Serves as a configuration file says until it is told to stop. Raises `InputError` where it cannot."""
    listener = _listen(settings.listen, f"{file}: server.listen = {settings.listen}", "")
    host, port = listener.getsockname()[:2]
    if settings.accounts.sign_in is SignIn.LOCAL:
        _serve_one_user(settings, listener, browser=False, groups=_groups())
        return
    lock = _lock(settings.data)
    try:
        service = _prepared(settings, _groups())
        print(f"hopcast serves {settings.data} at {settings.public_url}, on {host}, port {port}")
        print(f"Users sign in by {settings.accounts.sign_in.value}.", flush=True)
        _warn()
        _server(service).run(sockets=[listener])
    finally:
        os.close(lock)


def _serve_one_user(
    settings: Settings, listener: socket.socket, browser: bool, groups: Groups | None = None
) -> None:
    port = listener.getsockname()[1]
    lock = _lock(settings.data)
    service = _prepared(settings, groups)
    user = service.store.user(LOCAL_USER)
    entry = f"http://localhost:{port}/enter?token={service.store.issue(user, 'once', ENTRY_S)}"
    _write_token(service)
    print(f"hopcast serves {settings.data} at http://localhost:{port}")
    print(f"Open this address, which counts once:\n  {entry}", flush=True)
    _warn()
    if browser:
        threading.Timer(0.5, webbrowser.open, [entry]).start()
    try:
        _server(service).run(sockets=[listener])
    finally:
        os.close(lock)


def _groups() -> Groups | None:
    """Control groups, if this server may use them; says which limits hold."""
    try:
        groups = Groups.delegated()
    except Unavailable as reason:
        print(
            f"Limits of runs are those of each process; no control groups, because {reason}.", file=sys.stderr
        )
        return None
    print("Limits of runs are those of control groups, for all processes of a run together.", file=sys.stderr)
    return groups


def _prepared(settings: Settings, groups: Groups | None = None) -> Service:
    """The service, with its database. Raises `InputError` where there is none, or runs could read it."""
    exposure.check(settings)
    if settings.programs and (problem := sandbox.problem()) is not None:
        print(f"Programs are refused, because they cannot run in a sandbox: {problem}.", file=sys.stderr)
        settings = replace(settings, programs=False)
    elif settings.programs:
        print(f"Programs run in a sandbox: {sandbox.description()}.", file=sys.stderr)
    try:
        service = prepare(settings, groups)
        if not service.store.lock():
            service.store.close()
            raise InputError(f"database {settings.database!r}: another hopcast serve works with it")
        if (sentence := service.pool.open()) is not None:
            print(sentence, file=sys.stderr)
        return service
    except (ModuleNotFoundError, SQLAlchemyError) as error:
        driver = "; it needs: pip install 'hopcast[serve-group]'" if isinstance(error, ImportError) else ""
        reason = str(getattr(error, "orig", None) or error).strip()
        raise InputError(f"database {settings.database!r}: {reason}{driver}") from error


def _warn() -> None:
    if not confinement.landlock_version():
        print("This kernel has no Landlock: traces are not taken.", file=sys.stderr)


def _server(service: Service) -> uvicorn.Server:
    # Pages that watch runs keep their connections; a server that ends does not wait for them.
    config = uvicorn.Config(
        application(service),
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=2,
        server_header=False,
        proxy_headers=False,  # `proxy.ProxyHeaders` believes those that the configuration names
    )
    return uvicorn.Server(config)


def _listen(address: tuple[str, int], name: str, hint: str) -> socket.socket:
    """A socket that listens at an address, which has this name in an error."""
    listener = socket.socket(socket.AF_INET6 if ":" in address[0] else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
        listener.listen(_BACKLOG)  # who comes early waits until the application is there
    except OSError as error:
        listener.close()
        raise InputError(f"{name}: {error.strerror}{hint}") from error
    return listener


def _lock(data: Path) -> int:
    """Locks the folder of the data, for one server alone; the lock ends with this process."""
    import fcntl

    try:
        data.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(data, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise InputError(f"--data {data}: {error.strerror}") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise InputError(f"--data {data}: another hopcast serve works here") from None
    return lock


def _write_token(service: Service) -> None:
    """Leaves a token where scripts of the same user, and nobody else, can read it."""
    file = service.settings.data / TOKEN_FILE
    user = service.store.user(LOCAL_USER)
    if file.is_file() and service.store.bearer(file.read_text().strip(), "api") is not None:
        return
    file.unlink(missing_ok=True)
    place = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(place, "w", encoding="utf-8") as out:
        out.write(service.store.issue(user, "api", label="hopcast submit on this machine"))
