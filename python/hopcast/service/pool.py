"""Workers: threads of the server, each with the process of one run, which they limit, stop and end."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy.exc import OperationalError

from hopcast.errors import InputError
from hopcast.request import RunRequest
from hopcast.service import admission, cgroups, leavings, process, sandbox
from hopcast.service.schema import Run, State
from hopcast.service.settings import Settings
from hopcast.service.store import Store, secret

_LOOK_EVERY_S = 0.05
_IDLE_S = 1.0
MESSAGES = "messages.txt"
"""Name in the folder of an attempt of what its process has written."""

_AWAY_S = 0.5
"""Time after which a database that is away is asked again [s]."""
_ESTIMATE_S = 20
_DRAWING_S = 10
_BY_SIGNAL = 128
_ERROR = 20_000
"""Characters of an error that are kept."""
_ESTIMATES = 2
"""Estimates that are made at the same time."""

_Answer = TypeVar("_Answer")


class Pool:
    """Starts what waits in the store, as many runs at a time as there are workers."""

    def __init__(self, settings: Settings, store: Store, groups: cgroups.Groups | None = None) -> None:
        self._settings, self._store, self._groups = settings, store, groups
        self._wake = threading.Event()
        self._closing = threading.Event()
        self._estimates = threading.BoundedSemaphore(_ESTIMATES)
        self._claiming = threading.Lock()
        self._claimed: set[str] = set()
        """Runs that a worker has at this moment."""
        self._threads = [
            threading.Thread(target=self._work, name=f"worker {number}", daemon=True)
            for number in range(settings.workers)
        ]

    def start(self) -> None:
        """Puts back into the queue what a server that was killed has left, and begins to work."""
        self._recover()
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Ends all runs, which will be queued again, and waits for the workers."""
        self._closing.set()
        self._wake.set()
        for thread in self._threads:
            thread.join()

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
                    _kill_left_over(run.process)
                    self._settle(run, self._folder(run))

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
                run = self._claim()
                if run is None:
                    self._wake.wait(_IDLE_S)
                    self._wake.clear()
                    continue
                self._wake.set()  # another worker may find the next one
                self._run_claimed(run)
            except OperationalError:
                assert self._closing.is_set(), "a worker waits for its database until it is told to stop"

    def _run_claimed(self, run: Run) -> None:
        try:
            self._run(run)
        except OperationalError:
            raise
        except Exception as error:
            ended = {"state": State.FAILED.value, "ended_at": time.time()}
            self._patiently(self._store.change, run.id, **ended, error=f"the server failed: {error}")
        finally:
            self._claimed.discard(run.id)

    def _run(self, run: Run) -> None:
        limits, folder = self._settings.limits, self._folder(run)
        leavings.remove(folder)
        folder.mkdir(parents=True)
        request = RunRequest.from_json(json.dumps(run.request))
        command = admission.command_line(request)
        started = self._begin(
            folder, inputs_of(self._settings, run.id), run.request, command, limits.cpu_s, "run"
        )
        identity = {"process": started.pid, "start": _start_of(started.pid)}
        try:
            self._patiently(self._store.change, run.id, process=identity)
        except OperationalError:
            self._end(started, folder)
            raise
        why = self._watch(run, started, folder)
        if why == "closing":
            # It did not fail, and its attempt does not count.
            values = {"attempts": run.attempts - 1, "started_at": None, "process": None}
            self._store.change(run.id, state=State.QUEUED.value, **values)
            leavings.remove(folder)
            return
        if why != "gone":
            self._settle(run, folder, why, started.returncode)
        if self._patiently(self._store.run, run.id) is None:  # deleted meanwhile
            leavings.remove(self._settings.run_folder(run.id))

    def _begin(
        self, folder: Path, inputs: Path, request: dict, command: tuple[str, ...], cpu_s: int, mode: str
    ) -> subprocess.Popen:
        """Starts the process of a task in a session of its own."""
        limits = self._settings.limits
        temporary = folder / "tmp"
        temporary.mkdir()
        task = {
            "mode": mode,
            "folder": str(folder),
            "inputs": str(inputs),
            "parent": os.getpid(),
            "cpu_s": cpu_s,
            "memory_B": limits.memory_B,
            "disk_B": limits.disk_B,
            "processes": limits.processes if admission.is_program(request) else None,
            "request": request,
            "command": command,
        }
        file = folder / "task.json"
        file.write_text(json.dumps(task), encoding="utf-8")
        kept = ("PATH", "LANG", "LC_ALL", "PYTHONPATH", "VIRTUAL_ENV", "LD_LIBRARY_PATH")
        environment = {name: os.environ[name] for name in kept if name in os.environ}
        environment |= {"HOME": str(temporary), "TMPDIR": str(temporary)}
        words = [sys.executable, "-m", "hopcast.service.process", str(file)]
        with contextlib.ExitStack() as stack:
            messages = stack.enter_context(open(folder / MESSAGES, "wb"))
            inherited: tuple[int, ...] = ()
            if admission.is_program(request):
                if not self._settings.programs:
                    raise InputError("programs are refused here")
                inherited = (stack.enter_context(sandbox.filter_file()).fileno(),)
                words = sandbox.command(words, folder, inputs, environment, inherited[0])
            if self._groups is not None:
                most = cgroups.Limits(limits.memory_B, limits.processes, limits.threads)
                self._groups.begin(_group_of(folder), most)
                words = self._groups.entering(_group_of(folder), words)
            return subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=messages,
                stderr=messages,
                cwd=folder,
                env=environment,
                start_new_session=True,
                pass_fds=inherited,
            )

    def _watch(self, run: Run, started: subprocess.Popen, folder: Path) -> str | None:
        """Waits for the end of a run, and gives the reason if it was ended here."""
        limits = self._settings.limits
        begin_s, why, kill_at_s, look_at_s = time.monotonic(), None, float("inf"), 0.0
        try:
            while started.poll() is None:
                now_s = time.monotonic()
                if self._closing.is_set():
                    return "closing"
                if now_s > kill_at_s:
                    return why
                if now_s > look_at_s:
                    look_at_s = now_s + 10 * _LOOK_EVERY_S
                    state = self._patiently(self._store.run, run.id)
                    if state is None:
                        return "gone"
                    if (limit := self._exceeded(run, started.pid, folder)) is not None:
                        return limit
                    if why is None and (state.stop_asked or now_s > begin_s + limits.wall_s):
                        why = "stop" if state.stop_asked else "wall"
                        kill_at_s = now_s + limits.grace_s
                        if admission.is_program(run.request):
                            sandbox.signal_inner(started.pid, signal.SIGTERM)
                        else:
                            started.terminate()
                time.sleep(_LOOK_EVERY_S)
            return why or ("memory" if self._lacked_memory(folder) else None)
        finally:
            self._end(started, folder)

    def _exceeded(self, run: Run, pid: int, folder: Path) -> str | None:
        """The limit that a run exceeds, of those that the kernel does not hold for all its processes."""
        limits = self._settings.limits
        if leavings.size_B(folder) > limits.disk_B:
            return "disk"
        if not admission.is_program(run.request):
            return None
        if self._groups is not None:  # the kernel holds the limit of their memory
            return "cpu" if self._groups.cpu_s(_group_of(folder)) > limits.cpu_s else None
        used = sandbox.usage(pid)
        if used.memory_B > limits.memory_B:
            return "memory"
        return "cpu" if used.cpu_s > limits.cpu_s else None

    def _lacked_memory(self, folder: Path) -> bool:
        return self._groups is not None and self._groups.lacked_memory(_group_of(folder))

    def _end(self, started: subprocess.Popen, folder: Path) -> None:
        """Kills a process with all that it has started, and waits for its end."""
        if started.poll() is None:
            sandbox.kill(started.pid)
        _kill_session(started.pid)
        started.wait()
        if self._groups is not None:
            self._groups.end(_group_of(folder))

    def _settle(self, run: Run, folder: Path, why: str | None = None, code: int | None = None) -> None:
        """Puts the report into its place and notes how a run has ended, or queues it again."""
        ended = leavings.read(folder / process.ENDED) or {}
        place = self._settings.run_folder(run.id) / process.REPORT
        outcome = leavings.outcome(ended.get("outcome")) or _outcome_of(place)
        values: dict[str, Any] = {"ended_at": time.time(), "process": None}
        if outcome is not None:
            if leavings.clean(folder / process.REPORT):
                leavings.remove(place)
                (folder / process.REPORT).rename(place)
            state = State.STOPPED if outcome["partial"] else State.FINISHED
            error = f"stopped: {_reason('wall', 0, self._settings)}" if why == "wall" else None
            values |= {"outcome": outcome, "makespan_s": outcome["makespan_s"], "error": error}
        elif isinstance(ended.get("error"), str):
            state = State.FAILED
            values["error"] = ended["error"][:_ERROR]
        elif why is not None or (reason := _limit_met(folder, code, admission.is_program(run.request))):
            state = State.STOPPED if why == "stop" else State.FAILED
            values["error"] = _reason(why or str(reason), code or 0, self._settings)
        elif run.attempts < self._settings.limits.attempts and not run.stop_asked:
            state = State.QUEUED
            values |= {"ended_at": None, "started_at": None}
        else:
            state = State.FAILED
            words = leavings.last_words(folder / MESSAGES)
            values["error"] = f"its process was killed {run.attempts} times ({words})"
        kept_B = leavings.size_B(place) + leavings.size_B(inputs_of(self._settings, run.id))
        values |= {"size_B": min(kept_B, leavings.UNCOUNTABLE_B), "state": state.value}
        self._patiently(self._store.change, run.id, **values)
        if state is not State.QUEUED:
            leavings.remove(folder)

    def task(
        self,
        mode: str,
        fields: dict[str, Any],
        files: dict[str, Path],
        limit_s: int,
        kept: tuple[tuple[str, ...], Path] | None = None,
    ) -> dict[str, Any]:
        """Answer of a short process of this mode with these files. Raises `Refused` with its error.

        kept: names of files that it leaves, and the folder into which they are put.
        """
        with self._estimates:
            folder = self._settings.data / "estimates" / secret()
            inputs, attempt = folder / "inputs", folder / "attempt"
            attempt.mkdir(parents=True)
            inputs.mkdir()
            try:
                for name, path in files.items():
                    os.link(path, inputs / name)
                ended = self._ended(attempt, self._begin(attempt, inputs, fields, (), limit_s, mode), limit_s)
                if kept is not None and "error" not in ended:
                    for name in kept[0]:
                        os.replace(attempt / name, kept[1] / name)
            finally:
                leavings.remove(folder)
        if "error" in ended:
            raise admission.Refused(mode, ended["error"])
        return ended

    def _ended(self, folder: Path, started: subprocess.Popen, limit_s: int) -> dict[str, Any]:
        """Answer of a short process, which is ended after its time."""
        try:
            started.wait(limit_s)
        except subprocess.TimeoutExpired:
            pass
        finally:
            self._end(started, folder)
        ended = leavings.read(folder / process.ENDED)
        if ended is not None:
            return ended
        if _limit_met(folder, started.returncode) == "memory":
            return {"error": _reason("memory", 0, self._settings)}
        return {"error": f"takes more than {limit_s} s here"}

    def draw(self, text: str, files: dict[str, Path]) -> str:
        """Picture, as SVG, of the network of a platform file. Raises `Refused`, which names the line."""
        nothing = {"kind": "pattern", "name": "barrier"}
        admitted = admission.admit(
            {"platform": {"toml": text}, "workload": nothing, "ranks": 1}, files, self._settings.limits
        )
        return self._probed(admitted, files, "draw", _DRAWING_S)["picture"]

    def estimate(self, admitted: admission.Admitted, files: dict[str, Path]) -> dict[str, Any]:
        """Estimate of a run, see `answers.Estimate`. Raises `Refused` where it cannot run."""
        estimate = leavings.estimate(self._probed(admitted, files, "estimate", _ESTIMATE_S).get("estimate"))
        if estimate is None:
            raise admission.Refused("workload", "workload: this program ended without an estimate")
        return estimate

    def _probed(
        self, admitted: admission.Admitted, files: dict[str, Path], mode: str, limit_s: int
    ) -> dict[str, Any]:
        """Answer of a short process of this mode. Raises `Refused` with its error."""
        with self._estimates:
            folder = self._settings.data / "estimates" / secret()
            inputs = folder / "inputs"
            attempt = folder / "attempt"
            attempt.mkdir(parents=True)
            try:
                lay_out(inputs, admitted, files)
                ended = self._answered(admitted, attempt, inputs, mode, limit_s)
            finally:
                leavings.remove(folder)
        if "error" in ended:
            error = str(ended["error"])[:_ERROR]
            raise admission.Refused(admission.field_of(error, admitted.request), error)
        return ended

    def _answered(
        self, admitted: admission.Admitted, folder: Path, inputs: Path, mode: str, limit_s: int
    ) -> dict[str, Any]:
        fields, command = admitted.request.fields(), admitted.request.command
        started, lacked_memory = self._begin(folder, inputs, fields, command, limit_s, mode), False
        try:
            started.wait(limit_s)
        except subprocess.TimeoutExpired:
            pass
        finally:
            lacked_memory = self._lacked_memory(folder)
            self._end(started, folder)
        ended = leavings.read(folder / process.ENDED)
        if ended is not None:
            return ended
        reason = _limit_met(folder, started.returncode, admission.is_program(fields))
        reason = "memory" if lacked_memory else reason
        if reason in ("memory", "program", "crash"):
            return {"error": _reason(reason, started.returncode, self._settings)}
        if mode == "draw":
            return {"error": f"{admission.PLATFORM_FILE}: takes more than {limit_s} s to be drawn"}
        unknown = {"hosts": None, "ranks": None, "memory_B": None, "seconds": None, "is_whole": False}
        return {"estimate": unknown | {"warnings": [f"its set-up alone takes more than {limit_s} s"]}}


