"""Studies: their cells are runs in the queue; table and page are made of what the runs have left."""

from __future__ import annotations

import json
import random
import statistics
import threading
import time
import weakref
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi import HTTPException

from hopcast.service import admission, archive, leavings, pool, process, study_process, submission
from hopcast.service.admission import Refused
from hopcast.service.names import name_of
from hopcast.service.schema import Run, State, Study, StudyCell, User
from hopcast.service.state import Service
from hopcast.service.store import secret
from hopcast.service.study_store import DELETED, Cell
from hopcast.service.submission import TooMany

_PLAN_S, _PAGE_S = 20, 60
"""Times that the list of cells, and the page, may take [s]."""

_MOST_TRIED, _ESTIMATE_S = 6, 8.0
"""Most cells that are begun for an estimate, and the time after which no more are [s]."""

_WAIT_S = 5.0
"""Time for which a request waits until another one has written the page of the same study [s]."""

_FAILURE_S = 600.0
"""Time after which a page that could not be made is tried again though no more cells are over [s]."""
_MOST_FAILURES = 1000

_guard = threading.Lock()
"""Lock around the two tables below."""
_writing: weakref.WeakValueDictionary[str, threading.Lock] = weakref.WeakValueDictionary()
"""Locks by study, for as long as somebody writes its page or waits for it."""
_failures: dict[Path, tuple[str, Refused, float]] = {}
"""Stamps, errors and times of the latest pages that could not be made, by folder."""


@dataclass(frozen=True)
class Standing:
    """Number of cells of a study by state, at one time."""

    counts: dict[str, int]

    @property
    def all(self) -> int:
        """Number of cells."""
        return sum(self.counts.values())

    @property
    def over(self) -> int:
        """Number of cells of which nothing more happens."""
        return self.all - sum(self.counts.get(state.value, 0) for state in State if not state.is_over)

    @property
    def is_over(self) -> bool:
        """True if nothing more happens to any cell."""
        return self.over == self.all

    @staticmethod
    def of(cells: Iterable[Cell]) -> Standing:
        """The standing of these cells."""
        return Standing(dict(Counter(cell.state for cell in cells)))


def plan(service: Service, user: User, text: str, uploads: Mapping[str, str]) -> tuple[dict[str, Any], list]:
    """Name and cells of a study file, and each cell's request, checked. Raises `Refused`."""
    files = submission.files_of(service, user, uploads)
    for name in files:
        if name in study_process.NAMES:
            raise Refused(
                "study", f"{name}: the study's own file of that name stands there; name it otherwise"
            )
    asked = {"text": text, "name": "", "most_cells": service.settings.limits.cells}
    try:
        planned = service.pool.task("cells", asked, files, _PLAN_S)
    except Refused as error:
        raise Refused("study", str(error)) from error
    admitted = []
    for number, cell in enumerate(planned["cells"]):
        try:
            one = admission.admit(cell["request"], files, service.settings.limits)
            submission.check_here(one)
        except Refused as error:
            raise _of_cell(number, cell["settings"], error) from error
        admitted.append((cell["settings"], one, files))
    return planned, admitted


def _of_cell(number: int, settings: Mapping[str, Any], error: Refused) -> Refused:
    words = ", ".join(f"{name}={value}" for name, value in settings.items())
    return Refused("study", f"{study_process.FILE}: cell {number} ({words}): {error}")


def estimate(service: Service, user: User, text: str, uploads: Mapping[str, str]) -> dict[str, Any]:
    """Cells of a study, and what all of them will take. Raises `Refused` and `TooMany`.

    Some of the cells, drawn evenly, are begun one after the other.
    """
    planned, admitted = plan(service, user, text, uploads)
    count = len(admitted)
    tried: dict[int, dict[str, Any]] = {}
    end_s = time.monotonic() + _ESTIMATE_S
    # A sample at random, the same each time: even steps would see one value alone of what alternates.
    for number in random.Random(0).sample(range(count), min(count, _MOST_TRIED)):
        settings, one, files = admitted[number]
        try:
            tried[number] = service.pool.estimate(one, files, user.id)
        except Refused as error:
            raise _of_cell(number, settings, error) from error
        except TooMany:
            if not tried:
                raise
            break
        if time.monotonic() > end_s:
            break
    return {"planned": planned["cells"], "estimate": _sum(service, count, tried)}


def _sum(service: Service, cells: int, tried: dict[int, dict[str, Any]]) -> dict[str, Any]:
    """Needs of all cells, if they are as those that were tried; see `answers.StudyEstimate`."""

    def largest(name: str) -> int | None:
        return max((one[name] for one in tried.values() if one[name] is not None), default=None)

    times = [one["seconds"] for one in tried.values()]
    warnings = dict.fromkeys(words for one in tried.values() for words in one["warnings"])
    return {
        "cells": cells,
        "tried": sorted(tried),
        **{name: largest(name) for name in ("hosts", "ranks", "memory_B")},
        "seconds": None if None in times else cells * statistics.fmean(times),
        "workers": service.settings.workers if service.settings.scheduler is None else None,
        "is_whole": len(tried) == cells and all(one["is_whole"] for one in tried.values()),
        "warnings": list(warnings),
    }


def submit(
    service: Service, user: User, text: str, uploads: Mapping[str, str], name: str, notes: str = ""
) -> Study:
    """Puts all cells of a study into the queue; its file names it if `name` is empty.

    Raises `Refused` and `TooMany`.
    """
    planned, admitted = plan(service, user, text, uploads)
    submission.check_waiting(service, user, len(admitted))
    name = name or name_of(planned["name"]) or "study"
    study = Study(id=secret(), owner_id=user.id, name=name, text=text, notes=notes)
    runs: list[Run] = []
    cells = []
    with submission.or_removed(service, runs):
        for number, (settings, one, files) in enumerate(admitted):
            run = submission.laid_out(service, user, one, files, study.title_of(number), "")
            runs.append(run)
            cells.append(StudyCell(study_id=study.id, number=number, run_id=run.id, settings=settings))
        service.store.add_study(study, cells, runs)
    service.pool.wake()
    return study


