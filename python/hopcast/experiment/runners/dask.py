"""Runner `dask`: the workers of a Dask cluster, here or wherever its scheduler is."""

from __future__ import annotations

import os
import queue
from collections.abc import Generator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from hopcast.errors import InputError
from hopcast.experiment import dask_address
from hopcast.experiment.dask_client import connected
from hopcast.experiment.pieces import LOST, Result, Work, perform
from hopcast.experiment.runners.local import LOOK_S, cores

if TYPE_CHECKING:
    from distributed import Future

    from hopcast.experiment.runners import Settings
    from hopcast.experiment.stopping import Stop

NAME = "dask"
SUMMARY = "A Dask cluster: of this machine, or of the scheduler at ADDRESS."
WHERE = "ADDRESS"

_WAITING = 20
"""Pieces that wait for each worker, so that it never does."""


def made(where: str | None, settings: Settings) -> Dask:
    """The cluster at an address, or one of this machine."""
    if settings.limit_s is not None:
        raise InputError("--limit: Dask ends no piece that has begun; use --on local")
    if where is not None:
        dask_address.check(where)
    return Dask(where, settings.workers or cores())


class Dask:
    """Workers of a cluster. The pieces of one that dies are run by others."""

    def __init__(self, address: str | None, workers: int) -> None:
        self.address = address
        self.workers = workers

    def run(
        self, work: Work, tasks: Mapping[str, Mapping[str, Any]], stop: Stop
    ) -> Generator[tuple[str, Result], None, None]:
        """See `Runner.run`."""
        if not tasks:
            return
        with connected(self.address, self.workers) as client:
            waiting = iter(tasks.items())
            running: set[Future] = set()
            done: queue.SimpleQueue[Future] = queue.SimpleQueue()
            while not stop:
                most = (1 + _WAITING) * max(self.workers, len(client.scheduler_info(n_workers=-1)["workers"]))
                for key, inputs in islice(waiting, most - len(running)):
                    future = client.submit(_perform, work, inputs, key=key, pure=False)
                    running.add(future)
                    future.add_done_callback(done.put)
                if not running:
                    return
                try:
                    future = done.get(timeout=LOOK_S)
                except queue.Empty:
                    continue
                running.discard(future)
                yield str(future.key), _result(future)
            client.cancel(list(running))


def _result(future: Future) -> Result:
    from distributed import KilledWorker

    try:
        return future.result()
    except KilledWorker as error:
        return Result(LOST, f"its workers died, {error.last_worker.address} last")
    except Exception as error:
        return Result(LOST, f"{type(error).__name__}: {error}".partition("\n")[0])


def _perform(work: Work, inputs: Mapping[str, Any]) -> Result:
    """Computes a piece in a worker, in the folder in which its paths begin."""
    try:
        if os.getcwd() != work.directory:
            os.chdir(work.directory)
    except OSError as error:
        raise InputError(f"a worker needs the folder {work.directory}: {error.strerror}") from error
    return perform(work.found(), inputs)
