"""Nodes that are the workers of a Dask cluster: each runs the commands that it is sent, one at a time."""

from __future__ import annotations

import atexit
import os
import subprocess
import uuid
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopcast.errors import InputError
from hopcast.experiment import dask_address
from hopcast.experiment.dask_client import connected
from hopcast.experiment.nodes import Aborted, Background, NodeDied, end, in_directory, started_there
from hopcast.experiment.runners.local import cores
from hopcast.experiment.stopping import Stop

if TYPE_CHECKING:
    from distributed import Client

_LOOK_S = 0.2
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
        stack = ExitStack()
        self._client = stack.enter_context(connected(address, cores()))
        atexit.register(stack.close)
        workers = self._client.scheduler_info(n_workers=-1)["workers"]
        if not workers:
            stack.close()
            raise InputError(f"--on dask:{address}: its scheduler has no worker")
        self._addresses = {_name(worker, where): where for where, worker in sorted(workers.items())}

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the workers."""
        return tuple(self._addresses)

    def connect(self, name: str) -> Worker:
        """Way to one of them."""
        return Worker(self._client, name, self._addresses[name])


def _name(worker: dict[str, Any], address: str) -> str:
    """Host and port, which tell workers of one host apart."""
    return f"{worker['host']}-{address.rpartition(':')[2]}"


class Worker:
    """Way to one worker."""

    def __init__(self, client: Client, name: str, address: str) -> None:
        self._client, self._name, self._address = client, name, address

    def run(self, command: str, directory: str, stop: Stop) -> tuple[int, str, str]:
        """See `Connection.run`."""
        key = f"hopcast-{uuid.uuid4().hex}"
        text = in_directory(command, directory)
        running = self._client.submit(_run, text, key, key=key, workers=[self._address], pure=False)
        while True:
            try:
                return running.result(_LOOK_S)
            except TimeoutError:
                if stop:
                    self._client.run(_stop, key, workers=[self._address], on_error="ignore")
                    raise Aborted from None
                if self._address not in self._client.scheduler_info(n_workers=-1)["workers"]:
                    running.cancel()
                    raise NodeDied(self._name, "its worker is gone") from None
            except Exception as error:
                raise NodeDied(self._name, f"{type(error).__name__}: {error}") from error

    def start(self, command: str, directory: str, output: Path) -> Background:
        """See `Connection.start`. The output waits on the worker's host until the command is stopped."""
        return started_there(self, command, directory, output)


_processes: dict[str, subprocess.Popen] = {}
"""Commands that this worker runs, by key."""


def _run(text: str, key: str) -> tuple[int, str, str]:
    """Runs a shell command in a worker."""
    process = subprocess.Popen(
        ["sh", "-c", _GUARDED.format(worker=os.getpid(), text=text)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
        errors="replace",
    )
    _processes[key] = process
    try:
        out, error = process.communicate()
    finally:
        del _processes[key]
    return process.returncode, out, error


def _stop(key: str) -> None:
    """Ends a command of this worker."""
    if (process := _processes.get(key)) is not None:
        end(process)
