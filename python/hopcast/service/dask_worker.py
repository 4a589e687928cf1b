"""A run in a worker of Dask: a process in a folder of the worker, which the server feeds and watches.

`perform` is the task that the scheduler knows; it holds a thread of the worker until the server has what the
run has left. Everything else is called by the server in the worker's own event loop, and is short. The server
says now and then which runs it still wants; a run that nobody has asked for is ended, and leaves nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import secrets
import shutil
import tarfile
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from hopcast import __version__
from hopcast.errors import InputError
from hopcast.report import parts
from hopcast.service import admission, confinement, leavings, process, sandbox, task_process
from hopcast.service.settings import Limits, Settings
from hopcast.service.task_process import TaskProcess

LEASE_S = 90.0
"""Time without a word of the server after which a run is ended [s]."""
ENDED, PACKS, PROGRESS, BEGUN, WAITS = "ended", "packs", "progress", "begun", "waits"
"""Kinds of what a run tells the server."""

_LOOK_EVERY_S, _TELL_EVERY_S, _PACKS_EVERY_S = 0.05, 0.5, 5.0
_END_S = 20.0
_PACKED = "packed.tar"

Tell = Callable[..., None]
"""Function that tells the server something: its kind, and values."""

_attempts: dict[str, Attempt] = {}
"""Runs of this worker, by the name of their start."""
_unwanted: deque[str] = deque(maxlen=1000)
"""Names of tasks that the server has ended, the latest last; they may come to this worker later."""


def perform(key: str, topic: str, task: Mapping[str, Any]) -> None:
    """Runs a task of the server, which it tells by events of this topic how the run goes on.

    key: name of the task. A task has several starts if workers die.
    """
    from distributed import get_worker

    worker = get_worker()
    name = secrets.token_urlsafe(16)
    folder = Path(worker.local_directory) / f"hopcast-{key}"

    def tell(kind: str, **values: Any) -> None:
        worker.log_event(topic, {"key": key, "start": name, "kind": kind, **values})

    attempt = Attempt(key, topic, folder, task, tell)
    _attempts[name] = attempt
    if key in _unwanted:
        attempt.is_unwanted.set()
    try:
        tell(WAITS, worker=worker.address)
        attempt.run()
    finally:
        del _attempts[name]
        leavings.remove(folder)
        attempt.is_gone.set()


def receive(start: str, name: str, offset: int, piece: bytes) -> None:
    """Takes a piece of a file that the run reads."""
    with open(_attempts[start].inputs / Path(name).name, "r+b" if offset else "wb") as file:
        file.seek(offset)
        file.write(piece)


def begin(start: str) -> None:
    """Lets a run begin, whose files have come."""
    _attempts[start].may_begin.set()


def read(start: str, name: str | None, offset: int, most: int) -> bytes:
    """A piece of what the run has left, or of a part of its tables; empty where there is nothing more."""
    attempt = _attempts[start]
    if name is not None and name not in attempt.parts:
        return b""
    path = attempt.folder / _PACKED if name is None else attempt.place / process.REPORT / name
    with contextlib.suppress(FileNotFoundError), open(path, "rb") as file:
        file.seek(offset)
        return file.read(most)
    return b""


def stop(start: str) -> None:
    """Asks a run to end with partial results."""
    _attempts[start].is_stopped.set()


def keep(topic: str, keys: Sequence[str]) -> None:
    """Says that the server of a topic still wants these runs, and no others.

    A run that began a moment ago may be missing: it was submitted while this was on its way.
    """
    for attempt in list(_attempts.values()):
        if attempt.topic == topic and attempt.key in keys:
            attempt.wanted_s = time.monotonic()
        elif attempt.topic == topic and time.monotonic() > attempt.wanted_s + LEASE_S / 2:
            attempt.is_unwanted.set()


async def end(key: str) -> bool:
    """Kills a run with all that it has started and removes its folder; true once that is done."""
    _unwanted.append(key)
    attempts = [attempt for attempt in list(_attempts.values()) if attempt.key == key]
    for attempt in attempts:
        attempt.is_unwanted.set()
        attempt.may_begin.set()
    end_s = time.monotonic() + _END_S
    while not all(attempt.is_gone.is_set() for attempt in attempts) and time.monotonic() < end_s:
        await asyncio.sleep(_LOOK_EVERY_S)
    return all(attempt.is_gone.is_set() for attempt in attempts)


class Attempt:
    """A run in this worker."""

    def __init__(self, key: str, topic: str, folder: Path, task: Mapping[str, Any], tell: Tell) -> None:
        self.key, self.topic, self.folder = key, topic, folder
        self.inputs, self.place = folder / "inputs", folder / "attempt"
        self.parts: set[str] = set()
        """Names of the parts of its tables that it has written, in the folder of its report."""
        self.wanted_s = time.monotonic()
        self.may_begin, self.is_stopped, self.is_unwanted, self.is_gone = (
            threading.Event() for _ in range(4)
        )
        self._task, self._tell = task, tell
        self._limits = Limits(**task["limits"])
        leavings.remove(folder)
        self.inputs.mkdir(parents=True)

    def run(self) -> None:
        """Runs it from its first file to the last word of the server."""
        while not self.may_begin.wait(_LOOK_EVERY_S):
            if self._is_left():
                return
        if self._is_left():
            return
        try:
            ended = self._run()
        except InputError as error:
            ended = {"error": str(error)}
        if ended is not None:
            self._tell(ENDED, **ended)
        while not self._is_left():
            time.sleep(_LOOK_EVERY_S)

    def _is_left(self) -> bool:
        """True if nobody wants it any more."""
        return self.is_unwanted.is_set() or time.monotonic() > self.wanted_s + LEASE_S

    def _run(self) -> dict[str, Any] | None:
        """End of its process, and size of what it has left; None if nobody wants it."""
        _check(self._task)
        settings = Settings(self.folder, limits=self._limits, programs=self._task["programs"])
        place = self.place
        place.mkdir()
        request, command = self._task["request"], tuple(self._task["command"])
        started = TaskProcess(settings, None, place, self.inputs, request, command, self._limits.cpu_s, "run")
        try:
            self._tell(BEGUN, process=started.process.pid)
            why = self._watch(started, place)
        finally:
            started.end()
        if self._is_left():
            return None
        self._tell(PACKS)  # taking the files out of the folder may be long, too
        self._pack(place)
        size_B = (self.folder / _PACKED).stat().st_size
        return {"code": started.code, "why": why, "size_B": size_B}

    def _watch(self, started: TaskProcess, place: Path) -> str | None:
        """Waits for the end of its process; the limit that it has exceeded."""
        is_told, look_at_s, before = False, 0.0, None
        while not started.is_over() and not self._is_left():
            if self.is_stopped.is_set() and not is_told:
                is_told = True
                started.terminate()
            if time.monotonic() > look_at_s:
                look_at_s = time.monotonic() + _TELL_EVERY_S
                if (why := started.exceeded()) is not None:
                    return why
                now = self._progress(place, started.is_program)
                if now != before:
                    before = now
                    self._tell(PROGRESS, **now)
            time.sleep(_LOOK_EVERY_S)
        return None

    def _progress(self, place: Path, is_program: bool) -> dict[str, Any]:
        """Progress of the run, and the parts of its tables that it has written; none of a program."""
        found: list[tuple[str, int]] = []
        if not is_program:
            report = place / process.REPORT
            for path in parts.written(report):
                with contextlib.suppress(FileNotFoundError):  # the finished report has taken its place
                    found.append((str(path.relative_to(report)), path.stat().st_size))
            self.parts = {name for name, _ in found}
        return {"progress": leavings.numbers(leavings.read(place / process.PROGRESS)), "parts": found}

    def _pack(self, place: Path) -> None:
        """Packs report, end and last words of a run; only plain files, since a program may leave others."""
        clean = self.folder / "clean"
        leavings.take(place / process.REPORT, clean, self._limits.disk_B)
        leavings.remove(place / process.REPORT)
        with _Telling(self.folder / _PACKED, lambda: self._tell(PACKS)) as out:
            self._add_all(out, clean, place)
        shutil.rmtree(clean, ignore_errors=True)

    def _add_all(self, out: _Telling, clean: Path, place: Path) -> None:
        with tarfile.open(fileobj=out, mode="w|") as packed:
            if clean.is_dir():
                packed.add(clean, process.REPORT)
            ended = leavings.read(place / process.ENDED, leavings.OUTCOME_B)
            if ended is not None:
                _add(packed, process.ENDED, json.dumps(ended))
            _add(packed, task_process.MESSAGES, leavings.last_words(place / task_process.MESSAGES))


class _Telling(io.FileIO):
    """New file that tells now and then, as it is written, that this goes on."""

    def __init__(self, path: Path, tell: Callable[[], None]) -> None:
        super().__init__(path, "w")
        self._tell_writing, self._next_s = tell, 0.0

    def write(self, piece: Any) -> int:
        """Appends a piece."""
        if time.monotonic() > self._next_s:
            self._next_s = time.monotonic() + _PACKS_EVERY_S
            self._tell_writing()
        return super().write(piece)


def _add(packed: tarfile.TarFile, name: str, text: str) -> None:
    content = text.encode()
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    packed.addfile(entry, io.BytesIO(content))


def _check(task: Mapping[str, Any]) -> None:
    """Refuses what this worker must not or cannot run."""
    if task["hopcast"] != build():
        raise InputError(
            f"this worker has another build of hopcast, {build()[0]}, than the server, {task['hopcast'][0]}: "
            "install the same on both"
        )
    if admission.reads_traces(task["request"]) and not confinement.landlock_version():
        raise InputError("traces are not taken by this worker, because its kernel has no Landlock")
    if admission.is_program(task["request"]):
        problem = sandbox.problem()
        if problem is not None:
            raise InputError(f"programs cannot run in a sandbox of this worker: {problem}")


@cache
def build() -> list[str]:
    """Version of hopcast, and hash of its compiled part: another build may predict otherwise."""
    from hopcast.study.cells import InputHashes

    return [__version__, str(InputHashes().core)]
