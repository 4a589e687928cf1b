"""Runs in the workers of a Dask cluster, which need hopcast, and share no files with the server.

Files of a run go to its worker in pieces, and what it leaves comes back in pieces, all through the scheduler.
A worker that dies costs its run, which the server queues again; so does a scheduler that dies.
"""

from __future__ import annotations

import contextlib
import logging
import signal
import sys
import tarfile
import threading
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from hopcast import archive
from hopcast.errors import InputError
from hopcast.experiment import dask_address
from hopcast.report import parts
from hopcast.service import dask_worker, leavings, process, task_process
from hopcast.service.settings import Settings
from hopcast.service.store import secret

if TYPE_CHECKING:
    from distributed import Client

_CONNECT_S, _AGAIN_S = 30, 2.0
"""Time that a scheduler has to answer, and time between two looks at it [s]."""
_SILENCE_S = 120.0
"""Time that a worker has for each of its answers, and between two words while it packs a report [s]."""
_NAME = "hopcast-serve"
_LOGGERS = ("distributed", "distributed.client", "distributed.core", "distributed.comm", "distributed.utils")
_KEEP_EVERY_S = dask_worker.LEASE_S / 6
_PIECE_B = 4 << 20
_SLACK_B = 64 << 20
"""Size beside that of the limited files that a run may leave [B]: names, padding, its end."""
_END_S = 15.0
"""Time that a worker has to end a run [s]; after its lease it does so by itself."""


