"""Short processes that somebody waits for: estimates, pictures of networks, cells and tables of studies."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from subprocess import TimeoutExpired
from typing import Any

from hopcast.service import admission, cgroups, leavings, process, task_process
from hopcast.service.settings import Settings
from hopcast.service.store import secret
from hopcast.service.task_process import TaskProcess

_ESTIMATE_S = 20
_DRAWING_S = 10
_ERROR = 20_000
"""Characters of an error that are kept."""
_AT_ONCE = 2
"""Short processes that go on at the same time."""
_PATIENCE_S = 1.0
"""Time for which a request waits for its turn [s], and holds one of the few threads of all requests."""


class TooMany(Exception):
    """A user, or all of them together, have reached a limit; the text says which."""


class Probes:
    """Starts short processes, a few at a time."""

    def __init__(self, settings: Settings, groups: cgroups.Groups | None) -> None:
        self._settings, self._groups = settings, groups
        self._slots = threading.BoundedSemaphore(_AT_ONCE)
        self._guard = threading.Lock()
        self._users: set[int] = set()
        """Users with an estimate that goes on."""

    def task(
        self,
        mode: str,
        fields: dict[str, Any],
        files: dict[str, Path],
        limit_s: int,
        kept: tuple[tuple[str, ...], Path] | None = None,
    ) -> dict[str, Any]:
        """Answer of a process of this mode with these files. Raises `TooMany`, and `Refused` with its error.

        kept: names of files that it leaves, and the folder into which they are put.
        """
        with self._slot() as folder:
            inputs, attempt = folder / "inputs", folder / "attempt"
            inputs.mkdir()
            for name, path in files.items():
                os.link(path, inputs / name)
            ended = self._ended(attempt, self._begin(attempt, inputs, fields, (), limit_s, mode), limit_s)
            if kept is not None and "error" not in ended:
                for name in kept[0]:
                    if not leavings.is_plain(attempt / name):
                        raise admission.Refused(mode, f"{name}: was not written")
                    os.replace(attempt / name, kept[1] / name)
        if "error" in ended:
            raise admission.Refused(mode, _error_of(ended))
        return ended

    def draw(self, text: str, files: dict[str, Path]) -> str:
        """Picture, as SVG, of the network of a platform file. Raises `TooMany`, and `Refused`."""
        nothing = {"kind": "pattern", "name": "barrier"}
        admitted = admission.admit(
            {"platform": {"toml": text}, "workload": nothing, "ranks": 1}, files, self._settings.limits
        )
        return self._probed(admitted, files, "draw", _DRAWING_S)["picture"]

    def estimate(
        self, admitted: admission.Admitted, files: dict[str, Path], user_id: int | None
    ) -> dict[str, Any]:
        """Estimate of a run, see `answers.Estimate`. Raises `Refused` where it cannot run, and `TooMany`.

        user_id: the user who asks, who gets one estimate at a time; anybody if None.
        """
        with self._turn_of(user_id):
            probed = self._probed(admitted, files, "estimate", _ESTIMATE_S)
        estimate = leavings.estimate(probed.get("estimate"))
        if estimate is None:
            raise admission.Refused("workload", "workload: this program ended without an estimate")
        return estimate

    @contextlib.contextmanager
    def _turn_of(self, user_id: int | None) -> Iterator[None]:
        if user_id is None:
            yield
            return
        with self._guard:
            if user_id in self._users:
                raise TooMany("an estimate of yours goes on; try again once it has ended")
            self._users.add(user_id)
        try:
            yield
        finally:
            with self._guard:
                self._users.discard(user_id)

    @contextlib.contextmanager
    def _slot(self) -> Iterator[Path]:
        """Folder of a short process, which may begin now, with an empty `attempt` in it. Raises `TooMany`."""
        if not self._slots.acquire(timeout=_PATIENCE_S):
            raise TooMany("the server makes other estimates at this moment; try again in some seconds")
        folder = self._settings.data / "estimates" / secret()
        try:
            (folder / "attempt").mkdir(parents=True)
            yield folder
        finally:
            leavings.remove(folder)
            self._slots.release()

    def _begin(
        self, attempt: Path, inputs: Path, fields: dict, command: tuple[str, ...], limit_s: int, mode: str
    ) -> TaskProcess:
        cpu_s = min(limit_s, self._settings.limits.cpu_s)
        return TaskProcess(self._settings, self._groups, attempt, inputs, fields, command, cpu_s, mode)

    def _probed(
        self, admitted: admission.Admitted, files: dict[str, Path], mode: str, limit_s: int
    ) -> dict[str, Any]:
        """Answer of a short process of this mode. Raises `Refused` with its error, and `TooMany`."""
        with self._slot() as folder:
            lay_out(folder / "inputs", admitted, files)
            ended = self._answered(admitted, folder / "attempt", folder / "inputs", mode, limit_s)
        if "error" in ended:
            error = _error_of(ended)
            raise admission.Refused(admission.field_of(error, admitted.request), error)
        return ended

    def _ended(self, attempt: Path, started: TaskProcess, limit_s: int) -> dict[str, Any]:
        """Answer of a short process that runs no program, which is ended after its time."""
        why = _watch(started, limit_s)
        ended = leavings.read(attempt / process.ENDED)
        if ended is not None:
            return ended
        code = started.process.returncode
        if why is None and task_process.limit_met(attempt, code) == "memory":
            why = "memory"
        if why is not None:
            return {"error": task_process.reason(why, code or 0, self._settings)}
        return {"error": f"takes more than {limit_s} s here"}

    def _answered(
        self, admitted: admission.Admitted, attempt: Path, inputs: Path, mode: str, limit_s: int
    ) -> dict[str, Any]:
        fields, command = admitted.request.fields(), admitted.request.command
        started = self._begin(attempt, inputs, fields, command, limit_s, mode)
        why = _watch(started, limit_s)
        code = started.process.returncode
        if why is None:
            most_B = leavings.OUTCOME_B if mode == "estimate" else leavings.ANSWER_B
            ended = leavings.read(attempt / process.ENDED, most_B)
            if ended is not None:
                return ended
            met = task_process.limit_met(attempt, code, started.is_program)
            why = met if met in ("memory", "program", "crash") else None
        if why is not None:
            return {"error": task_process.reason(why, code or 0, self._settings)}
        if mode == "draw":
            return {"error": f"{admission.PLATFORM_FILE}: takes more than {limit_s} s to be drawn"}
        unknown = {"hosts": None, "ranks": None, "memory_B": None, "seconds": None, "is_whole": False}
        return {"estimate": unknown | {"warnings": [f"its set-up alone takes more than {limit_s} s"]}}


def _watch(started: TaskProcess, limit_s: int) -> str | None:
    """Waits for the end of a process, at most for its time; the limit that it has exceeded."""
    end_s, why = time.monotonic() + limit_s, None
    try:
        while why is None and (left_s := end_s - time.monotonic()) > 0:
            try:
                started.process.wait(min(left_s, task_process.LOOK_EVERY_S))
                break
            except TimeoutExpired:
                why = started.exceeded()
        return why or started.ended_by()
    finally:
        started.end()


def _error_of(ended: dict[str, Any]) -> str:
    return leavings.text(str(ended["error"]), _ERROR)


def lay_out(inputs: Path, admitted: admission.Admitted, files: dict[str, Path]) -> None:
    """Puts the files of a request into a folder: by links, which take no room."""
    inputs.mkdir(parents=True)
    for name in admitted.inputs:
        os.link(files[name], inputs / name)
    for name, text in admitted.texts.items():
        (inputs / name).write_text(text, encoding="utf-8")
