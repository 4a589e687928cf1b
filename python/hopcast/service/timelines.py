"""The timeline of a run: a page of its own, which loads the calls that were kept."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from fastapi import APIRouter, HTTPException, Response
from fastapi.responses import HTMLResponse

from hopcast.report import timeline_view
from hopcast.report.store import Result
from hopcast.service import admission, process
from hopcast.service.access import Readable, Services, Visitor
from hopcast.service.pages import html_page
from hopcast.service.report_files import answered_file
from hopcast.service.schema import Run
from hopcast.service.state import Service

MOST = 200_000
"""Calls, and as many messages, that the page shows."""

_MOST_READ = 50_000_000
"""Rows of a table that are read to find those that the page shows."""

_reading = threading.Lock()
"""Lock around the reading of tables, which takes memory."""
_WAIT_S = 10.0
"""Time for which a request waits until the tables of another one have been read [s]."""

_CALLS, _MESSAGES = "call_records", "message_records"

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)


@router.get("/runs/{run_id}/timeline")
def timeline(run: Readable, user: Visitor, service: Services) -> Response:
    """The calls of a run by rank and time, to zoom and to move."""
    import pyarrow

    # Of the table, the sentence needs its number of rows alone.
    rows = pyarrow.nulls(_file(service, run, _CALLS).metadata.num_rows)
    result = Result({}, {_CALLS: pyarrow.table({"rank": rows})})
    words = timeline_view.words(result, MOST, "The file for Perfetto")
    return html_page("timeline_page.html", user, run=run, words=words)


@router.get("/runs/{run_id}/timeline/calls")
def calls(run: Readable, service: Services) -> Response:
    """Calls and messages that the page draws."""
    if not _reading.acquire(timeout=_WAIT_S):
        raise HTTPException(503, "other timelines are being read; try again in a minute")
    try:
        content = timeline_view.data(_shown(service, run), MOST)
    finally:
        _reading.release()
    return Response(content, media_type="application/json")


@router.get("/runs/{run_id}/timeline.json")
def for_perfetto(run: Readable, service: Services) -> Response:
    """The whole timeline, for another viewer."""
    file = _report(service, run) / "timeline.json"
    if not file.is_file():
        raise HTTPException(404, "this run has kept no records")
    return answered_file(file, "application/json", filename=f"timeline-{run.id}.json")


def _report(service: Service, run: Run) -> Path:
    return service.settings.run_folder(run.id) / process.REPORT


def _file(service: Service, run: Run, name: str) -> Any:
    """A table of a run's report, of which nothing is read yet but its size and its columns."""
    from pyarrow import parquet

    if admission.is_program(run.request):
        # A program can leave anything as its tables, which this process must not open.
        raise HTTPException(
            404, "of a program's run there is no timeline here; fetch the run and open it there"
        )
    file = _report(service, run) / f"{name}.parquet"
    if not file.is_file():
        raise HTTPException(404, "this run has kept no records")
    table = parquet.ParquetFile(file)
    if table.metadata.num_rows > _MOST_READ:
        raise HTTPException(
            422, f"the timeline of more than {_MOST_READ:,} records is not drawn here; fetch the run"
        )
    return table


def _shown(service: Service, run: Run) -> Result:
    """The two tables of a report that a timeline is made of, with the rows that the page shows."""
    import pyarrow.compute

    summary = {"ranks": (run.outcome or {}).get("ranks")}
    calls = first_rows(_file(service, run, _CALLS), "begin_s", MOST)
    tables = {_CALLS: calls}
    if calls.num_rows and (_report(service, run) / f"{_MESSAGES}.parquet").is_file():
        end_s = pyarrow.compute.max(calls["end_s"]).as_py()
        tables[_MESSAGES] = first_rows(_file(service, run, _MESSAGES), "sent_s", MOST, ("received_s", end_s))
    return Result(summary, tables)


def first_rows(file: Any, key: str, most: int, until: tuple[str, float] | None = None) -> Any:
    """The `most` rows of a Parquet file that are first by a column, in the order of the file.

    Row groups are read one after the other, so that not more than one is in memory beside the rows found;
    those are left out whose statistics say that all their rows are later.
    until: a column, and its largest value in the rows that count.
    """
    import numpy
    import pyarrow.compute

    found, column = file.schema_arrow.empty_table(), file.schema_arrow.names.index(key)
    for number in range(file.metadata.num_row_groups):
        statistics = file.metadata.row_group(number).column(column).statistics
        is_known = statistics is not None and statistics.has_min_max
        if found.num_rows >= most and is_known and statistics.min >= pyarrow.compute.max(found[key]).as_py():
            continue
        group = file.read_row_group(number)
        if until is not None:
            group = group.filter(pyarrow.compute.less_equal(group[until[0]], until[1]))
        found = pyarrow.concat_tables([found, group]) if found.num_rows else group
        if found.num_rows > most:
            values = found[key].to_numpy(zero_copy_only=False)
            found = found.take(numpy.sort(numpy.argpartition(values, most)[:most]))
    return found
