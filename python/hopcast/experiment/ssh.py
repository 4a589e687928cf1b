"""Nodes that are reached by SSH, with the hosts and keys of the user's own configuration."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from hopcast.errors import InputError
from hopcast.experiment.nodes import Aborted, Background, NodeDied, in_directory, started_there
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
        running = _submit(self._run(in_directory(command, directory)))
        while True:
            try:
                done = running.result(_LOOK_S)
                break
            except self._failures as error:
                if running.done():
                    raise NodeDied(self.host, f"{type(error).__name__}: {error}") from error
                if stop:
                    running.cancel()
                    raise Aborted from None
        if done.exit_status is None:
            raise NodeDied(self.host, "its connection was lost")
        out, said = (bytes(text or b"").decode(errors="replace") for text in (done.stdout, done.stderr))
        return done.exit_status, out, said

    def start(self, command: str, directory: str, output: Path) -> Background:
        """See `Connection.start`. The output waits on the host until the command is stopped."""
        return started_there(self, command, directory, output)

    async def _run(self, text: str) -> Any:
        # As bytes: text that is no UTF-8 would end the connection.
        return await self._connection.run(text, encoding=None)
