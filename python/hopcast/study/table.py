"""Table of a study: a row for each cell, with what varies, the state, and the values of its run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopcast.errors import InputError
from hopcast.experiment.pieces import DONE, FAILED, LOST, Piece, Result
from hopcast.study.file import Study
from hopcast.study.run_cell import RESPONSES

if TYPE_CHECKING:
    import pyarrow

TABLE = "results.parquet"
COSTS = "costs.parquet"

_FIRST = ("cell",)
_STATE = ("state", "why")
_UNKNOWN = Result(LOST, "was not run: the study was stopped")

Rows = list[dict[str, Any]]


def reserved() -> set[str]:
    """Names of columns that no factor may have."""
    return {*_FIRST, *_STATE, "key", *RESPONSES}


def rows_of(study: Study, pieces: Sequence[Piece], results: Mapping[str, Result]) -> Rows:
    """Rows in the order of the cells; a cell without a result says so."""
    rows = []
    for piece in pieces:
        result = _with_responses(study, piece, results.get(piece.key, _UNKNOWN))
        values = {name: result.values.get(name) for name in [*RESPONSES, *study.responses]}
        state = {"state": result.state, "why": result.why or None}
        rows.append({"cell": piece.number, **piece.parameters, **state, **values, "key": piece.key})
    return rows


def _with_responses(study: Study, piece: Piece, result: Result) -> Result:
    """The result with the study's responses; one of which a formula has no value has failed."""
    if result.state != DONE:
        return result
    values = dict(result.values)
    try:
        for name, formula in study.responses.items():
            values[name] = formula({**piece.parameters, **values})
    except InputError as error:
        return Result(FAILED, str(error).partition("\n")[0])
    return Result(DONE, "", values)


def table_of(study: Study, rows: Rows) -> pyarrow.Table:
    """The rows as a table."""
    import pyarrow

    columns = {}
    for name in rows[0] if rows else []:
        values = [row[name] for row in rows]
        if name in RESPONSES:
            columns[name] = pyarrow.array(values, pyarrow.type_for_alias(RESPONSES[name]))
        elif name in _STATE:
            columns[name] = pyarrow.array(values, pyarrow.string())
        else:
            columns[name] = _array(values)
    return pyarrow.table(columns)


def _array(values: list[Any]) -> pyarrow.Array:
    """Values of one type as they are; whole and other numbers as numbers; any other mixture as texts."""
    import pyarrow

    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float} and len(kinds) == 2:
        return pyarrow.array([None if value is None else float(value) for value in values])
    if len(kinds) > 1:
        return pyarrow.array([None if value is None else str(value) for value in values], pyarrow.string())
    return pyarrow.array(values)


def write(study: Study, pieces: Sequence[Piece], results: Mapping[str, Result], folder: Path) -> Rows:
    """Writes the table, and beside it what the cells cost, which differs each time; gives the rows."""
    import pyarrow

    rows = rows_of(study, pieces, results)
    _publish(table_of(study, rows), folder / TABLE)
    costs: Rows = [
        {"cell": piece.number, **(results[piece.key].costs if piece.key in results else {})}
        for piece in pieces
    ]
    names = list(dict.fromkeys(name for row in costs for name in row))
    _publish(pyarrow.table({name: [row.get(name) for row in costs] for name in names}), folder / COSTS)
    return rows


def _publish(table: pyarrow.Table, file: Path) -> None:
    """Writes a file whole or not at all."""
    from pyarrow import parquet

    draft = file.with_name(f".{file.name}.draft")
    parquet.write_table(table, draft, compression="zstd")
    draft.replace(file)