class DaskPlace:
    """Connection to a cluster, made anew where its scheduler was away."""

    def __init__(self, settings: Settings) -> None:
        assert settings.scheduler is not None
        self.settings, self._address = settings, settings.scheduler
        self._client: Client | None = None
        self._connecting = threading.Lock()
        self._looked_s, self._is_ready, self._is_told = 0.0, False, False
        self._topic = f"hopcast-{secret()}"
        self._runs: dict[str, DaskRun] = {}
        self._calls = ThreadPoolExecutor(2 * settings.workers + 2, "dask call")
        self._listing = threading.Lock()
        self._asked: Future | None = None
        self._asked_s, self._listed_s = 0.0, 0.0
        self._listed: frozenset[str] = frozenset()
        """Workers that the scheduler had when it was asked at `_listed_s`."""
        self._closing = threading.Event()

    def open(self) -> str | None:
        """See `Place.open`."""
        with self._connecting:
            count = len(self._connected().scheduler_info()["workers"])
        return f"Runs go to the workers of Dask's scheduler at {self._address}; it has {count} now."

    def is_ready(self) -> bool:
        """See `Place.is_ready`."""
        if not self._connecting.acquire(blocking=False):
            return self._is_ready  # another thread looks
        try:
            if time.monotonic() > self._looked_s + _AGAIN_S:
                self._is_ready = self._look()
                self._looked_s = time.monotonic()
            return self._is_ready
        finally:
            self._connecting.release()

    def begin(self, folder: Path, inputs: Path, request: dict[str, Any], command: tuple[str, ...]) -> DaskRun:
        """See `Place.begin`."""
        return DaskRun(self, folder, inputs, request, command)

    def end_left_over(self, identity: dict[str, Any] | None) -> None:
        """See `Place.end_left_over`; a worker that does not hear of it ends the run after its lease."""
        if identity and "dask" in identity:
            if self.is_ready() and self._client is not None:
                self._end_everywhere(identity["dask"])
        else:
            task_process.kill_left_over(identity)

    def close(self) -> None:
        """See `Place.close`."""
        self._closing.set()
        self._calls.shutdown(wait=False, cancel_futures=True)
        if self._client is not None:
            self._client.close()

    def submit(self, run: DaskRun, task: dict[str, Any]) -> Any:
        """Gives a run to the scheduler."""
        if self._client is None:
            raise InputError(f"Dask's scheduler at {self._address} does not answer")
        self._runs[run.key] = run
        # A connection that was lost and made anew has forgotten it.
        self._client.subscribe_topic(self._topic, self._heard)
        return self._client.submit(dask_worker.perform, run.key, self._topic, task, key=run.key, pure=False)

    def forget(self, run: DaskRun) -> None:
        """Listens to a run no more."""
        self._runs.pop(run.key, None)

    def call(self, worker: str, function: Callable[..., Any], *arguments: Any) -> Future:
        """Result, some time, of a function in a worker."""
        client = self._client
        assert client is not None, "who has a run has a client"
        return self._calls.submit(lambda: client.run(function, *arguments, workers=[worker])[worker])

    def end_everywhere(self, key: str) -> Future:
        """Ends a run wherever the scheduler has begun it, or is about to."""
        return self._calls.submit(self._end_everywhere, key)

    def _end_everywhere(self, key: str) -> None:
        assert self._client is not None, "who has a run has a client"
        try:
            self._client.run(dask_worker.end, key, on_error="ignore")
        except Exception as error:  # its lease ends it
            print(f"hopcast serve: Dask's workers were not reached: {error!r}", file=sys.stderr)

    def has_lost(self, worker: str, since_s: float) -> bool:
        """True if the scheduler was asked after this time, and has no such worker.

        It is asked now and then, in a thread of its own: a worker that dies is told of by nobody.
        """
        with self._listing:
            if self._asked is not None and self._asked.done():
                if self._asked.exception() is None:  # else the state of the task tells of the scheduler
                    self._listed, self._listed_s = frozenset(self._asked.result()), self._asked_s
                self._asked = None
            if self._asked is None and time.monotonic() > self._asked_s + _AGAIN_S:
                assert self._client is not None, "who has a run has a client"
                self._asked_s = time.monotonic()
                self._asked = self._calls.submit(self._client.nthreads)
            return self._listed_s > since_s and worker not in self._listed

    def _connected(self) -> Client:
        """The connection, which is made if there is none, or none any more. Raises `InputError`."""
        if self._client is not None and self._client.status != "closed":
            return self._client
        try:
            from distributed import Client
        except ImportError as error:
            raise InputError("--on dask needs Dask: pip install 'hopcast[dask]'") from error
        dask_address.check_reachable(self._address)
        for name in _LOGGERS:  # the server says it in its own words
            logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            client = Client(
                self._address, timeout=_CONNECT_S, set_as_default=False, asynchronous=False, name=_NAME
            )
        except (OSError, ValueError) as error:
            raise InputError(f"--on dask:{self._address}: no scheduler answers: {error}") from error
        if self._client is None:
            threading.Thread(target=self._keep, name="dask lease", daemon=True).start()
        self._client = client
        return client

    def _look(self) -> bool:
        """True if the scheduler answers and has workers; it is connected anew where that has ended."""
        try:
            client = self._connected()
            is_ready = client.status == "running" and bool(client.scheduler_info()["workers"])
            why = "has no workers" if client.status == "running" else "does not answer"
        except (OSError, InputError, TimeoutError) as error:
            is_ready, why = False, f"does not answer ({error})"
        if not is_ready and not self._is_told:
            text = f"Dask's scheduler at {self._address} {why}: no run begins until that changes"
            print(f"hopcast serve: {text}", file=sys.stderr, flush=True)
        self._is_told = not is_ready
        return is_ready

    def _heard(self, event: tuple[float, dict[str, Any]]) -> None:
        """Passes on what a run says, in the thread of the connection."""
        words = dict(event[1])
        run = self._runs.get(words.pop("key"))
        if run is not None:
            run.hear(**words)

    def _keep(self) -> None:
        """Says now and then to all workers which runs are wanted."""
        while not self._closing.wait(_KEEP_EVERY_S):
            client, keys = self._client, list(self._runs)
            if client is not None and client.status == "running":
                try:
                    client.run(dask_worker.keep, self._topic, keys, on_error="ignore")
                except Exception as error:
                    print(f"hopcast serve: Dask's workers were not reached: {error!r}", file=sys.stderr)


