"""Process of one task: its start, in a sandbox if it runs a program, its limits, and its end."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hopcast.errors import InputError
from hopcast.service import admission, cgroups, fork_server, leavings, sandbox
from hopcast.service.fork_server import Copy
from hopcast.service.settings import Settings

MESSAGES = "messages.txt"
"""Name in the folder of an attempt of what its process has written."""

LOOK_EVERY_S = 0.5
"""Time between two looks at what a process uses [s]."""

_BY_SIGNAL = 128
_KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "PYTHONPATH", "VIRTUAL_ENV", "LD_LIBRARY_PATH")


class TaskProcess:
    """A process of its own session, with its limits."""

    def __init__(
        self,
        settings: Settings,
        groups: cgroups.Groups | None,
        folder: Path,
        inputs: Path,
        request: dict[str, Any],
        command: tuple[str, ...],
        cpu_s: int,
        mode: str,
    ) -> None:
        """Starts it. folder: it works in this one. inputs: it reads this one. mode: see `process`."""
        self._settings, self._groups, self._folder, self._mode = settings, groups, folder, mode
        self.is_program = admission.is_program(request)
        limits = settings.limits
        (folder / "tmp").mkdir()
        task = {
            "mode": mode,
            "folder": str(folder),
            "inputs": str(inputs),
            "parent": os.getpid(),
            "cpu_s": cpu_s,
            "memory_B": limits.memory_B,
            "disk_B": limits.disk_B,
            "processes": limits.processes if self.is_program else None,
            "request": request,
            "command": command,
        }
        (folder / "task.json").write_text(json.dumps(task), encoding="utf-8")
        try:
            self.process = self._started(inputs)
        except BaseException:
            if groups is not None:
                groups.end(self._group)
            raise
        self._meter = sandbox.Meter(self.process.pid)

    def _started(self, inputs: Path) -> subprocess.Popen | Copy:
        folder, limits, temporary = self._folder, self._settings.limits, str(self._folder / "tmp")
        environment = kept_environment() | {"HOME": temporary, "TMPDIR": temporary}
        task = folder / "task.json"
        words = [sys.executable, "-m", "hopcast.service.process", str(task)]
        with contextlib.ExitStack() as stack:
            messages = stack.enter_context(open(folder / MESSAGES, "wb"))
            inherited: tuple[int, ...] = ()
            if self.is_program:
                if not self._settings.programs:
                    raise InputError("programs are refused here")
                inherited = (stack.enter_context(sandbox.filter_file()).fileno(),)
                words = sandbox.command(words, folder, inputs, environment, inherited[0])
            if self._groups is not None:
                most = cgroups.Limits(limits.memory_B, limits.processes, limits.threads)
                self._groups.begin(self._group, most)
                words = self._groups.entering(self._group, words)
            if not self.is_program:
                entrance = None if self._groups is None else self._groups.entrance(self._group)
                return fork_server.shared.start(
                    task, folder, messages.fileno(), environment, entrance, self._mode == "study"
                )
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

    @property
    def _group(self) -> str:
        """Name of the control group: that of the run, or of the estimate."""
        return self._folder.parent.name

    @property
    def identity(self) -> dict[str, Any]:
        """Number and start of the process, which tell it from a later one of the same number."""
        return {"process": self.process.pid, "start": _start_of(self.process.pid)}

    @property
    def has_begun(self) -> bool:
        """True: it begins at once."""
        return True

    @property
    def has_ended(self) -> bool:
        """True once it has ended; what it has left is here."""
        return self.code is not None

    @property
    def code(self) -> int | None:
        """Code with which it has ended; None as long as it goes on."""
        return self.process.returncode

    def is_over(self) -> bool:
        """True once it has ended."""
        return self.process.poll() is not None

    def terminate(self) -> None:
        """Asks what runs to end."""
        if self.is_program:
            sandbox.signal_inner(self.process.pid, signal.SIGTERM)
        else:
            self.process.terminate()

    def exceeded(self) -> str | None:
        """The limit that it exceeds, of those that the kernel does not hold for all its processes."""
        limits = self._settings.limits
        if leavings.size_B(self._folder) > limits.disk_B:
            return "disk"
        if not self.is_program:
            return None
        if self._groups is not None:  # the kernel holds the limit of their memory
            return "cpu" if self._groups.cpu_s(self._group) > limits.cpu_s else None
        used = self._meter.usage()
        if used.memory_B > limits.memory_B:
            return "memory"
        return "cpu" if used.cpu_s > limits.cpu_s else None

    def ended_by(self) -> str | None:
        """The limit that has ended it: memory, if the kernel says that its group needed more."""
        is_short = self._groups is not None and self._groups.lacked_memory(self._group)
        return "memory" if is_short else None

    def end(self) -> None:
        """Kills it with all that it has started, and waits for its end."""
        if self.process.poll() is None:
            sandbox.kill(self.process.pid)
            # A copy of the fork server that has just begun has no session by which it would be found.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(self.process.pid, signal.SIGKILL)
        _kill_session(self.process.pid)
        self.process.wait()
        if self._groups is not None:
            self._groups.end(self._group)


def kept_environment() -> dict[str, str]:
    """Variables of the environment of the server that its tasks have, too."""
    return {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}


def limit_met(folder: Path, code: int | None, is_program: bool = False) -> str | None:
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


def reason(why: str, code: int, settings: Settings) -> str:
    """Words for a limit that ended a process with this code."""
    limits = settings.limits
    return {
        "stop": f"it was stopped before it simulated, or wrote no report within {limits.grace_s:g} s",
        "wall": f"a run may take {limits.wall_s:g} s here",
        "cpu": f"a run may take {limits.cpu_s:g} s of processor time here",
        "memory": f"a run may use {limits.memory_B / 2**30:.3g} GiB of memory here; try fewer ranks",
        "disk": f"a run may write {limits.disk_B / 2**30:.3g} GiB here; keep fewer records or messages",
        "room": "the disk of the server had no room for what it writes",
        "program": f"its process ended with code {code} and left no report",
        "crash": f"its process ended by itself with code {code}: a bug of hopcast, please report this run",
    }[why]


def kill_left_over(identity: Mapping[str, Any] | None) -> None:
    """Kills a process that has survived its server."""
    if identity and identity.get("start") is not None and _start_of(identity["process"]) == identity["start"]:
        _kill_session(identity["process"])


def _start_of(pid: int) -> str | None:
    """Time at which a process began."""
    fields = sandbox.fields_of(pid)
    return fields[19] if fields else None


def _kill_session(leader: int) -> None:
    """Kills all processes of the session of `leader`, also those in groups of their own."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)
    for place in Path("/proc").glob("[0-9]*"):
        fields = sandbox.fields_of(int(place.name))
        if fields and fields[3] == str(leader):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(int(place.name), signal.SIGKILL)
