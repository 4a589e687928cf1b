"""One cell in a worker: the run of its request, and the values that the study's table has of it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hopcast import scratch
from hopcast.experiment.pieces import Measured

RESPONSES = {
    "makespan_s": "double",
    "compute_s": "double",
    "transfer_s": "double",
    "waiting_s": "double",
    "energy_J": "double",
    "messages": "int64",
    "sent_B": "int64",
    "limit": "string",
    "outcome_hash": "string",
}
"""Values of each cell and their types in the table: the predicted time, and means over the ranks."""


_PARTS = ("compute_s", "transfer_s", "waiting_s")


def run(inputs: Mapping[str, Any]) -> Measured:
    """Values of a cell, and what they have cost. Raises what the run raises."""
    from hopcast.api import run as predict
    from hopcast.request import RunRequest

    request = RunRequest.from_json(json.dumps(inputs["request"], ensure_ascii=False), "cell")
    if "report" in inputs:
        _leave_pandas()
        request = request.changed(out=inputs["report"])
    with _beside(inputs.get("files", {})):
        report = predict(request)
    costs = {"wall_s": report.summary["wall_s"], "peak_rss_B": report.summary["peak_rss_B"]}
    return Measured(values_of(report.summary), costs=costs)


def _leave_pandas() -> None:
    """Loads no pandas for a report; workers of Dask may be those of others, who want it."""
    if "distributed" not in sys.modules:
        from hopcast.report import arrow

        arrow.leave_pandas()


@contextmanager
def _beside(files: Mapping[str, str]) -> Iterator[None]:
    """Works in a copy of this folder, of links, in which these files stand; in the folder itself if none."""
    if not files:
        yield
        return
    here = Path.cwd()
    with scratch.folder() as folder:
        for entry in here.iterdir():
            if entry.name not in files:
                (folder / entry.name).symlink_to(entry)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(here)


def values_of(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Values of a run that depend on its request alone."""
    return {
        "makespan_s": summary["makespan_s"],
        **{name: summary["time"][name] / summary["ranks"] for name in _PARTS},
        "energy_J": summary.get("energy_J"),
        "messages": summary["messages"],
        "sent_B": summary["bytes"],
        "limit": (summary.get("limit") or {}).get("kind"),
        "outcome_hash": summary["outcome_hash"],
    }