class _Lost(Exception):
    """The worker of a run is gone, or the scheduler."""


class DaskRun:
    """A run that was given to the scheduler."""

    def __init__(
        self, place: DaskPlace, folder: Path, inputs: Path, request: dict[str, Any], command: tuple[str, ...]
    ) -> None:
        self.key = f"hopcast-run-{secret()}"
        self._place, self._folder, self._inputs = place, folder, inputs
        self._starts: list[tuple[str, str]] = []
        """Names and workers of its starts; a second one means that the first worker is gone."""
        self._started_s = self._heard_s = 0.0
        """Times of the first and the latest word of its worker."""
        self._parts: dict[str, int] = {}
        self._ended: dict[str, Any] | None = None
        self._is_over = self._is_stopped = False
        self.has_begun = self.has_ended = False
        self.code: int | None = None
        settings = place.settings
        task = {
            "hopcast": dask_worker.build(),
            "request": request,
            "command": command,
            "limits": asdict(settings.limits),
            "programs": settings.programs,
        }
        self._steps = self._life()
        self._future = place.submit(self, task)

    @property
    def identity(self) -> dict[str, Any]:
        """See `Started.identity`."""
        return {"dask": self.key}

    def hear(self, start: str, kind: str, **values: Any) -> None:
        """Notes what a worker says."""
        if kind == dask_worker.WAITS:
            if not self._starts:
                self._started_s = time.monotonic()
            self._starts.append((start, values["worker"]))
        elif self._starts and start == self._starts[0][0]:
            self._heard_s = time.monotonic()
            if kind == dask_worker.BEGUN:
                self.has_begun = True
            elif kind == dask_worker.PACKS:
                self.has_ended = True
            elif kind == dask_worker.PROGRESS:
                self._parts = {name: size_B for name, size_B in values["parts"] if _is_part(name)}
                if values["progress"] is not None:
                    with contextlib.suppress(OSError):  # the run was deleted
                        process.write(self._folder / process.PROGRESS, values["progress"])
            else:
                self.has_ended, self._ended = True, values

    def is_over(self) -> bool:
        """See `Started.is_over`; what there is to do for the run is done here, without waiting."""
        if not self._is_over:
            try:
                self._check()
                next(self._steps)
            except StopIteration:
                self._is_over = True
            except _Lost as reason:
                self._is_over, self.code = True, -signal.SIGKILL
                (self._folder / task_process.MESSAGES).write_text(str(reason), encoding="utf-8")
        return self._is_over

    def exceeded(self) -> str | None:
        """See `Started.exceeded`: its worker looks at the limits."""
        return None

    def ended_by(self) -> str | None:
        """See `Started.ended_by`."""
        return (self._ended or {}).get("why")

    def terminate(self) -> None:
        """See `Started.terminate`; a run that no worker has begun is over."""
        self._is_stopped = True
        if not self.has_begun:
            self._is_over = True
        else:
            start, worker = self._starts[0]
            self._place.call(worker, dask_worker.stop, start)

    def end(self) -> None:
        """See `Started.end`; waits until its worker says that nothing of it is left, or is gone."""
        self._place.forget(self)
        self._future.release()
        if self._is_lost() or not self._starts:  # another worker may have it by now
            calls = [self._place.end_everywhere(self.key)]
        else:
            calls = [self._place.call(worker, dask_worker.end, self.key) for _, worker in self._starts]
        end_s = time.monotonic() + _END_S
        while not all(call.done() for call in calls) and time.monotonic() < end_s:
            time.sleep(0.02)

    def _is_lost(self) -> bool:
        return self.code == -signal.SIGKILL and self._ended is None

    def _check(self) -> None:
        """Raises `_Lost` if its worker is gone; words of another failure become those of the run."""
        status = self._future.status
        if self._starts and (
            len(self._starts) > 1 or self._place.has_lost(self._starts[0][1], self._started_s)
        ):
            raise _Lost(f"its worker {self._starts[0][1]} is gone")
        if status in ("cancelled", "lost"):
            raise _Lost("the connection to Dask's scheduler was lost")
        if status == "finished":
            raise _Lost(f"its worker heard nothing of the server for {dask_worker.LEASE_S:g} s")
        if status == "error":
            error = self._future.exception()
            if type(error).__name__ == "KilledWorker":
                raise _Lost(f"its worker is gone: {error}")
            raise RuntimeError(f"a worker of Dask cannot run it: {type(error).__name__}: {error}")

    def _life(self) -> Generator[None, None, None]:
        """The run, from its first file to its report; gives way wherever it waits."""
        while not self._starts:
            yield
        for name, offset, piece in self._pieces():
            yield from self._asked(dask_worker.receive, name, offset, piece)
        yield from self._asked(dask_worker.begin)
        taken: set[str] = set()
        while self._ended is None:
            if self.has_ended and time.monotonic() > self._heard_s + _SILENCE_S:
                raise _Lost(f"its worker {self._starts[0][1]} does not go on with its report")
            new = next((name for name in self._parts if name not in taken), None)
            if new is None:
                yield
                continue
            taken.add(new)
            yield from self._fetched_part(new)
        if "error" in self._ended:
            process.write(self._folder / process.ENDED, {"error": self._ended["error"]})
            return
        self.code = self._ended["code"]
        yield from self._fetched()

    def _pieces(self) -> Iterator[tuple[str, int, bytes]]:
        """Pieces of the files that it reads."""
        for path in sorted(self._inputs.iterdir()):
            with open(path, "rb") as file:
                offset = 0
                while (piece := file.read(_PIECE_B)) or not offset:
                    yield path.name, offset, piece
                    offset += len(piece)
                    if not piece:
                        break

    def _fetched_part(self, name: str) -> Generator[None, None, None]:
        """Brings a part of a table of the run that goes on, for its live pictures."""
        target, content, size_B = self._folder / process.REPORT / name, b"", self._parts[name]
        while len(content) < size_B:
            piece = yield from self._asked(dask_worker.read, name, len(content), _PIECE_B)
            if not piece:  # the finished report has taken its place
                return
            content += piece
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(f".{target.name}")
        draft.write_bytes(content)
        draft.rename(target)

    def _fetched(self) -> Generator[None, None, None]:
        """Brings what the run has left."""
        assert self._ended is not None
        packed, size_B = self._folder / "packed.tar", self._ended["size_B"]
        if size_B > self._place.settings.limits.disk_B + _SLACK_B:
            raise RuntimeError(f"its worker has {size_B:,} bytes of it")
        with open(packed, "wb") as file:
            while file.tell() < size_B:
                piece = yield from self._asked(dask_worker.read, None, file.tell(), _PIECE_B)
                if not piece:
                    raise _Lost(f"its worker {self._starts[0][1]} has lost what it had left")
                file.write(piece)
        leavings.remove(self._folder / process.REPORT)
        with tarfile.open(packed, "r:") as opened:
            archive.extract(opened, str(self._folder))
        packed.unlink()

    def _asked(self, function: Callable[..., Any], *arguments: Any) -> Generator[None, None, Any]:
        """Answer of a function in the worker; gives way until it is there."""
        start, worker = self._starts[0]
        call = self._place.call(worker, function, start, *arguments)
        end_s = time.monotonic() + _SILENCE_S
        while not call.done():
            if time.monotonic() > end_s:
                raise _Lost(f"its worker {worker} did not answer for {_SILENCE_S:g} s")
            yield
        try:
            return call.result()
        except (OSError, KeyError) as error:  # a worker in its place knows nothing of this start
            raise _Lost(f"its worker {worker} does not answer: {error}") from error


def _is_part(name: str) -> bool:
    """True for a name of a part of a table, in the folder of a report."""
    path = PurePosixPath(name)
    return path.parts[:1] == (parts.FOLDER,) and ".." not in path.parts
