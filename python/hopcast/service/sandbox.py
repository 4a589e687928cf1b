"""Sandbox of programs: bubblewrap's namespaces, a filter of system calls, and what all its processes use.

A program sees the installed software, its own files and its own processes: no network, no other files, no
other user. Landlock stands within, as around every run. Nothing needs root, which the server must not be.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO

import hopcast
from hopcast.service import confinement

_LEAST_BUBBLEWRAP = (0, 8)
"""Version from which on it makes small tmpfs and ends further user namespaces."""
_LEAST_LINUX = (5, 14)
"""Version from which on a limit of processes counts those of one user namespace."""
_TEMPORARY_B = 64 << 20
"""Size of each tmpfs in a sandbox [B]: it is memory that no process has."""

_DENIED = (
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "process_madvise",
    "kcmp",
    "pidfd_getfd",
    "unshare",
    "setns",
    "mount",
    "umount2",
    "pivot_root",
    "chroot",
    "fsopen",
    "fsconfig",
    "fsmount",
    "fspick",
    "move_mount",
    "open_tree",
    "mount_setattr",
    "bpf",
    "perf_event_open",
    "userfaultfd",
    "io_uring_setup",
    "io_uring_enter",
    "io_uring_register",
    "keyctl",
    "add_key",
    "request_key",
    "name_to_handle_at",
    "open_by_handle_at",
    "fanotify_init",
    "init_module",
    "finit_module",
    "delete_module",
    "kexec_load",
    "kexec_file_load",
    "reboot",
    "swapon",
    "swapoff",
    "syslog",
    "acct",
    "quotactl",
    "quotactl_fd",
    "settimeofday",
    "clock_settime",
    "clock_adjtime",
    "adjtimex",
    "sethostname",
    "setdomainname",
    "vhangup",
    "iopl",
    "ioperm",
    "modify_ldt",
    "memfd_secret",
    "shmget",
    "msgget",
    "semget",
    "mq_open",
    "move_pages",
    "migrate_pages",
    "mbind",
    "set_mempolicy",
)
"""System calls that no program of MPI needs, and in which most holes of kernels were found."""

_NEW_USER_NAMESPACE = 0x10000000
_AF_UNIX = 1
_TERMINAL_INPUT = 0x5412, 0x541C
"""Requests of ioctl(2) that write what somebody else's terminal then reads: TIOCSTI, TIOCLINUX."""


@cache
def problem() -> str | None:
    """The reason why programs cannot run in a sandbox here; None if they can."""
    if not sys.platform.startswith("linux"):
        return "bubblewrap works on Linux alone"
    if os.geteuid() == 0:
        return "the server runs as root, whose processes the kernel does not count; run it as another user"
    if _version(platform.release()) < _LEAST_LINUX:
        return f"Linux {platform.release()} does not count processes for each sandbox; 5.14 and later do"
    if not confinement.landlock_version():
        return "this kernel has no Landlock, the second wall"
    bubblewrap = shutil.which("bwrap")
    if bubblewrap is None:
        return "bubblewrap is not installed: apt-get install bubblewrap"
    told = subprocess.run([bubblewrap, "--version"], capture_output=True, text=True).stdout.strip()
    if _version(told) < _LEAST_BUBBLEWRAP:
        return f"{told} is too old: 0.8 is needed"
    try:
        filter_of_calls()
    except (ImportError, OSError, RuntimeError) as error:
        install = "apt-get install libseccomp2, pip install 'hopcast[serve-group]'"
        return f"libseccomp does not work ({error}): {install}"
    return _tried()


def _tried() -> str | None:
    """The words of a sandbox that does not begin."""
    with tempfile.TemporaryDirectory() as place, filter_file() as descriptor:
        words = command(["/bin/true"], Path(place), Path(place), {}, descriptor.fileno())
        done = subprocess.run(words, capture_output=True, text=True, pass_fds=(descriptor.fileno(),))
    if done.returncode == 0:
        return None
    reason = done.stderr.strip() or done.returncode
    return f"user namespaces are not permitted here, or /proc is hidden in part: {reason}"


def description() -> str:
    """Words for what a sandbox is made of here."""
    told = subprocess.run(["bwrap", "--version"], capture_output=True, text=True).stdout.strip()
    return f"{told} with {len(_DENIED)} system calls denied by libseccomp"


