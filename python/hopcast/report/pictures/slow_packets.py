"""Packets that stayed in a router's buffer for longer than the threshold: at which routers."""

from __future__ import annotations

from hopcast.report import units
from hopcast.report.pictures.picture import Picture
from hopcast.report.store import Result
from hopcast.report.svg import Axis, Canvas

PLACE = 130
"""Place on the page among all pictures: the least is the first."""

_ROWS = 10


def draw(result: Result) -> Picture | None:
    """One bar for each router and class of link that the listed packets waited for."""
    table = result.tables.get("slow_packets")
    short = result.summary.get("statistics")
    if table is None or not table.num_rows or not short:
        return None
    packets: dict[tuple[str, str], list[float]] = {}
    rows = (table[name].to_pylist() for name in ("router", "next_class", "residence_s"))
    for router, next_class, residence in zip(*rows, strict=True):
        packets.setdefault((router, next_class), []).append(residence)
    shown = sorted(packets.items(), key=lambda item: (-len(item[1]), item[0]))[:_ROWS]
    canvas = Canvas(1080, 30 + 26 * len(shown), "Where packets stayed too long")
    across = Axis(0, max(len(stays) for _, stays in shown), 330, 900)
    canvas.text(0, 14, "router, and what they waited for", class_="tick")
    canvas.text(330, 14, "listed packets", class_="tick")
    canvas.text(1072, 14, "longest stay", anchor="end", class_="tick")
    for row, ((router, next_class), stays) in enumerate(shown):
        y = 26 + 26 * row
        canvas.line(0, y - 4, 1080, y - 4)
        canvas.text(0, y + 14, f"{router}, for {next_class}", class_="name")
        canvas.bar(330, y + 2, across(len(stays)) - 330, 15, "waiting", rx=2)
        canvas.text(across(len(stays)) + 8, y + 14, f"{len(stays):,}", class_="tick")
        canvas.text(1072, y + 14, units.seconds(max(stays), 3), anchor="end", class_="number")
    return Picture("Packets that stayed long", _finding(short, table.num_rows), canvas.svg())


def _finding(short: dict, listed: int) -> str:
    count, threshold = short["slow_packets"], units.seconds(short["residence_s"], 3)
    which = "all of them" if listed == count else f"the slowest {listed:,}"
    return f"{units.things(count, 'time')} a packet stayed in a buffer for over {threshold}; shown: {which}."
