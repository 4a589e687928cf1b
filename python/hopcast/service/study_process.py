"""Work on a study file in a confined process: its cells are listed, its table and page written."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from hopcast.errors import InputError
from hopcast.experiment.pieces import DONE, FAILED, Piece, Result
from hopcast.study import cells, page, table
from hopcast.study.file import Study, read

FILE = "study.toml"
PRODUCED = (table.TABLE, page.FILE)
"""Files that `written` leaves."""
REPORTS = "reports"
NAMES = (FILE, *PRODUCED, REPORTS)
"""Names in the archive of a study that none of its inputs can have."""

_LIBRARIES = (
    "pandas",
    "scipy.stats",
    "statsmodels.formula.api",
    "statsmodels.stats.anova",
    "hopcast.statistics.effects",
    "hopcast.statistics.intervals",
    "hopcast.statistics.rankings",
)
_NOT_SENT = ("directory", "made_by", "out", "version")


def planned(fields: dict[str, Any], inputs: Path) -> dict[str, Any]:
    """Settings and requests of all cells of the study in `fields`."""
    study = _study(fields, inputs)
    if study.files or study.clusters:
        section = "[files] fills" if study.files else "[clusters] draws"
        raise InputError(f"{FILE}: {section} files for programs, which are not run here")
    found = []
    for number, settings in enumerate(study.settings()):
        if number == fields["most_cells"]:
            raise InputError(
                f"{FILE}: has more than {number:,} cells, the most of a study here "
                "(limits.cells of the server's configuration)"
            )
        try:
            request = cells.request_of(study, settings).fields()
        except InputError as error:
            raise InputError(f"{FILE}: cell {number} ({_words(settings)}): {error}") from error
        sent = {key: value for key, value in request.items() if key not in _NOT_SENT}
        found.append({"settings": settings, "request": sent})
    if not found:
        raise InputError(f"{FILE}: its conditions exclude every cell")
    return {"cells": found, "name": study.name}


def written(fields: dict[str, Any], inputs: Path, folder: Path) -> dict[str, Any]:
    """Writes table and page of the cells in `fields` into `folder`."""
    study = _study(fields, inputs)
    pieces, results = [], {}
    for cell in fields["cells"]:
        piece = Piece(cell["number"], cell["settings"], {"request": cell["request"]})
        pieces.append(piece)
        if cell["state"] is not None:
            results[piece.key] = _result(cell)
    rows = table.write(study, pieces, results, folder)
    links = {int(number): address for number, address in fields["links"].items()}
    page.write(study, rows, folder, links)
    return {"cells": len(rows)}


def read_libraries() -> None:
    """Loads now what `written` needs: statistics take two seconds of a processor."""
    for name in _LIBRARIES:
        importlib.import_module(name)


def _study(fields: dict[str, Any], inputs: Path) -> Study:
    return read(fields["text"], FILE, inputs, fields["name"] or "study")


def _result(cell: dict[str, Any]) -> Result:
    """Result of a cell whose run is over."""
    return Result(DONE, "", cell["values"]) if cell["state"] == DONE else Result(FAILED, cell["why"])


def _words(settings: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in settings.items())
