"""The timeline in a page: kept calls and messages as columns that `pages/timeline.js` draws."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from hopcast.report.store import Result

if TYPE_CHECKING:
    import numpy
    import pyarrow

PAGE_MOST = 40_000
"""Calls, and as many messages, that the page of a report holds."""


def data(result: Result, most: int = PAGE_MOST) -> str | None:
    """The first `most` kept calls, and messages between them, as JSON; None if the run has kept no calls.

    A column is the text of its values in base64, little-endian.
    """
    table = result.tables.get("call_records")
    if table is None or not table.num_rows:
        return None
    import numpy

    begin = _column(table, "begin_s")
    order = numpy.lexsort((begin, _column(table, "rank")))
    if table.num_rows > most:
        first = numpy.argpartition(begin, most)[:most]
        order = order[numpy.isin(order, first)]
    shown = table.take(order)
    names = shown["call"].unique().to_pylist()
    numbers = {name: number for number, name in enumerate(names)}
    values: dict[str, Any] = {
        "ranks": int(result.summary.get("ranks") or _column(table, "rank").max() + 1),
        "kept": table.num_rows,
        "names": names,
        "rank": _packed(_column(shown, "rank"), "<u4"),
        "name": _packed([numbers[name] for name in shown["call"].to_pylist()], "<u4"),
        "begin": _packed(_column(shown, "begin_s"), "<f8"),
        "end": _packed(_column(shown, "end_s"), "<f8"),
        "bytes": _packed(_column(shown, "bytes") if "bytes" in shown.column_names else [], "<f8"),
    }
    values["messages"] = _messages(
        result.tables.get("message_records"), float(_column(shown, "end_s").max()), most
    )
    # Within a script of a page, nothing may end it.
    return json.dumps(values, separators=(",", ":")).replace("<", "\\u003c")


def words(result: Result, most: int, whole: str) -> str:
    """Sentence about the calls that a view of `most` shows; `whole` has all of them."""
    table = result.tables.get("call_records")
    if table is None:
        return ""
    if table.num_rows <= most:
        return f"The {table.num_rows:,} calls and stretches of computing that were kept, by rank and time."
    return f"The first {most:,} of {table.num_rows:,} kept calls and stretches of computing; {whole} has all."


def _messages(table: pyarrow.Table | None, end_s: float, most: int) -> dict[str, str]:
    """Messages that were received by `end_s`, in the order in which they were sent."""
    if table is None or not table.num_rows:
        return {}
    import numpy

    sent = _column(table, "sent_s")
    order = numpy.argsort(sent, kind="stable")
    order = order[_column(table, "received_s")[order] <= end_s][:most]
    kinds = {"source": "<u4", "destination": "<u4", "bytes": "<f8", "sent_s": "<f8", "received_s": "<f8"}
    return {
        name.removesuffix("_s"): _packed(_column(table, name)[order], kind) for name, kind in kinds.items()
    }


def _column(table: pyarrow.Table, name: str) -> numpy.ndarray:
    return table[name].to_numpy(zero_copy_only=False)


def _packed(values: numpy.ndarray | Iterable[int], kind: str) -> str:
    import numpy

    return base64.b64encode(numpy.asarray(values).astype(kind).tobytes()).decode()