def _group_of(folder: Path) -> str:
    """Name of the control group of an attempt: that of its run, or of its estimate."""
    return folder.parent.name


def inputs_of(settings: Settings, run_id: str) -> Path:
    """Folder of the files that a run reads."""
    return settings.run_folder(run_id) / "inputs"


def lay_out(inputs: Path, admitted: admission.Admitted, files: dict[str, Path]) -> None:
    """Puts the files of a request into a folder: by links, which take no room."""
    inputs.mkdir(parents=True)
    for name in admitted.inputs:
        os.link(files[name], inputs / name)
    for name, text in admitted.texts.items():
        (inputs / name).write_text(text, encoding="utf-8")


def _limit_met(folder: Path, code: int | None, is_program: bool = False) -> str | None:
    """The limit that ended a process, if it was one of the kernel's."""
    if is_program and code is not None and code > _BY_SIGNAL:
        code = _BY_SIGNAL - code  # as a shell, a sandbox says which signal has ended what ran in it
    if code == -signal.SIGXCPU:
        return "cpu"
    words = leavings.last_words(folder / MESSAGES)
    if code is not None and code != -signal.SIGKILL and re.search("memory|alloc", words):
        return "memory"
    if code is None or code in (-signal.SIGKILL, -signal.SIGTERM):
        return None
    return "program" if is_program else "crash"


