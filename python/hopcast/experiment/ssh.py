"""Nodes that are reached by SSH, with the hosts and keys of the user's own configuration.

A command that runs on a host ends when its channel is closed, also because this process was killed or the
network is gone: no server ends commands by itself. So a guard beside it reads the channel, which sends
nothing, to its end.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import shlex
import threading
import uuid
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from hopcast.errors import InputError
from hopcast.experiment.nodes import GRACE_S, Aborted, Background, NodeDied, in_directory
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
        kept = shlex.quote(f"/tmp/hopcast-{uuid.uuid4().hex}")
        text = f"{guarded(in_directory(command, directory))} > {kept} 2>/dev/null; cat {kept}; rm -f {kept}"
        try:
            process = _submit(self._begin(text)).result()
        except self._failures as error:
            raise NodeDied(self.host, f"{type(error).__name__}: {error}") from error
        return _Guarded(process, output, self._failures)

    async def _run(self, text: str) -> Any:
        async with await self._begin(guarded(text)) as process:
            return await process.wait()

    async def _begin(self, text: str) -> Any:
        # As bytes: text that is no UTF-8 would end the connection.
        return await self._connection.create_process(text, encoding=None)


class _Guarded:
    """Command in the background of a host."""

    def __init__(self, process: Any, output: Path, failures: tuple[type[BaseException], ...]) -> None:
        self._process, self._output, self._failures = process, output, failures

    def stop(self) -> None:
        """Ends it with all that it has started, and fetches its output."""
        with contextlib.suppress(*self._failures):
            done = _submit(self._end()).result()
            self._output.write_bytes(done.stdout or b"")

    async def _end(self) -> Any:
        self._process.stdin.write_eof()
        return await self._process.wait()


def guarded(command: str) -> str:
    """A shell command with the exit code and output of `command`, which reads nothing.

    Once the standard input is closed, it ends with all that it has started, which is killed after a grace.
    """
    guard = f"cat; trap '' TERM; kill -s TERM -- -$1; sleep {GRACE_S:.0f}; kill -s KILL -- -$1"
    text = (
        f"exec 3<&0; setsid sh -c {shlex.quote(command)} < /dev/null 3<&- & n=$!; "
        f"sh -c {shlex.quote(guard)} guard $n <&3 > /dev/null 2>&1 3<&- & guard=$!; exec 3<&-; "
        "wait $n; code=$?; "
        "{ kill $guard; kill -s 0 -- -$n || kill -s KILL $guard; } 2>/dev/null; exit $code"
    )
    return f"sh -c {shlex.quote(text)}"
