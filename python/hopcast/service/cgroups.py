"""Control groups, version 2: memory, processes and processors of all that a run has started, together.

They are used where the server's own group was delegated to it, as a unit of systemd with `Delegate=` does:
there it may make groups below its own. Elsewhere, limits are those of each process (`confinement.limit`).
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")
_CONTROLLERS = ("memory", "pids", "cpu")
_SERVER, _RUN = "server", "run-"
"""Names of the groups below the delegated one: of the server itself, and of runs."""

_PERIOD_US = 100_000
_END_S = 10.0


class Unavailable(Exception):
    """Control groups cannot be used; the text says why."""


@dataclass(frozen=True)
class Limits:
    """Limits of one group."""

    memory_B: int
    processes: int
    processors: int


class Groups:
    """Groups of runs below the server's own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @staticmethod
    def delegated(root: Path = _ROOT, membership: Path = Path("/proc/self/cgroup")) -> Groups:
        """The groups below that of this process, which moves into one of them. Raises `Unavailable`."""
        folder = _own(root, membership)
        _check_delegated(folder)
        here = set((folder / "cgroup.controllers").read_text().split())
        missing = [name for name in _CONTROLLERS if name not in here]
        if missing:
            raise Unavailable(f"{folder} has no {', '.join(missing)}")
        try:
            # A group that gives its controllers to others may hold no process itself.
            _move_all(folder, folder / _SERVER)
            (folder / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in _CONTROLLERS))
        except OSError as error:
            raise Unavailable(f"{folder}: {error}") from error
        groups = Groups(folder)
        for left in folder.glob(f"{_RUN}*"):
            groups.end(left.name.removeprefix(_RUN))
        return groups

    def begin(self, name: str, limits: Limits) -> None:
        """Makes a group for a run."""
        group = self._group(name)
        group.mkdir(exist_ok=True)
        (group / "memory.max").write_text(str(limits.memory_B))
        with contextlib.suppress(OSError):  # a machine without swap has no such file
            (group / "memory.swap.max").write_text("0")
        (group / "memory.oom.group").write_text("1")
        (group / "pids.max").write_text(str(limits.processes))
        (group / "cpu.max").write_text(f"{limits.processors * _PERIOD_US} {_PERIOD_US}")

    def entering(self, name: str, command: Iterable[str]) -> list[str]:
        """Command that enters a group before it becomes another one, with all that this will start."""
        enter = 'echo 0 > "$1" && shift && exec "$@"'
        return ["/bin/sh", "-c", enter, "sh", str(self.entrance(name)), *command]

    def entrance(self, name: str) -> Path:
        """File in which a process writes its number, or 0, to enter a group."""
        return self._group(name) / "cgroup.procs"

    def lacked_memory(self, name: str) -> bool:
        """True if the kernel has ended a run because it needed more memory than it may have."""
        return _count(self._group(name) / "memory.events", "oom_kill") > 0

    def cpu_s(self, name: str) -> float:
        """Processor time that all processes of a run have taken [s]."""
        return _count(self._group(name) / "cpu.stat", "usage_usec") / 1e6

    def end(self, name: str) -> None:
        """Kills all processes of a group, and removes it."""
        group, end_s = self._group(name), time.monotonic() + _END_S
        with contextlib.suppress(OSError):
            (group / "cgroup.kill").write_text("1")
        while group.exists() and time.monotonic() < end_s:
            with contextlib.suppress(OSError):
                group.rmdir()
                return
            time.sleep(0.01)

    def _group(self, name: str) -> Path:
        return self._folder / f"{_RUN}{name}"


def _own(root: Path, membership: Path) -> Path:
    """Group of this process."""
    if not (root / "cgroup.controllers").is_file():
        raise Unavailable(f"{root} is not of version 2")
    for line in membership.read_text().splitlines():
        number, _, path = line.split(":", 2)
        if number == "0":
            return root / path.lstrip("/")
    raise Unavailable("this process is in no group of version 2")


def _check_delegated(folder: Path) -> None:
    """Raises `Unavailable` unless somebody has given this group to the server, to make others below it."""
    is_ours = os.geteuid() != 0 and folder.stat().st_uid == os.geteuid()
    with contextlib.suppress(OSError):
        is_ours |= os.getxattr(folder, "user.delegate") == b"1"
    with contextlib.suppress(OSError):
        is_ours |= os.getxattr(folder, "trusted.delegate") == b"1"
    if not is_ours:
        raise Unavailable(f"{folder} was not delegated to this server (Delegate= of a systemd unit does it)")


def _move_all(source: Path, target: Path) -> None:
    target.mkdir(exist_ok=True)
    for number in (source / "cgroup.procs").read_text().split():
        with contextlib.suppress(ProcessLookupError):
            (target / "cgroup.procs").write_text(number)


def _count(file: Path, name: str) -> int:
    """A number of a file with a name and a number on each line."""
    with contextlib.suppress(OSError):
        for line in file.read_text().splitlines():
            if line.startswith(f"{name} "):
                return int(line.split()[1])
    return 0
