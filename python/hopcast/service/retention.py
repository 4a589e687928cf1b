"""Retention: runs are deleted by age and by size, and what nobody needs any more."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterable
from pathlib import Path

from hopcast.service import leavings, studies, submission
from hopcast.service.schema import Run
from hopcast.service.state import Service

_EVERY_S = 600.0
_LEFT_OVER_S = 3600.0
"""Age at which a folder without a run, or of an estimate, is of a server that was killed [s]."""


class Janitor:
    """Cleans up at the start of a service, and every ten minutes."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._work, name="janitor", daemon=True)

    def start(self) -> None:
        """Begins to clean up."""
        self._thread.start()

    def close(self) -> None:
        """Waits until it has stopped."""
        self._closing.set()
        self._thread.join()

    def _work(self) -> None:
        while True:
            try:
                clean(self._service)
            except Exception as error:  # a database that is away, for instance: the next time may be better
                words = str(error) or type(error).__name__
                print(f"hopcast serve: nothing was cleaned up: {words}", file=sys.stderr, flush=True)
            if self._closing.wait(_EVERY_S):
                return


def clean(service: Service) -> None:
    """Deletes runs that are too old, the oldest until the rest has room, and what is left over."""
    settings, now_s = service.settings, time.time()
    over = list(service.store.over())
    if settings.keep_s is not None:
        old = [run for run in over if submission.age_s(run) > settings.keep_s]
        _delete(service, old)
        over = over[len(old) :]
    if settings.keep_B is not None:
        total_B, first = sum(run.size_B for run in over), 0
        while total_B > settings.keep_B and first < len(over):
            total_B -= over[first].size_B
            first += 1
        _delete(service, over[:first])
    if settings.keep_s is not None or settings.keep_B is not None:
        for study in service.store.studies_without_runs(now_s - _LEFT_OVER_S):
            studies.delete(service, study)
    service.store.delete_expired(now_s)
    for upload in service.store.uploads_before(now_s - settings.keep_uploads_s):
        submission.forget_upload(service, upload.id)
    known = {"runs": service.store.run, "studies": service.store.study, "estimates": lambda _id: None}
    for folder, found in known.items():
        for path in (settings.data / folder).glob("*"):
            if found(path.name) is None and _changed_s(path) < now_s - _LEFT_OVER_S:
                leavings.remove(path)


def _delete(service: Service, runs: Iterable[Run]) -> None:
    for run in runs:
        submission.delete(service, run.id, run.state)


def _changed_s(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return time.time()
