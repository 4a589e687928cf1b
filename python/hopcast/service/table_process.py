"""Rows of a table of a report, in a confined process: a program may have left anything in its place."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopcast.errors import InputError
from hopcast.service import leavings

if TYPE_CHECKING:
    import pyarrow

CONTAINS, EQUAL, LESS, MORE = "contains", "=", "<", ">"
RELATIONS = (CONTAINS, EQUAL, LESS, MORE)
"""Relations of a filter; the last two are for numbers."""

_TABLE_B = 1 << 30
"""Size of a table that is read [B]."""
_CHARACTERS = 200


def shown(fields: dict[str, Any], inputs: Path) -> dict[str, Any]:
    """Part of a table: names of its columns, rows, and the number of all rows that meet the filter.

    fields: `file`; `column`, `relation` and `value` of the filter, which is none if `column` is empty;
    `sort`, a column, or the order of the file if empty; `down`, the largest first; `offset` and `most` of
    the rows; `are_texts`, rows as a page shows them.
    """
    import pyarrow
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(inputs / fields["file"])
        groups = range(file.metadata.num_row_groups)
        if sum(file.metadata.row_group(number).total_byte_size for number in groups) > _TABLE_B:
            raise InputError(f"{fields['file']}: is too large to be shown here; fetch the run")
        names = file.schema_arrow.names
        for key in ("column", "sort"):
            if fields[key] and fields[key] not in names:
                raise InputError(f"{fields[key]}: is no column of this table; known: {', '.join(names)}")
        table = file.read()
        if fields["column"]:
            table = table.filter(_meets(table[fields["column"]], fields))
        rows = _part(table, fields).to_pylist()
    except pyarrow.ArrowException as error:
        raise InputError(f"{fields['file']}: cannot be shown: {error}") from error
    written = _text if fields["are_texts"] else _value
    cells = [[written(value) for value in row.values()] for row in rows]
    answer = {"columns": names, "rows": cells, "count": table.num_rows}
    if len(json.dumps(answer)) > leavings.ANSWER_B:
        raise InputError(
            f"{fields['file']}: these {len(cells):,} rows are too large for one answer; ask for fewer"
        )
    return answer


def _part(table: pyarrow.Table, fields: dict[str, Any]) -> pyarrow.Table:
    """The rows that are shown, in order."""
    import pyarrow.compute

    first, most = fields["offset"], fields["most"]
    if not fields["sort"]:
        return table.slice(first, most)
    order = [(fields["sort"], "descending" if fields["down"] else "ascending")]
    return table.take(pyarrow.compute.sort_indices(table, order).slice(first, most))


def _meets(column: pyarrow.ChunkedArray, fields: dict[str, Any]) -> pyarrow.ChunkedArray:
    """True for each row whose value stands in the relation to that of the filter."""
    import pyarrow
    import pyarrow.compute

    value, relation = fields["value"], fields["relation"]
    is_text = not (pyarrow.types.is_integer(column.type) or pyarrow.types.is_floating(column.type))
    if is_text or relation == CONTAINS:
        texts = column.cast(pyarrow.string())
        if relation == CONTAINS:
            return pyarrow.compute.match_substring(texts, value, ignore_case=True)
        if relation != EQUAL:
            raise InputError(f"{fields['column']}: holds texts; filter it by '{CONTAINS}' or '{EQUAL}'")
        return pyarrow.compute.equal(texts, value)
    try:
        number = float(value)
    except ValueError:
        raise InputError(f"{value!r}: is no number, as those of {fields['column']} are") from None
    compare = {EQUAL: "equal", LESS: "less", MORE: "greater"}[relation]
    return getattr(pyarrow.compute, compare)(column.cast(pyarrow.float64()), number)


def _value(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int) else str(value)[:_CHARACTERS]


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return "" if value is None else str(value)[:_CHARACTERS]
