"""Call durations: how long single calls took, as one histogram per MPI function."""

from __future__ import annotations

from hopcast.report import units
from hopcast.report.pictures.picture import Picture, column
from hopcast.report.store import Result
from hopcast.report.svg import Axis, Canvas, horizontal_axis

_ROWS = 8
_ROW_HEIGHT = 58


def draw(result: Result) -> Picture | None:
    """Rows of histograms over one logarithmic axis; heights are shares of the row's tallest bin."""
    table = result.tables.get("call_durations")
    rows = _rows(table) if table is not None else []
    if not rows:
        return None
    low = min(bins[0][0] for _, bins in rows)
    high = max(bins[-1][1] for _, bins in rows)
    height = _ROW_HEIGHT * len(rows) + 34
    canvas = Canvas(1080, height, "Durations of MPI calls")
    across = Axis(low, high, 190, 960, logarithmic=True)
    horizontal_axis(
        canvas, across, height - 26, 6, lambda ticks: [units.seconds(t, 1) for t in ticks], about=8
    )
    for row, (call, bins) in enumerate(rows):
        _histogram(canvas, across, (row + 1) * _ROW_HEIGHT, call, bins)
    return Picture("Call durations", _finding(rows), canvas.svg())


def _rows(table) -> list[tuple[str, list[tuple[float, float, int]]]]:
    """The functions with the most calls, each with its bins (low, high, count) in order."""
    bins: dict[str, list[tuple[float, float, int]]] = {}
    columns = [column(table, name) for name in ("low_s", "high_s", "count")]
    for call, low, high, count in zip(table["call"].to_pylist(), *columns, strict=True):
        if count > 0 and high > 0:
            bins.setdefault(call, []).append((max(float(low), float(high) / 10), float(high), int(count)))
    rows = [(call, sorted(values)) for call, values in bins.items()]
    rows.sort(key=lambda row: -sum((low * high) ** 0.5 * count for low, high, count in row[1]))
    return rows[:_ROWS]


def _histogram(canvas: Canvas, across: Axis, base: float, call: str, bins: list) -> None:
    tallest = max(count for _, _, count in bins)
    canvas.line(0, base, 1080, base)
    canvas.text(0, base - 8, call, class_="name")
    for low, high, count in bins:
        height = max(1.5, (_ROW_HEIGHT - 14) * count / tallest)
        title = f"{call}\n{units.seconds(low, 3)} to {units.seconds(high, 3)}: {count:,} calls"
        width = max(1.0, across(high) - across(low) - 0.6)
        canvas.bar(across(low), base - height, width, height, "accent", title)
    canvas.text(
        1072, base - 24, f"{units.count(sum(count for *_, count in bins))} calls", anchor="end", class_="tick"
    )
    canvas.text(
        1072, base - 8, f"median {units.seconds(quantile(bins, 0.5), 3)}", anchor="end", class_="number"
    )


def quantile(bins: list[tuple[float, float, int]], share: float) -> float:
    """The duration below which `share` of the counts lie, within a bin by equal ratios."""
    wanted = share * sum(count for *_, count in bins)
    below = 0
    for low, high, count in bins:
        if below + count >= wanted:
            return low * (high / low) ** ((wanted - below) / count)
        below += count
    return bins[-1][1]


def _finding(rows: list) -> str:
    call, bins = rows[0]
    middle, late = quantile(bins, 0.5), quantile(bins, 0.99)
    return (
        f"Half of the {call} calls take under {units.seconds(middle, 3)}, one in a hundred over "
        f"{units.seconds(late, 3)}. Bars are counts, each row to its own scale."
    )
