"""Session of a Dask worker of this machine: Ctrl-C in the terminal is for hopcast, which ends its workers.

A worker that got it would stay until its command ends.
"""

from __future__ import annotations

import contextlib
import os


def dask_setup(_worker: object) -> None:
    """Leaves the session of the terminal; Dask calls it in each worker that begins, by its name."""
    with contextlib.suppress(PermissionError):  # the leader of a session of its own
        os.setsid()
