"""Studies for a server: the files that their cells read, and words about how they have ended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hopcast.errors import InputError
from hopcast.service.client import portable_with_texts
from hopcast.study import cells
from hopcast.study.conduct import inside
from hopcast.study.file import Study


def files_of(study: Study) -> dict[str, Path]:
    """Files of this machine that the cells of a study read, by the names that the study file has for them.

    Raises `InputError` for a file that the study file does not call by its name alone: the server would not
    find it.
    """
    files: dict[str, Path] = {}
    with inside(study.directory):
        for number, settings in enumerate(study.settings()):
            try:
                request = cells.request_of(study, settings)
                if request.workload["kind"] == "jobs":
                    raise InputError("a study of a server has patterns and traces, and no file of jobs")
                found = portable_with_texts(request)[1]
            except InputError as error:
                raise InputError(f"{study.place}: cell {number}: {error}") from error
            for text, path in found.items():
                if text != path.name:
                    raise InputError(
                        f"{study.place}: cell {number}: {text}: a study of a server names files beside the "
                        f"study file, without a folder; copy it there and write {path.name}"
                    )
                files[path.name] = path.absolute()
    return files


def missing(state: dict[str, Any]) -> list[dict[str, Any]]:
    """Cells of a study that is over that have no result."""
    return [cell for cell in state["cells"] if cell["state"] != "finished" or cell["error"]]


def over(state: dict[str, Any]) -> tuple[int, int]:
    """Number of cells that are over, and how many of them have no result."""
    going = sum(state["counts"].get(name, 0) for name in ("queued", "running"))
    number = len(state["cells"]) - going
    return number, number - state["counts"].get("finished", 0)


def summary(state: dict[str, Any]) -> str:
    """One line about the cells."""
    from hopcast.report import units

    counts = ", ".join(f"{number:,} {name}" for name, number in state["counts"].items())
    return f"{units.things(len(state['cells']), 'cell')}: {counts}"
