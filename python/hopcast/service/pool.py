"""Workers: threads of the server, each with one run at its place, which they limit, stop and end."""

from __future__ import annotations

import contextlib
import json
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy.exc import OperationalError

from hopcast.errors import InputError
from hopcast.request import RunRequest
from hopcast.service import admission, cgroups, fork_server, leavings, process, room, task_process
from hopcast.service.places import Started, place_of
from hopcast.service.probes import Probes
from hopcast.service.schema import Run, State
from hopcast.service.settings import Settings
from hopcast.service.store import Store

_LOOK_EVERY_S = 0.05
_IDLE_S = 1.0
_AWAY_S = 0.5
"""Time after which a database that is away is asked again [s]."""
_ERROR = 20_000
"""Characters of an error that are kept."""

_Answer = TypeVar("_Answer")


class Pool:
    """Starts what waits in the store, as many runs at a time as there are workers."""

    def __init__(self, settings: Settings, store: Store, groups: cgroups.Groups | None = None) -> None:
        self._settings, self._store = settings, store
        self._wake = threading.Event()
        self._closing = threading.Event()
        self._probes = Probes(settings, groups)
        self._place = place_of(settings, groups)
        self._room = room.Watch(settings)
        self._claiming = threading.Lock()
        self._claimed: set[str] = set()
        """Runs that a worker has at this moment."""
        self._threads = [
            threading.Thread(target=self._work, name=f"worker {number}", daemon=True)
            for number in range(settings.workers)
        ]

    def open(self) -> str | None:
        """Prepares the place of the runs; gives a sentence about it. Raises `InputError` where it cannot."""
        return self._place.open()

    def start(self) -> None:
        """Puts back into the queue what a server that was killed has left, and begins to work."""
        fork_server.shared.begin(task_process.kept_environment())
        self._recover()
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Ends all runs, which will be queued again, and waits for the workers."""
        self._closing.set()
        self._wake.set()
        for thread in self._threads:
            thread.join()
        self._place.close()

    def wake(self) -> None:
        """Says that there may be something in the queue."""
        self._wake.set()

    def _folder(self, run: Run) -> Path:
        return self._settings.run_folder(run.id) / f"attempt-{run.attempts}"

    def attempt(self, run: Run) -> Path:
        """Folder in which a run works that goes on."""
        return self._folder(run)

    def progress(self, run: Run) -> dict[str, Any] | None:
        """Progress of a run that goes on."""
        return leavings.numbers(leavings.read(self._folder(run) / process.PROGRESS))

    def _recover(self) -> None:
        """Puts runs back into the queue that no worker has, though the store says that they go on."""
        with self._claiming:
            for run in self._store.in_state(State.RUNNING):
                if run.id not in self._claimed:
                    self._place.end_left_over(run.process)
                    try:
                        self._settle(run, self._folder(run))
                    except OperationalError:
                        raise
                    except Exception as error:
                        self._fail(run, error)

    def _claim(self) -> Run | None:
        try:
            with self._claiming:
                run = self._store.claim()
                if run is not None:
                    self._claimed.add(run.id)
                return run
        except OperationalError:
            # The database may have noted a claim of which nobody was told.
            self._patiently(self._recover)
            return None

    def _patiently(self, call: Callable[..., _Answer], *arguments: Any, **values: Any) -> _Answer:
        """Answer of the store, which is asked again while its database is away."""
        while True:
            try:
                return call(*arguments, **values)
            except OperationalError:
                if self._closing.wait(_AWAY_S):
                    raise

    def _work(self) -> None:
        while not self._closing.is_set():
            try:
                run = self._claim() if self._place.is_ready() and self._room.is_there() else None
                if run is None:
                    self._wake.wait(_IDLE_S)
                    self._wake.clear()
                    continue
                self._wake.set()  # another worker may find the next one
                self._run_claimed(run)
            except Exception as error:
                if not self._closing.wait(_AWAY_S):
                    print(f"A worker goes on after an error: {error!r}", file=sys.stderr, flush=True)

    def _run_claimed(self, run: Run) -> None:
        try:
            self._run(run)
        except OperationalError:
            raise
        except Exception as error:
            self._fail(run, error)
        finally:
            self._claimed.discard(run.id)

    def _fail(self, run: Run, error: Exception) -> None:
        """Notes that the server has failed with a run, and removes what the run has left."""
        leavings.remove(self._folder(run))
        words = leavings.text(f"the server failed: {error}", _ERROR)
        ended = {"state": State.FAILED.value, "ended_at": time.time(), "process": None}
        self._patiently(self._store.change, run.id, **ended, error=words)

    def _run(self, run: Run) -> None:
        folder, inputs = self._folder(run), inputs_of(self._settings, run.id)
        leavings.remove(folder)
        folder.mkdir(parents=True)
        command = admission.command_line(RunRequest.from_json(json.dumps(run.request)))
        started = self._place.begin(folder, inputs, run.request, command)
        try:
            self._patiently(self._store.change, run.id, process=started.identity)
        except BaseException:
            started.end()
            raise
        why = self._watch(run, started)
        if why == "closing":
            # It did not fail, and its attempt does not count.
            values = {"attempts": run.attempts - 1, "started_at": None, "process": None}
            self._store.change(run.id, state=State.QUEUED.value, **values)
            leavings.remove(folder)
            return
        if why != "gone":
            self._settle(run, folder, why, started.code)
        if self._patiently(self._store.run, run.id) is None:  # deleted meanwhile
            leavings.remove(self._settings.run_folder(run.id))

    def _watch(self, run: Run, started: Started) -> str | None:
        """Waits for the end of a run, and gives the reason if it was ended here."""
        limits = self._settings.limits
        begin_s, why, kill_at_s, look_at_s = time.monotonic(), None, float("inf"), 0.0
        try:
            while not started.is_over():
                now_s = time.monotonic()
                if not started.has_begun:
                    begin_s = now_s
                if self._closing.is_set():
                    return "closing"
                if now_s > kill_at_s and not started.has_ended:
                    return why
                if now_s > look_at_s:
                    look_at_s = now_s + task_process.LOOK_EVERY_S
                    state = self._patiently(self._store.run, run.id)
                    if state is None:
                        return "gone"
                    if (limit := started.exceeded()) is not None:
                        return limit
                    if room.is_short(self._settings):
                        return "room"
                    # Time that its report takes to come from a worker is not its own.
                    is_late = now_s > begin_s + limits.wall_s
                    if why is None and not started.has_ended and (state.stop_asked or is_late):
                        why = "stop" if state.stop_asked else "wall"
                        kill_at_s = now_s + limits.grace_s
                        started.terminate()
                time.sleep(_LOOK_EVERY_S)
            return why or started.ended_by()
        finally:
            started.end()

    def _settle(self, run: Run, folder: Path, why: str | None = None, code: int | None = None) -> None:
        """Puts the report into its place and notes how a run has ended, or queues it again."""
        ended = leavings.read(folder / process.ENDED, leavings.OUTCOME_B) or {}
        place = self._settings.run_folder(run.id) / process.REPORT
        is_program = admission.is_program(run.request)
        outcome = leavings.outcome(ended.get("outcome")) or _outcome_of(place)
        values: dict[str, Any] = {"ended_at": time.time(), "process": None}
        error = ended["error"] if isinstance(ended.get("error"), str) else None
        lacked_room = outcome is None and (why == "room" or room.was_short(error))
        may_begin_again = run.attempts < self._settings.limits.attempts and not run.stop_asked
        if outcome is not None:
            leavings.take(folder / process.REPORT, place, self._settings.limits.disk_B)
            state = State.STOPPED if outcome["partial"] else State.FINISHED
            words = f"stopped: {task_process.reason('wall', 0, self._settings)}" if why == "wall" else None
            values |= {"outcome": outcome, "makespan_s": outcome["makespan_s"], "error": words}
        elif lacked_room and may_begin_again:
            state = State.QUEUED
            values |= {"ended_at": None, "started_at": None}
        elif error is not None:
            state = State.FAILED
            values["error"] = leavings.text(error, _ERROR)
        elif why is not None or (met := task_process.limit_met(folder, code, is_program)):
            state = State.STOPPED if why == "stop" else State.FAILED
            values["error"] = task_process.reason(why or str(met), code or 0, self._settings)
        elif may_begin_again:
            state = State.QUEUED
            values |= {"ended_at": None, "started_at": None}
        else:
            state = State.FAILED
            words = leavings.last_words(folder / task_process.MESSAGES)
            values["error"] = f"its process was killed {run.attempts} times ({words})"
        if lacked_room:
            leavings.remove(folder)  # first, for the database needs room, too
        kept_B = leavings.size_B(place) + leavings.size_B(inputs_of(self._settings, run.id))
        values |= {"size_B": min(kept_B, leavings.UNCOUNTABLE_B), "state": state.value}
        self._patiently(self._store.change, run.id, **values)
        leavings.remove(folder)
        if state is not State.QUEUED:  # else a later attempt may have begun
            for attempt in folder.parent.glob("attempt-*"):
                leavings.remove(attempt)

    def task(
        self,
        mode: str,
        fields: dict[str, Any],
        files: dict[str, Path],
        limit_s: int,
        kept: tuple[tuple[str, ...], Path] | None = None,
    ) -> dict[str, Any]:
        """Answer of a short process, see `Probes.task`."""
        return self._probes.task(mode, fields, files, limit_s, kept)

    def draw(self, text: str, files: dict[str, Path]) -> str:
        """Picture of the network of a platform file, see `Probes.draw`."""
        return self._probes.draw(text, files)

    def estimate(
        self, admitted: admission.Admitted, files: dict[str, Path], user_id: int | None = None
    ) -> dict[str, Any]:
        """Estimate of a run, see `Probes.estimate`."""
        return self._probes.estimate(admitted, files, user_id)


def inputs_of(settings: Settings, run_id: str) -> Path:
    """Folder of the files that a run reads."""
    return settings.run_folder(run_id) / "inputs"


def _outcome_of(report: Path) -> dict[str, Any] | None:
    """Head of a report that was put into its place before its server was killed."""
    from hopcast.report import store

    with contextlib.suppress(InputError, KeyError, TypeError, AttributeError):
        return leavings.outcome(process.outcome(dict(store.read(report / "report.json").summary)))
    return None
