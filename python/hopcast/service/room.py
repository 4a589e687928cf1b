"""Room on the disk of the data: some is kept, so that a database on it can still take what frees more."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import threading

from hopcast.service.settings import Settings

KEPT_B = 64 << 20
"""Free bytes below which nothing is uploaded or submitted, and no run begins."""


def check(settings: Settings) -> None:
    """Raises `OSError`, as a full disk does, where nothing more should come."""
    if not is_there(settings):
        raise OSError(errno.ENOSPC, "the disk of the server is full")


def is_there(settings: Settings, kept_B: int | None = None) -> bool:
    """True if the disk of the data has room for more, beside what is kept."""
    return shutil.disk_usage(settings.data).free >= (KEPT_B if kept_B is None else kept_B)


def is_short(settings: Settings) -> bool:
    """True if so little is left that runs have to end, before the database can write no more."""
    return not is_there(settings, KEPT_B // 4)


def was_short(words: str | None) -> bool:
    """True for the error of a run that could not write."""
    return words is not None and os.strerror(errno.ENOSPC) in words


class Watch:
    """Looks before each run, and tells the operator when runs begin to wait for room."""

    def __init__(self, settings: Settings) -> None:
        self._settings, self._guard, self._was_there = settings, threading.Lock(), True

    def is_there(self) -> bool:
        """See `is_there`."""
        now = is_there(self._settings)
        with self._guard:
            before, self._was_there = self._was_there, now
        if before and not now:
            text = (
                f"{self._settings.data} has less than {KEPT_B >> 20} MiB left: runs wait until there is more"
            )
            print(f"hopcast serve: {text}", file=sys.stderr, flush=True)
        return now
