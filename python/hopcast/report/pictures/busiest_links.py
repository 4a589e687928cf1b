"""Busiest links: who carried most for the longest time."""

from __future__ import annotations

from hopcast.report import units
from hopcast.report.pictures.picture import Picture
from hopcast.report.store import Result
from hopcast.report.svg import Axis, Canvas

PLACE = 50
"""Place on the page among all pictures: the least is the first."""

_ROWS = 12


def draw(result: Result) -> Picture | None:
    """One bar per link: what it carried of what it could have carried in the run."""
    links = (result.summary.get("busiest_links") or [])[:_ROWS]
    if not links:
        return None
    canvas = Canvas(1080, 26 + 28 * len(links), "Busiest links")
    crossed = units.transfers(result.summary["model"])
    for x, text in ((420, "how much of what it could carry it carried"), (960, crossed), (1072, "bytes")):
        canvas.text(x, 14, text, anchor="start" if x == 420 else "end", class_="tick")
    across = Axis(0, 1, 420, 780)
    for row, link in enumerate(links):
        _row(canvas, across, 28 + 28 * row, link)
    return Picture("Busiest links", _finding(links), canvas.svg())


def _row(canvas: Canvas, across: Axis, y: float, link: dict) -> None:
    canvas.line(0, y - 4, 1080, y - 4)
    canvas.text(0, y + 15, units.busy_link(link), class_="name")
    canvas.text(400, y + 15, str(link["class"]), anchor="end", class_="tick")
    canvas.bar(across(0), y + 4, across(1) - across(0), 14, "track", rx=2)
    share = link["utilisation"]
    title = f"link {link['link']}: busy for {units.seconds(link['busy_s'])}"
    canvas.bar(across(0), y + 4, across(share) - across(0), 14, "accent", title, rx=2)
    canvas.text(across(1) + 8, y + 15, units.percent(share), class_="number")
    canvas.text(960, y + 15, units.count(link["transfers"]), anchor="end", class_="number")
    canvas.text(1072, y + 15, units.size(link["bytes"]), anchor="end", class_="number")


def _finding(links: list[dict]) -> str:
    first = links[0]
    share = first["utilisation"]
    link = f"{units.busy_link(first)} ({first['class']})"
    if share > 0.8:
        return f"{link} carries {units.percent(share)} of what it can: it may well be what limits this run."
    if share < 0.2:
        return f"Even the busiest link, {link}, carries only {units.percent(share)} of what it can."
    return f"The busiest link, {link}, carries {units.percent(share)} of what it can."
