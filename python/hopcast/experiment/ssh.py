"""Nodes that are reached by SSH, with the hosts and keys of the user's own configuration."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from hopcast.errors import InputError
from hopcast.experiment.nodes import Aborted, Background, NodeDied, in_directory
from hopcast.experiment.stopping import Stop

_LOOK_S = 0.2
_CONNECT_S = 20
_ALIVE_S = 10
"""Time between two signs of life of a connection; the third that is missing ends it [s]."""


class _Loop:
    """Event loop of all connections, in a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    def submit(self, work: Coroutine[Any, Any, Any]) -> concurrent.futures.Future:
        """Begins a coroutine."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)


_loop: _Loop | None = None


def _submit(work: Coroutine[Any, Any, Any]) -> concurrent.futures.Future:
    global _loop
    _loop = _loop or _Loop()
    return _loop.submit(work)


class SshConnection:
    """Way to one host."""

    def __init__(self, host: str) -> None:
        try:
            import asyncssh
        except ImportError as error:
            raise InputError("--on ssh needs asyncssh: pip install 'hopcast[ssh]'") from error
        self.host = host
        self._failures = (OSError, asyncssh.Error, asyncio.TimeoutError, concurrent.futures.TimeoutError)
        self._connection = self._connected()

    def _connected(self) -> Any:
        import asyncssh

        user_config = Path("~/.ssh/config").expanduser()
        config = [str(user_config)] if user_config.exists() else None
        connect = asyncssh.connect(
            self.host, config=config, keepalive_interval=_ALIVE_S, connect_timeout=_CONNECT_S
        )

        async def connected() -> Any:
            return await connect

        try:
            return _submit(connected()).result(_CONNECT_S + 5)
        except self._failures as error:
            raise NodeDied(self.host, f"{type(error).__name__}: {error}") from error

    def run(self, command: str, directory: str, stop: Stop) -> tuple[int, str, str]:
        """See `Connection.run`."""
        running = _submit(self._connection.run(in_directory(command, directory), errors="replace"))
        while True:
            try:
                done = running.result(_LOOK_S)
                break
            except concurrent.futures.TimeoutError:
                if stop:
                    running.cancel()
                    raise Aborted from None
            except self._failures as error:
                raise NodeDied(self.host, f"{type(error).__name__}: {error}") from error
        if done.exit_status is None:
            raise NodeDied(self.host, "its connection was lost")
        return done.exit_status, str(done.stdout or ""), str(done.stderr or "")

    def start(self, command: str, directory: str, output: Path) -> Background:
        """See `Connection.start`."""
        text = in_directory(command, directory)
        try:
            process = _submit(self._connection.create_process(text, stdout=str(output))).result(_CONNECT_S)
        except self._failures as error:
            raise NodeDied(self.host, f"{type(error).__name__}: {error}") from error
        return _Started(process)


class _Started:
    """Process of another host."""

    def __init__(self, process: Any) -> None:
        self._process = process

    def stop(self) -> None:
        """Ends it."""

        async def ended() -> None:
            self._process.terminate()
            self._process.close()
            await self._process.wait_closed()

        with contextlib.suppress(Exception):
            _submit(ended()).result(_CONNECT_S)
