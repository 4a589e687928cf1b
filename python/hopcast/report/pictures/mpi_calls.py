"""MPI calls: the time that ranks spent in each function, and how much of it was waiting."""

from __future__ import annotations

from hopcast.report import units
from hopcast.report.pictures.picture import Picture
from hopcast.report.store import Result
from hopcast.report.svg import Axis, Canvas

PLACE = 30
"""Place on the page among all pictures: the least is the first."""

_ROWS = 12


def draw(result: Result) -> Picture | None:
    """One bar per function, longest first, with its numbers beside it."""
    calls = sorted(result.summary.get("calls") or (), key=lambda call: -call["total_s"])
    if not calls:
        return None
    shown = calls[:_ROWS]
    height = 30 + 30 * len(shown)
    canvas = Canvas(1080, height, "Time in each MPI function")
    for x, name in (
        (210, "time per rank"),
        (640, "calls"),
        (750, "mean"),
        (860, "longest"),
        (970, "waiting"),
        (1072, "bytes"),
    ):
        canvas.text(x, 14, name, anchor="start" if x == 210 else "end", class_="tick")
    ranks = result.summary["ranks"]
    across = Axis(0, shown[0]["total_s"] / ranks or 1.0, 210, 470)
    for row, call in enumerate(shown):
        _row(canvas, across, 30 + 30 * row, call, ranks)
    return Picture(
        "MPI calls",
        _finding(calls),
        canvas.svg(),
        (("transfer", "transferring"), ("waiting", "waiting for a partner")),
    )


def _row(canvas: Canvas, across: Axis, y: float, call: dict, ranks: int) -> None:
    total, waiting = call["total_s"] / ranks, min(call["waiting_s"], call["total_s"]) / ranks
    canvas.line(0, y - 4, 1080, y - 4)
    canvas.text(0, y + 16, call["call"], class_="name")
    middle = across(total - waiting)
    canvas.bar(across(0), y + 4, middle - across(0), 16, "transfer", rx=2)
    canvas.bar(middle, y + 4, across(total) - middle, 16, "waiting", rx=2)
    canvas.text(across(total) + 8, y + 16, units.seconds(total, 3), class_="tick")
    share = units.percent(waiting / total) if total else "—"
    mean = units.seconds(call["mean_s"], 3)
    for x, text in (
        (640, units.count(call["count"])),
        (750, mean),
        (860, units.seconds(call["max_s"], 3)),
        (970, share),
        (1072, units.size(call["bytes"])),
    ):
        canvas.text(x, y + 16, text, anchor="end", class_="number")


def _finding(calls: list[dict]) -> str:
    total = sum(call["total_s"] for call in calls)
    if not total:
        return "No call took any time."
    first = calls[0]
    share = units.percent(first["total_s"] / total)
    waiting = units.percent(min(1.0, first["waiting_s"] / first["total_s"]))
    more = (
        f" The {len(calls) - _ROWS} functions with the least time are in calls.parquet."
        if len(calls) > _ROWS
        else ""
    )
    return f"{first['call']} takes {share} of the time in MPI; {waiting} of that is waiting.{more}"
