"""Nodes that are the workers of a Dask cluster: each runs the commands that it is sent, one at a time."""

from __future__ import annotations

import atexit
import contextlib
import os
import queue
import signal
import subprocess
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopcast.errors import InputError
from hopcast.experiment import dask_address
from hopcast.experiment.dask_client import connected
from hopcast.experiment.nodes import (
    GRACE_S,
    Aborted,
    Background,
    NodeDied,
    StartedThere,
    end,
    in_directory,
)
from hopcast.experiment.runners.local import cores
from hopcast.experiment.stopping import Stop

if TYPE_CHECKING:
    from distributed import Client, Future

_LOOK_S = 0.2
_KNOWN_S = 1.0
_GUARDED = """(while kill -0 {worker}; do sleep 1; done; kill -s TERM -- -$$) > /dev/null 2>&1 &
guard=$!
({text}
)
status=$?
kill $guard
exit $status
"""
"""A shell command that ends within a second of its worker, however that ends."""


class Workers:
    """Workers of the cluster at an address, or of one of this machine, which ends with this process."""

    def __init__(self, address: str | None) -> None:
        if address is not None:
            dask_address.check(address)
        stack = contextlib.ExitStack()
        self._client = stack.enter_context(connected(address, cores()))
        atexit.register(stack.close)
        workers = self._client.scheduler_info(n_workers=-1)["workers"]
        if not workers:
            stack.close()
            raise InputError(f"--on dask:{address}: its scheduler has no worker")
        self._addresses = {_name(worker, where): where for where, worker in sorted(workers.items())}
        self._lock = threading.Lock()
        self._alive, self._known_s = workers, time.monotonic()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the workers."""
        return tuple(self._addresses)

    def connect(self, name: str) -> Worker:
        """Way to one of them."""
        return Worker(self, self._client, name, self._addresses[name])

    def why_gone(self, address: str) -> str:
        """Reason for which a worker answers no more; empty if it lived a second ago.

        One question in a second is for all workers.
        """
        with self._lock:
            if time.monotonic() > self._known_s + _KNOWN_S:
                # It has no workers while the client tries to reach the scheduler again.
                self._alive = self._client.scheduler_info(n_workers=-1).get("workers", self._alive)
                self._known_s = time.monotonic()
            # A client that reaches its scheduler again has lost all that ran.
            if self._client.status != "running":
                return "its scheduler is gone"
            return "" if address in self._alive else "its worker is gone"


def _name(worker: dict[str, Any], address: str) -> str:
    """Host and port, which tell workers of one host apart."""
    return f"{worker['host']}-{address.rpartition(':')[2]}"


class Worker:
    """Way to one worker."""

    def __init__(self, workers: Workers, client: Client, name: str, address: str) -> None:
        self._workers, self._client, self._name, self._address = workers, client, name, address

    def run(self, command: str, directory: str, stop: Stop) -> tuple[int, str, str]:
        """See `Connection.run`."""
        return self._result(self._submit(_run, in_directory(command, directory)), stop)

    def start(self, command: str, directory: str, output: Path) -> Background:
        """See `Connection.start`. The output waits on the worker's host until the command is stopped."""
        kept = f"/tmp/hopcast-{uuid.uuid4().hex}"
        running = self._submit(_start, in_directory(command, directory), kept)
        number = self._result(running, Stop())
        return _Held(running, StartedThere(self, str(number), kept, output))

    def _submit(self, function: Callable[..., Any], *arguments: str) -> Future:
        """Calls a function in the worker with these arguments and the key of the call."""
        key = f"hopcast-{uuid.uuid4().hex}"
        try:
            return self._client.submit(
                function, *arguments, key, key=key, workers=[self._address], pure=False
            )
        except Exception as error:
            raise NodeDied(self._name, f"{type(error).__name__}: {error}") from error

    def _result(self, running: Future, stop: Stop) -> Any:
        # Not by result(timeout): a transfer that it breaks off is an error in distributed. A worker that dies
        # with a result lets result() wait for one of the same address.
        coming: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()
        threading.Thread(target=_fetch, args=(running, coming), daemon=True).start()
        while True:
            try:
                result, error = coming.get(timeout=_LOOK_S)
                break
            except queue.Empty:
                pass
            if stop:
                with contextlib.suppress(Exception):  # of a cluster that is gone, too
                    self._client.run(_stop, running.key, workers=[self._address], on_error="ignore")
                    running.cancel()
                raise Aborted
            if why := self._workers.why_gone(self._address):
                running.cancel()
                raise NodeDied(self._name, why)
        if error is not None:
            said = f"{type(error).__name__}: {error}".partition("\n")[0]
            raise NodeDied(self._name, self._workers.why_gone(self._address) or said) from error
        return result


def _fetch(running: Future, into: queue.SimpleQueue[tuple[Any, BaseException | None]]) -> None:
    """Waits for a result, and puts it, or its error, into a queue; ends when the call is cancelled."""
    try:
        into.put((running.result(), None))
    except BaseException as error:  # a cancelled call is no Exception
        into.put((None, error))


class _Held:
    """Command in the background, whose result this process holds: the worker ends it when nobody does."""

    def __init__(self, running: Future, started: StartedThere) -> None:
        self._running, self._started = running, started

    def stop(self) -> None:
        """Ends it with all that it has started, and fetches its output."""
        self._started.stop()


# In the worker:

_processes: dict[str, subprocess.Popen] = {}
"""Commands that this worker runs, by key."""


def _run(text: str, key: str) -> tuple[int, str, str]:
    """Runs a shell command, which ends early if its client is gone."""
    process = _begun(text, subprocess.PIPE, subprocess.PIPE)
    _processes[key] = process
    try:
        while True:
            try:
                out, error = process.communicate(timeout=_LOOK_S)
                return process.returncode, out, error
            except subprocess.TimeoutExpired:
                if _is_forgotten(_own_worker(), key):
                    end(process)
                    return process.returncode, "", ""
    finally:
        del _processes[key]


def _start(text: str, kept: str, key: str) -> int:
    """Starts a shell command in the background, whose output goes into a file; gives its process."""
    with open(kept, "w", encoding="utf-8") as output:
        process = _begun(text, output, subprocess.DEVNULL)
    threading.Thread(target=_watch, args=(process, _own_worker(), key, kept), daemon=True).start()
    return process.pid


def _watch(process: subprocess.Popen, worker: Any, key: str, kept: str) -> None:
    """Ends a command in the background once its client is gone."""
    while process.poll() is None:
        time.sleep(1)
        if _is_forgotten(worker, key):
            end(process)
            Path(kept).unlink(missing_ok=True)


def _begun(text: str, output: Any, error: Any) -> subprocess.Popen:
    """A shell command that ends with its worker, the leader of a session of its own."""
    return subprocess.Popen(
        ["sh", "-c", _GUARDED.format(worker=os.getpid(), text=text)],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=error,
        start_new_session=True,
        text=True,
        errors="replace",
    )


def _own_worker() -> Any:
    """The worker whose task this thread runs."""
    import distributed

    return distributed.get_worker()


def _is_forgotten(worker: Any, key: str) -> bool:
    """True if nobody waits for the result of a task any more."""
    task = worker.state.tasks.get(key)
    return task is None or task.state == "cancelled"


def _stop(key: str) -> None:
    """Ends a command of this worker, and waits until it has ended."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if (process := _processes.get(key)) is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)
        until_s = time.monotonic() + GRACE_S
        while key in _processes and time.monotonic() < until_s:
            time.sleep(_LOOK_S / 10)