def _version(text: str) -> tuple[int, int]:
    found = re.search(r"(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else (0, 0)


@cache
def filter_of_calls() -> bytes:
    """Program of the kernel's filter of system calls."""
    import errno

    import pyseccomp as seccomp

    calls = seccomp.SyscallFilter(seccomp.ALLOW)
    refuse = seccomp.ERRNO(errno.EPERM)
    for name in _DENIED:
        try:
            calls.add_rule(refuse, name)
        except (RuntimeError, ValueError, OSError):
            # An older library does not know each newer call by its name.
            if name in ("ptrace", "unshare", "setns", "mount", "bpf", "keyctl"):
                raise
    # Flags that clone3 hides behind a pointer cannot be seen: without it, libraries take clone.
    calls.add_rule(seccomp.ERRNO(errno.ENOSYS), "clone3")
    flags = seccomp.Arg(0, seccomp.MASKED_EQ, _NEW_USER_NAMESPACE, _NEW_USER_NAMESPACE)
    calls.add_rule(refuse, "clone", flags)
    calls.add_rule(refuse, "socket", seccomp.Arg(0, seccomp.NE, _AF_UNIX))
    for request in _TERMINAL_INPUT:
        calls.add_rule(refuse, "ioctl", seccomp.Arg(1, seccomp.MASKED_EQ, 0xFFFFFFFF, request))
    with tempfile.TemporaryFile() as out:
        calls.export_bpf(out)
        out.seek(0)
        return out.read()


def filter_file() -> IO[bytes]:
    """A file with the filter, which a sandbox inherits."""
    out = tempfile.TemporaryFile()  # noqa: SIM115, for the caller is to close it
    out.write(filter_of_calls())
    out.seek(0)
    return out


def command(
    inner: Iterable[str], folder: Path, inputs: Path, environment: Mapping[str, str], filter_fd: int
) -> list[str]:
    """Command that runs `inner` in a sandbox.

    folder: it may change this one, and begins in it. inputs: it may read this one.
    """
    words = ["bwrap", "--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"]
    words += ["--unshare-cgroup-try", "--disable-userns", "--die-with-parent", "--new-session", "--clearenv"]
    words += ["--hostname", "sandbox", "--seccomp", str(filter_fd)]
    for name, value in environment.items():
        words += ["--setenv", name, value]
    words += ["--proc", "/proc", "--dev", "/dev"]
    for small in ("/tmp", "/dev/shm"):
        words += ["--size", str(_TEMPORARY_B), "--tmpfs", small]
    for place in installed():
        # A link at the top, as /lib is one to /usr/lib, stays one.
        if place.is_symlink() and place.parent == Path("/"):
            words += ["--symlink", os.readlink(place), str(place)]
        else:
            words += ["--ro-bind-try", str(place), str(place)]
    words += ["--ro-bind", str(inputs), str(inputs), "--bind", str(folder), str(folder)]
    # The rest of its files is in memory, which must not grow.
    words += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", str(folder), "--"]
    return [*words, *inner]


def installed() -> list[Path]:
    """Files and folders of installed software, folders before what is in them."""
    places = {
        "/usr",
        "/bin",
        "/sbin",
        "/lib",
        "/lib64",
        "/etc/ld.so.cache",
        "/etc/localtime",
        "/etc/alternatives",
    }
    places |= {sys.prefix, sys.base_prefix, str(Path(hopcast.__file__).parent)}
    # The first one may be the folder in which the server was started, with anything in it.
    places |= {path for path in sys.path if os.path.isabs(path) and path != os.getcwd()}
    known: list[Path] = []
    for path in map(Path, sorted(places)):
        if path.exists() and not any(one in path.parents for one in known if not one.is_symlink()):
            known.append(path)
    return known


def signal_inner(outer: int, number: int) -> None:
    """Sends a signal to the command that runs in a sandbox: the only child of its first process."""
    for first in _children(outer):
        for inner in _children(first):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(inner, number)


def kill(outer: int) -> None:
    """Kills all processes of a sandbox: with its first one, the kernel ends the others."""
    for first in _children(outer):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(first, signal.SIGKILL)


@dataclass(frozen=True)
class Usage:
    """Resources that all processes of a sandbox use together."""

    memory_B: int
    """Memory that they have at this moment, each for itself [B]."""
    cpu_s: float
    """Processor time that they and those that ended have taken [s]."""


@dataclass(frozen=True)
class _Ticks:
    """Processor time of a process, in ticks of the kernel's clock."""

    own: int
    reaped: int
    """Time of its children that have ended, if it has waited for them."""
    pages: int


class Meter:
    """Resources that a sandbox uses, looked at again and again."""

    def __init__(self, outer: int) -> None:
        self._outer = outer
        self._seen: dict[tuple[int, str], _Ticks] = {}
        """Processes at the last look, by number and start."""
        self._lost = 0
        """Time of processes that have ended, and for which nobody has waited."""

    def usage(self) -> Usage:
        """Resources that are used at this moment, with the time of those that ended."""
        now: dict[tuple[int, str], _Ticks] = {}
        waiting = [self._outer]
        while waiting:
            number = waiting.pop()
            waiting += _children(number)
            now |= _ticks_of(number)
        for number, start in self._seen.keys() - now.keys():
            # It may have gone to another parent while this look was taken.
            now |= {key: ticks for key, ticks in _ticks_of(number).items() if key[1] == start}
        # Where a program ignores SIGCHLD, the kernel adds a child's time to nobody's. Where it does not, the
        # time goes to the one that has waited, and must not count twice.
        gone = sum(self._seen[key].own + self._seen[key].reaped for key in self._seen.keys() - now.keys())
        passed_on = sum(now[key].reaped - self._seen[key].reaped for key in self._seen.keys() & now.keys())
        self._lost += max(0, gone - passed_on)
        self._seen = now
        ticks = self._lost + sum(one.own + one.reaped for one in now.values())
        pages = sum(one.pages for one in now.values())
        return Usage(pages * os.sysconf("SC_PAGE_SIZE"), ticks / os.sysconf("SC_CLK_TCK"))


def _ticks_of(number: int) -> dict[tuple[int, str], _Ticks]:
    """Ticks of a process by its number and start; nothing if it has gone."""
    fields = fields_of(number)
    if fields is None:
        return {}
    user, system, reaped_user, reaped_system = map(int, fields[11:15])
    return {(number, fields[19]): _Ticks(user + system, reaped_user + reaped_system, int(fields[21]))}


def fields_of(pid: int) -> list[str] | None:
    """Fields of /proc/PID/stat after the name, the state first; None if there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    except OSError:
        return None


def _children(number: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{number}/task").glob("*"):
        with contextlib.suppress(OSError):
            found += map(int, (task / "children").read_text().split())
    return found
