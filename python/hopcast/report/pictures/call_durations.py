"""Call durations: how long single calls took, as one histogram per MPI function."""

from __future__ import annotations

from hopcast.report import units
from hopcast.report.pictures.histogram import Histogram, axis_over, time_ticks
from hopcast.report.pictures.picture import Picture, column
from hopcast.report.store import Result
from hopcast.report.svg import Axis, Canvas

PLACE = 40
"""Place on the page among all pictures: the least is the first."""

_ROWS = 8
_ROW_HEIGHT = 58


def draw(result: Result) -> Picture | None:
    """Rows of histograms over one logarithmic axis; heights are shares of the row's tallest bin."""
    table = result.tables.get("call_durations")
    rows = _rows(table) if table is not None else []
    if not rows:
        return None
    height = _ROW_HEIGHT * len(rows) + 34
    canvas = Canvas(1080, height, "Durations of MPI calls")
    across = axis_over((histogram for _, histogram in rows), 190, 930)
    time_ticks(canvas, across, height - 26, 6, about=8)
    for row, (call, histogram) in enumerate(rows):
        _histogram(canvas, across, (row + 1) * _ROW_HEIGHT, call, histogram)
    return Picture("Call durations", _finding(rows), canvas.svg())


def _rows(table) -> list[tuple[str, Histogram]]:
    """The functions that took most time."""
    of_call: dict[str, list[tuple[float, float, int]]] = {}
    columns = [column(table, name) for name in ("low_s", "high_s", "count")]
    for call, *row in zip(table["call"].to_pylist(), *columns, strict=True):
        of_call.setdefault(call, []).append(tuple(row))
    rows = [(call, Histogram.of(bins)) for call, bins in of_call.items()]
    rows = [row for row in rows if row[1].bins]
    rows.sort(key=lambda row: -row[1].sum_s)
    return rows[:_ROWS]


def _histogram(canvas: Canvas, across: Axis, base: float, call: str, histogram: Histogram) -> None:
    tallest = max(count for *_, count in histogram.bins)
    canvas.line(0, base, 1080, base)
    canvas.text(0, base - 8, call, class_="name")
    for x, width, count, what in histogram.bars(across):
        height = max(1.5, (_ROW_HEIGHT - 14) * count / tallest)
        canvas.bar(x, base - height, width, height, "accent", f"{call}\n{what} calls")
    instant = f", {units.count(histogram.instant)} at once" if histogram.instant else ""
    calls = units.things(histogram.total, "call") + instant
    canvas.text(1072, base - 24, calls, anchor="end", class_="tick")
    median = f"median {units.seconds(histogram.quantile(0.5), 3)}"
    canvas.text(1072, base - 8, median, anchor="end", class_="number")


def _finding(rows: list[tuple[str, Histogram]]) -> str:
    call, histogram = rows[0]
    middle, late = histogram.quantile(0.5), histogram.quantile(0.99)
    return (
        f"Half of the {call} calls take under {units.seconds(middle, 3)}, one in a hundred over "
        f"{units.seconds(late, 3)}. Bars are counts, each row to its own scale."
    )
