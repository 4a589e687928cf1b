"""Runs begin as copies of a process, the fork server, which has read the libraries that each of them needs.

A copy begins in some milliseconds, a new interpreter in half a second of a processor. It is confined like any
process of a run before it reads what a user has sent, of which the fork server itself reads nothing.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_WITHOUT_THREADS = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
}
"""Variables by which numpy and Arrow start no threads, which copies would not have."""
_TITLE = " " * 1000
"""Room in which a copy writes what it runs, for lists of processes."""


class Copy:
    """Copy of the fork server that runs a task; its methods are those of `subprocess.Popen`."""

    def __init__(self, pid: int, status: int) -> None:
        """status: end of a pipe that gives its code once it has ended."""
        self.pid = pid
        self.returncode: int | None = None
        self._status, self._guard = status, threading.Lock()

    def poll(self) -> int | None:
        """Code with which it has ended; None as long as it goes on."""
        self._look(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """The same, once it has ended. Raises `TimeoutExpired`."""
        self._look(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired("a task", timeout or 0.0)
        return self.returncode

    def terminate(self) -> None:
        """Asks it to end."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGTERM)

    def _look(self, timeout_s: float | None) -> None:
        with self._guard:
            if self.returncode is None and _is_readable(self._status, timeout_s):
                said = os.read(self._status, 4)
                # Copies end with the fork server.
                self.returncode = int.from_bytes(said, "little", signed=True) if said else -signal.SIGKILL
                os.close(self._status)


def _is_readable(descriptor: int, timeout_s: float | None) -> bool:
    looked = select.poll()  # `select` knows no descriptors above 1023
    looked.register(descriptor, select.POLLIN)
    return bool(looked.poll(None if timeout_s is None else timeout_s * 1000))


class ForkServer:
    """The fork server of this process: it starts when it is first needed, and again if it was killed."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._process: subprocess.Popen | None = None
        self._asking: socket.socket | None = None

    def begin(self, environment: Mapping[str, str]) -> None:
        """Starts it, so that the first task need not wait. environment: that of its interpreter."""
        with self._guard:
            if self._asking is None:
                self._begin(environment)

    def start(
        self,
        task: Path,
        folder: Path,
        messages: int,
        environment: Mapping[str, str],
        group: Path | None = None,
        statistics: bool = False,
    ) -> Copy:
        """Starts a copy that does a task of `process`, in a session of its own. Raises `OSError`.

        task: file of the task. folder: it begins there. messages: file for what it writes.
        environment: its environment. group: file of the control group that it enters.
        statistics: true for a task that needs libraries of statistics, which the fork server reads once.
        """
        asked: dict[str, Any] = {"task": str(task), "folder": str(folder), "statistics": statistics}
        asked["environment"] = dict(environment)
        request = json.dumps(asked | {"group": None if group is None else str(group)}).encode()
        with self._guard:
            for _ in range(2):
                if self._asking is None:
                    self._begin(environment)
                with contextlib.suppress(ConnectionError):
                    return self._asked(request, messages)
                self._end()
        raise OSError(errno.ECHILD, "the process that starts runs has ended")

    def close(self) -> None:
        """Ends it, and all copies."""
        with self._guard:
            self._end()

    def _begin(self, environment: Mapping[str, str]) -> None:
        self._asking, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        words = [sys.executable, "-m", "hopcast.service.fork_server_process", str(other.fileno()), _TITLE]
        own = {**environment, **_WITHOUT_THREADS}
        with other:
            self._process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                cwd="/",
                env=own,
                start_new_session=True,
                pass_fds=(other.fileno(),),
            )

    def _end(self) -> None:
        if self._asking is not None and self._process is not None:
            self._asking.close()
            self._process.kill()
            self._process.wait()
        self._asking = self._process = None

    def _asked(self, request: bytes, messages: int) -> Copy:
        """The copy that was asked for. Raises `ConnectionError` where there is none any more."""
        assert self._asking is not None
        status, other = os.pipe()
        try:
            try:
                socket.send_fds(self._asking, [request], [messages, other])
            finally:
                os.close(other)
            said = os.read(status, 8)
            if not said:
                raise ConnectionResetError
            number = int.from_bytes(said, "little", signed=True)
            if number < 0:
                raise OSError(-number, os.strerror(-number))
        except BaseException:
            os.close(status)
            raise
        return Copy(number, status)


shared = ForkServer()
"""The fork server for all tasks of this process."""
