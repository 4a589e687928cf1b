"""Temporary folders, locked while they are in use: those of runs that were killed go when the next begins."""

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
except ImportError:  # a system without file locks: nothing is known of other runs' folders, which stay
    fcntl = None


@contextlib.contextmanager
def folder(prefix: str = "hopcast-", parent: Path | None = None) -> Iterator[Path]:
    """A new folder in `parent`, or where temporary files are, which is gone afterwards.

    Its name says on which machine it is in use, because locks may be known there alone.
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
    """A new folder and the lock on it; none where the file system has no locks."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        lock = _lock(path)
        # Another run may have found the folder before it was locked, and removed it.
        if path.is_dir():
            return path, lock
        if lock is not None:
            os.close(lock)


def _lock(path: Path) -> int | None:
    """The lock on a folder, if nobody has it; it ends with this process, however that ends."""
    if fcntl is None:
        return None
    try:
        lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return None
    return lock


def _remove_abandoned(parent: Path, prefix: str) -> None:
    for path in parent.glob(f"{prefix}*"):
        lock = _lock(path)
        if lock is None:
            continue
        try:
            if os.fstat(lock).st_uid == os.getuid():
                shutil.rmtree(path, ignore_errors=True)
        finally:
            os.close(lock)