def _reason(why: str, code: int, settings: Settings) -> str:
    limits = settings.limits
    return {
        "stop": f"it was stopped before it simulated, or wrote no report within {limits.grace_s:g} s",
        "wall": f"a run may take {limits.wall_s:g} s here",
        "cpu": f"a run may take {limits.cpu_s:g} s of processor time here",
        "memory": f"a run may use {limits.memory_B / 2**30:.3g} GiB of memory here; try fewer ranks",
        "disk": f"a run may write {limits.disk_B / 2**30:.3g} GiB here; keep fewer records or messages",
        "program": f"its process ended with code {code} and left no report",
        "crash": f"its process ended by itself with code {code}: a bug of hopcast, please report this run",
    }[why]


def _outcome_of(report: Path) -> dict[str, Any] | None:
    """Head of a report that was put into its place before its server was killed."""
    from hopcast.report import store

    with contextlib.suppress(InputError, KeyError, TypeError, AttributeError):
        return leavings.outcome(process.outcome(dict(store.read(report / "report.json").summary)))
    return None


def _start_of(pid: int) -> str | None:
    """Time at which a process began, which tells it from a later one of the same number."""
    fields = _fields_of(pid)
    return fields[19] if fields else None


def _fields_of(pid: int) -> list[str] | None:
    """Fields of /proc/PID/stat after the name, the state first."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    except OSError:
        return None


def _kill_session(leader: int) -> None:
    """Kills all processes of the session of `leader`, also those in groups of their own."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)
    for place in Path("/proc").glob("[0-9]*"):
        fields = _fields_of(int(place.name))
        if fields and fields[3] == str(leader):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(int(place.name), signal.SIGKILL)


def _kill_left_over(identity: dict[str, Any] | None) -> None:
    """Kills the process of a run that has survived its server."""
    if identity and identity["start"] is not None and _start_of(identity["process"]) == identity["start"]:
        _kill_session(identity["process"])