def standing(service: Service, study: Study) -> Standing:
    """The study as it stands."""
    return Standing(service.store.counts([study.id])[study.id])


def stop(service: Service, study: Study) -> None:
    """Ends the cells that wait, and asks those that go on for partial results."""
    for cell in service.store.cells(study.id):
        if not cell.is_over:
            submission.stop(service, cell.run_id)


def delete(service: Service, study: Study) -> None:
    """Deletes a study with the runs of its cells."""
    for cell in service.store.cells(study.id):
        if cell.state != DELETED:
            submission.delete(service, cell.run_id, cell.state)
    service.store.delete_study(study.id)
    leavings.remove(_folder(service, study))


def page(service: Service, study: Study) -> Path:
    """File of the page about the cells that are over; it is made anew where more are."""
    return _written(service, study, "page", {}) / "study.html"


def table(service: Service, study: Study) -> Path:
    """File of the table of all cells."""
    return _written(service, study, "page", {}) / "results.parquet"


def archived(service: Service, study: Study) -> list[archive.Entry]:
    """Entries of the archive of a study: study file, table, page, reports of cells, and what they read."""
    found = [cell for cell in service.store.cells(study.id) if cell.state != DELETED]
    reports = {cell.number: service.settings.run_folder(cell.run_id) / process.REPORT for cell in found}
    reports = {number: report for number, report in reports.items() if (report / "report.html").is_file()}
    links = {number: f"{_place(number)}/report.html" for number in reports}
    made = _written(service, study, "archive", links)
    root = f"hopcast-study-{study.id}"
    entries: list[archive.Entry] = [(f"{root}/{study_process.FILE}", study.text)]
    entries += [(f"{root}/{name}", made / name) for name in study_process.PRODUCED]
    for number, report in reports.items():
        entries += archive.of_report(report, f"{root}/{_place(number)}")
    inputs = _inputs(service, [cell.run_id for cell in found])
    return entries + [(f"{root}/{name}", path) for name, path in inputs.items()]


def _place(number: int) -> str:
    return f"{study_process.REPORTS}/{number:06}"


def _folder(service: Service, study: Study) -> Path:
    return service.settings.data / "studies" / study.id


def _inputs(service: Service, run_ids: list[str]) -> dict[str, Path]:
    """Uploaded files that the cells read, by name."""
    files: dict[str, Path] = {}
    for run_id in run_ids:
        folder = pool.inputs_of(service.settings, run_id)
        for path in folder.iterdir() if folder.is_dir() else ():
            if path.is_file():
                files.setdefault(path.name, path)
    return files


def _written(service: Service, study: Study, kind: str, links: Mapping[int, str]) -> Path:
    """Folder of table and page, which are made anew where more cells are over."""
    states = [cell.state for cell in service.store.cells(study.id)]
    stamp = json.dumps([study.name, states, sorted(links)])
    folder = _folder(service, study) / kind
    if _is_written(folder, stamp):
        return folder
    with _guard:
        writing = _writing.setdefault(study.id, threading.Lock())
    if not writing.acquire(timeout=_WAIT_S):
        raise HTTPException(503, "the page of this study is being written; try again in a minute")
    try:
        if _is_written(folder, stamp):
            return folder
        folder.mkdir(parents=True, exist_ok=True)
        found = service.store.cells_with_runs(study.id)
        fields = {
            "text": study.text,
            "name": study.name,
            "cells": [_fields(cell, run) for cell, run in found],
            "links": dict(links),
        }
        inputs = _inputs(service, [run.id for _, run in found if run is not None])
        kept = (study_process.PRODUCED, folder)
        try:
            service.pool.task("study", fields, inputs, _PAGE_S, kept)
        except Refused as error:
            _note_failure(folder, stamp, error)
            raise
        (folder / "stamp.json").write_text(stamp, encoding="utf-8")
    finally:
        writing.release()
    return folder


def _is_written(folder: Path, stamp: str) -> bool:
    """True if the folder holds table and page of this stamp. Raises `Refused` if they could not be made."""
    with _guard:
        failure = _failures.get(folder)
    if failure is not None and failure[0] == stamp and time.monotonic() < failure[2] + _FAILURE_S:
        raise Refused(failure[1].field, str(failure[1]))
    noted = folder / "stamp.json"
    return noted.is_file() and noted.read_text(encoding="utf-8") == stamp


def _note_failure(folder: Path, stamp: str, error: Refused) -> None:
    with _guard:
        _failures.pop(folder, None)
        _failures[folder] = (stamp, error, time.monotonic())
        while len(_failures) > _MOST_FAILURES:
            del _failures[next(iter(_failures))]


def _fields(cell: StudyCell, run: Run | None) -> dict[str, Any]:
    """A cell for the process that writes table and page."""
    fields = {
        "number": cell.number,
        "settings": cell.settings,
        "request": run.request if run else cell.number,
    }
    if run is None:
        return fields | {"state": "failed", "why": "its run was deleted"}
    if not run.is_over:
        return fields | {"state": None}
    failure = (run.outcome or {}).get("failure")
    if run.state == State.FINISHED.value and run.outcome and not failure:
        return fields | {"state": "done", "values": run.outcome["values"]}
    return fields | {"state": "failed", "why": run.error or failure or f"the run was {run.state}"}
