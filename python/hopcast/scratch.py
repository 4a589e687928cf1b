"""Temporary folders, locked while in use: the next run removes those of runs that were killed."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # a system without file locks: abandoned folders cannot be told from others, and stay
    fcntl = None  # type: ignore[assignment]  # stands where the module would


@contextlib.contextmanager
def folder(prefix: str = "hopcast-", parent: Path | None = None) -> Iterator[Path]:
    """Makes a folder in `parent`, by default that of temporary files, and removes it afterwards.

    Its name holds that of this machine, since other machines may not see its lock.
    """
    parent = Path(tempfile.gettempdir()) if parent is None else parent
    prefix += re.sub(r"[^A-Za-z0-9]", "_", socket.gethostname()) + "-"
    _remove_abandoned(parent, prefix)
    path, lock = _locked(parent, prefix)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _locked(parent: Path, prefix: str) -> tuple[Path, int | None]:
    """A new folder with its lock; no lock where the file system has none."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        # Another run may find the folder before it is locked: then that one has the lock, and removes it.
        try:
            lock = _lock(path)
        except BlockingIOError:
            continue
        if path.is_dir():
            return path, lock
        if lock is not None:
            os.close(lock)


def _lock(path: Path) -> int | None:
    """Locks a folder; the lock ends with this process, however that ends. None where nothing can be locked.

    Raises `BlockingIOError` if another process has it locked.
    """
    if fcntl is None:
        return None
    try:
        lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise
    except OSError:
        os.close(lock)
        return None
    return lock


def _remove_abandoned(parent: Path, prefix: str) -> None:
    for path in parent.glob(f"{prefix}*"):
        try:
            lock = _lock(path)
        except BlockingIOError:
            continue
        if lock is None:
            continue
        try:
            if os.fstat(lock).st_uid == os.getuid():
                shutil.rmtree(path, ignore_errors=True)
        finally:
            os.close(lock)
