"""Faults over time: the links and routers that failed, when, and for how long."""

from __future__ import annotations

from hopcast.report import units
from hopcast.report.html import failures
from hopcast.report.pictures.picture import Picture
from hopcast.report.store import Result
from hopcast.report.svg import Axis, Canvas

PLACE = 140
"""Place on the page among all pictures: the least is the first."""

_ROWS = 20


def draw(result: Result) -> Picture | None:
    """One line for each link and router that failed, with a bar for each time it was down."""
    table = result.tables.get("faults")
    short = result.summary.get("faults")
    end = result.summary["makespan_s"]
    if table is None or not table.num_rows or not short or end <= 0:
        return None
    outages: dict[tuple[str, str], list[tuple[float, float]]] = {}
    rows = (table[name].to_pylist() for name in ("kind", "name", "failed_s", "until_s"))
    for kind, name, failed, until in zip(*rows, strict=True):
        outages.setdefault((kind, name), []).append((failed, min(until, end)))
    longest = sorted(outages.items(), key=lambda item: (-_down(item[1]), item[0]))[:_ROWS]
    canvas = Canvas(1080, 48 + 22 * len(longest), "What failed, and when")
    across = Axis(0, end, 250, 960)
    canvas.text(1072, 14, "down", anchor="end", class_="tick")
    for row, ((kind, name), times) in enumerate(longest):
        y = 22 + 22 * row
        canvas.line(0, y - 2, 1080, y - 2)
        canvas.text(0, y + 13, f"{kind} {name}", class_="name")
        for failed, until in times:
            canvas.bar(across(failed), y + 3, max(1, across(until) - across(failed)), 12, "waiting", rx=1)
        canvas.text(1072, y + 13, units.percent(_down(times) / end), anchor="end", class_="number")
    y = 36 + 22 * len(longest)
    for part in (0, 0.5, 1):
        canvas.text(across(part * end), y, units.seconds(part * end, 3), anchor="middle", class_="tick")
    more = len(outages) - len(longest)
    shown = f" Shown: the {len(longest)} that were down for longest." if more else ""
    return Picture("What failed", failures(short) + shown, canvas.svg())


def _down(times: list[tuple[float, float]]) -> float:
    return sum(until - failed for failed, until in times)
