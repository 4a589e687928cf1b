"""Runner `local`: a pool of processes on this machine, which are kept from piece to piece."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, TimeoutError as Late, wait
from itertools import islice
from typing import TYPE_CHECKING, Any

from hopcast.errors import InputError
from hopcast.experiment.pieces import FAILED, LOST, Result, Work, perform

if TYPE_CHECKING:
    from pebble import ProcessPool

    from hopcast.experiment.runners import Settings
    from hopcast.experiment.stopping import Stop

NAME = "local"
SUMMARY = "Processes on this machine, one for each core."
WHERE = None

_WAITING = 3
"""Pieces that wait for each worker, so that it never does."""
LOOK_S = 0.5
"""Time between two looks whether the user wants to stop [s]."""
_LIFE_SIGN_S = 0.5
"""Time between two looks of a worker at its parent [s]."""


def made(where: str | None, settings: Settings) -> Local:
    """The pool of this machine."""
    return Local(settings.workers or cores(), settings.limit_s)


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Local:
    """Pool of processes. One that dies costs the piece that it ran, and is replaced."""

    def __init__(self, workers: int, limit_s: float | None = None) -> None:
        self.workers = workers
        self._limit_s = limit_s

    def run(
        self, work: Work, tasks: Mapping[str, Mapping[str, Any]], stop: Stop
    ) -> Generator[tuple[str, Result], None, None]:
        """See `Runner.run`."""
        if not tasks:
            return
        from pebble import ProcessPool

        workers = min(self.workers, len(tasks))
        pool = ProcessPool(
            workers,
            context=multiprocessing.get_context("spawn"),
            initializer=_begin,
            initargs=(work, os.getpid()),
        )
        try:
            yield from self._results(pool, workers, iter(tasks.items()), stop)
        finally:
            pool.stop()
            pool.join()

    def _results(
        self, pool: ProcessPool, workers: int, tasks: Iterator[tuple[str, Mapping[str, Any]]], stop: Stop
    ) -> Iterator[tuple[str, Result]]:
        running: dict[Future, str] = {}
        while not stop:
            for key, inputs in islice(tasks, workers * (1 + _WAITING) - len(running)):
                running[pool.schedule(_perform, args=(inputs,), timeout=self._limit_s)] = key
            if not running:
                return
            done, _ = wait(running, LOOK_S, FIRST_COMPLETED)
            for future in done:
                yield running.pop(future), self._result(future)

    def _result(self, future: Future) -> Result:
        from pebble import ProcessExpired

        try:
            return future.result()
        except Late:
            return Result(FAILED, f"took longer than {self._limit_s:g} s")
        except ProcessExpired as error:
            return Result(LOST, f"its process died: {_death(error.exitcode)}")


def _death(code: int | None) -> str:
    """End of a process in words."""
    if code is not None and code < 0:
        killed = " (the system may have been short of memory)" if -code == signal.SIGKILL else ""
        return f"{signal.Signals(-code).name}{killed}"
    return f"exit code {code}"


_function: Callable[[Mapping[str, Any]], Any] | None = None
"""Function of this worker's pieces."""


def _begin(work: Work, parent: int) -> None:
    """Prepares a worker."""
    global _function
    # A Ctrl-C on the terminal is for the parent, which then ends its workers.
    os.setpgid(0, 0)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    try:
        os.chdir(work.directory)
        _function = work.found()
    except (OSError, ImportError) as error:
        raise InputError(f"a worker cannot begin: {error}") from error


def _end_with(parent: int) -> None:
    """Ends this worker, and what it started, once its parent is gone."""
    while os.getppid() == parent:
        time.sleep(_LIFE_SIGN_S)
    os.killpg(0, signal.SIGKILL)


def _perform(inputs: Mapping[str, Any]) -> Result:
    assert _function is not None, "workers are prepared before their first piece"
    return perform(_function, inputs)
