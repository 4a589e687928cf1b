"""Time in MPI by cause: which part of the ranks' time has which, and where messages held each other up."""

from __future__ import annotations

from hopcast.report import causes, units
from hopcast.report.pictures.picture import Picture, column
from hopcast.report.store import Result
from hopcast.report.svg import Axis, Canvas

PLACE = 20
"""Place on the page among all pictures: the least is the first."""

_ROW = 26


def draw(result: Result) -> Picture | None:
    """One bar per cause, and one per place of contention."""
    table = result.tables.get("ranks")
    if table is None or "late_sender_s" not in table.column_names:
        return None
    rows = [(name, words, float(column(table, f"{name}_s").sum())) for name, words in causes.CAUSES]
    rows.append(("idle", causes.OPEN_CALLS, causes.open_calls_s(result.summary)))
    rows = [row for row in rows if row[2] > 0]
    total = sum(time for *_, time in rows)
    if not total:
        return None
    rows.sort(key=lambda row: -row[2])
    where = "" if rows[0][1] == causes.OPEN_CALLS else "on "
    finding = f"Ranks spend {units.percent(rows[0][2] / total)} of their time in MPI {where}{rows[0][1]}."
    for place in result.summary.get("contention") or []:
        rows.append(("contention", f"contention at: {place['at']}", place["time_s"]))
    canvas = Canvas(1080, _ROW * len(rows) + 8, "Time in MPI by cause")
    across = Axis(0, total, 240, 960)
    for number, (name, words, time) in enumerate(rows):
        y = 4 + _ROW * number
        canvas.text(230, y + 16, words, anchor="end")
        title = f"{words}\n{units.seconds(time)}, {units.percent(time / total)}"
        canvas.bar(240, y + 3, max(0.5, across(time) - 240), _ROW - 8, name, title)
        canvas.text(across(time) + 8, y + 16, f"{units.seconds(time, 3)}, {units.percent(time / total)}")
    return Picture("Time in MPI by cause", finding, canvas.svg())
