"""Walls that Linux puts around a process: files by Landlock, resources by limits, life by its parent's."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import struct
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import hopcast

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG = 1
_PATH_BENEATH = 1
_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | 1 << 14
"""Rights that a rule on a file, and not a folder, may have; the last one is to truncate."""
_RIGHTS_BY_VERSION = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
"""All rights on files that a version of Landlock knows, see landlock(7)."""
_TCP = 0b11
"""Rights to bind and to connect TCP sockets, from version 4 on."""
_SCOPED = 0b11
"""Abstract sockets, and signals, of processes outside: refused from version 6 on."""

_XCPU_S = 5

PLACES_OF_SANDBOX = (Path("/proc"), Path("/dev"), Path("/bin"), Path("/etc/alternatives"))
"""Places that all processes of a sandbox may read: they are its own."""
MEMORY_FILES = (Path("/tmp"), Path("/dev/shm"), Path("/dev/null"))
"""Places in a sandbox that its processes may change, too; they are small."""


def _system() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


@cache
def landlock_version() -> int:
    """Version of Landlock that this kernel has; 0 if it has none."""
    if not sys.platform.startswith("linux"):
        return 0
    return max(0, _system().syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION_FLAG))


def confine(read: Iterable[Path], write: Iterable[Path]) -> bool:
    """Takes from this process, for good, all files but these; False where the kernel cannot.

    Files and folders in `read` can be read, and programs there executed; those in `write` changed, too.
    """
    version = landlock_version()
    if version == 0:
        return False
    known = next(rights for least, rights in reversed(_RIGHTS_BY_VERSION.items()) if version >= least)
    attributes = struct.pack("=Q", known)
    if version >= 4:
        attributes += struct.pack("=Q", _TCP)
    if version >= 6:
        attributes += struct.pack("=Q", _SCOPED)
    system = _system()
    rules = system.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0)
    _check(rules)
    for path in read:
        _allow(rules, path, known & (_EXECUTE | _READ_FILE | _READ_DIR))
    for path in write:
        _allow(rules, path, known & ~_EXECUTE)
    _check(system.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    _check(system.syscall(_RESTRICT_SELF, rules, 0))
    os.close(rules)
    return True


def _allow(rules: int, path: Path, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not os.path.isdir(path):
            rights &= _OF_FILES
        rule = struct.pack("=Qi", rights, place)
        _check(_system().syscall(_ADD_RULE, rules, _PATH_BENEATH, rule, 0))
    finally:
        os.close(place)


def _check(answer: int) -> None:
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def places_of_python() -> list[Path]:
    """Files and folders that this interpreter reads: libraries, this package, facts about the machine."""
    places = {sys.prefix, sys.base_prefix, *(path for path in sys.path if path)}
    places |= {"/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/localtime", "/dev/null", "/dev/urandom"}
    places |= {"/proc/meminfo", "/proc/cpuinfo", "/proc/self", "/sys/fs/cgroup", "/sys/devices/system/cpu"}
    return [Path(hopcast.__file__).parent, *(Path(place) for place in sorted(places))]


def limit(cpu_s: int, memory_B: int, file_B: int) -> None:
    """Limits this process, and each of its children: processor time, address space, size of a file."""
    for what, most in (
        (resource.RLIMIT_CPU, cpu_s),
        (resource.RLIMIT_AS, memory_B),
        (resource.RLIMIT_FSIZE, file_B),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 1024),
    ):
        hard = resource.getrlimit(what)[1]
        # The soft limit ends a process by a signal of its own, some seconds before the hard one kills it.
        later = most + _XCPU_S if what == resource.RLIMIT_CPU else most
        hard = later if hard == resource.RLIM_INFINITY else min(later, hard)
        resource.setrlimit(what, (min(most, hard), hard))


def limit_processes(most: int) -> None:
    """Limits the processes and threads of this user, which are those of one sandbox in its own namespace."""
    resource.setrlimit(resource.RLIMIT_NPROC, (most, most))


def die_with_parent(parent: int) -> None:
    """Ends this process when the thread ends that started it in the process `parent`, however that ends."""
    _check(_system().prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0))
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)
