"""Runner `local`: a pool of processes on this machine, which are kept from piece to piece."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, TimeoutError as Late, wait
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import TYPE_CHECKING, Any, NamedTuple

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
"""Batches that wait for each worker, so that it never does."""
_TOGETHER_S, _TOGETHER_MOST = 0.25, 32
"""Time of the pieces that are sent at once, which is lost when this process is killed; and the most."""
LOOK_S = 0.5
"""Time between two looks whether the user wants to stop [s]."""
_END_S = 1.0
"""Time that workers have to end before the pool ends them [s]."""
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

        workers, context = min(self.workers, len(tasks)), _Spawning()
        pool = ProcessPool(
            workers,
            context=context,
            initializer=_begin,
            initargs=(work, os.getpid()),
        )
        try:
            yield from self._results(pool, workers, deque(tasks.items()), stop)
        finally:
            pool.stop()
            # The pool takes its locks away before it ends its workers: one that starts would not find them.
            context.end()
            pool.join()

    def _results(
        self, pool: ProcessPool, workers: int, tasks: deque[Task], stop: Stop
    ) -> Iterator[tuple[str, Result]]:
        running: dict[Future, list[Task]] = {}
        alone: deque[Task] = deque()
        together = 1
        while not stop:
            while len(running) < workers * (1 + _WAITING) and (tasks or alone):
                if alone:
                    batch = [alone.popleft()]
                else:
                    share = max(1, len(tasks) // (workers * (1 + _WAITING)))
                    batch = [tasks.popleft() for _ in range(min(together, share))]
                inputs = [inputs for _, inputs in batch]
                running[pool.schedule(_perform, args=(inputs,), timeout=self._limit_s)] = batch
            if not running:
                return
            done, _ = wait(running, LOOK_S, FIRST_COMPLETED)
            for future in done:
                batch = running.pop(future)
                found = self._found(future)
                if isinstance(found, Result) and len(batch) > 1:
                    # Which of them it was that ended the process shows alone.
                    alone += batch
                    continue
                if isinstance(found, Result):
                    yield batch[0][0], found
                    continue
                if self._limit_s is None:
                    together = _together(found.wall_s / len(batch))
                for (key, _inputs), result in zip(batch, found.results, strict=True):
                    yield key, result

    def _found(self, future: Future) -> Batch | Result:
        """Results of the pieces that were sent together, or why they have none."""
        from pebble import ProcessExpired

        try:
            return future.result()
        except Late:
            return Result(FAILED, f"took longer than {self._limit_s:g} s")
        except ProcessExpired as error:
            return Result(LOST, f"its process died: {_death(error.exitcode)}")


class _Worker(SpawnProcess):
    """Process that hears of no Ctrl-C before it has begun."""

    def start(self) -> None:
        """Starts it."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            super().start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Spawning(SpawnContext):
    """Context that knows the processes that it has made."""

    def __init__(self) -> None:
        super().__init__()
        self._made: list[SpawnProcess] = []

    def Process(self, *arguments: Any, **named: Any) -> SpawnProcess:  # type: ignore[override]
        """A process of this context."""
        process = _Worker(*arguments, **named)
        self._made.append(process)
        return process

    def end(self) -> None:
        """Ends the processes, or leaves those that take longer to the pool."""
        living = [process for process in self._made if process.is_alive()]
        for process in living:
            process.terminate()
        until_s = time.monotonic() + _END_S
        for process in living:
            process.join(max(0.0, until_s - time.monotonic()))


Task = tuple[str, Mapping[str, Any]]
"""Key and inputs of a piece."""


class Batch(NamedTuple):
    """Results of pieces that a worker got at once, and the time that they took together [s]."""

    results: list[Result]
    wall_s: float


def _together(piece_s: float) -> int:
    """Pieces that are sent at once: of short ones several, since sending takes some milliseconds."""
    return max(1, min(_TOGETHER_MOST, int(_TOGETHER_S / max(piece_s, 1e-6))))


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
    own = signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    signal.signal(signal.SIGINT, own)
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


def _perform(pieces: Sequence[Mapping[str, Any]]) -> Batch:
    assert _function is not None, "workers are prepared before their first piece"
    begun_s = time.perf_counter()
    return Batch([perform(_function, inputs) for inputs in pieces], time.perf_counter() - begun_s)
