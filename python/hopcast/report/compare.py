"""Two reports side by side: what differs in their settings, and by how much in their results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hopcast.report import units
from hopcast.report.html import stop
from hopcast.report.store import Result, write_text

_SETTINGS = ("workload", "platform", "model", "ranks", "hosts_used", "placement", "seed", "hopcast_version")
_CALLS = 10
_GENERATOR = '<meta name="generator" content="hopcast">'


@dataclass(frozen=True)
class Row:
    """One line of a comparison, written out."""

    name: str
    a: str
    b: str
    difference: str = ""
    ratio: str = ""


@dataclass(frozen=True)
class Group:
    """Lines that belong together."""

    title: str
    rows: list[Row]


@dataclass(frozen=True)
class Comparison:
    """Two reports, A and B."""

    places: tuple[str, str]
    """Where they were read from."""
    sides: tuple[dict, dict]
    """Their summaries."""
    verdict_ratio: str
    """How many times A's predicted time B's is."""
    verdict: str
    """That in a sentence."""
    groups: list[Group]


def compare(a: Result, b: Result, places: tuple[str, str]) -> Comparison:
    """Sets `b` beside `a`: differences are b - a, ratios b / a."""
    sides = (a.summary, b.summary)
    groups = [_results(*sides), _calls(*sides), _settings(*sides)]
    return Comparison(
        places,
        sides,
        units.ratio(b.summary["makespan_s"], a.summary["makespan_s"]),
        _verdict(*sides),
        [group for group in groups if group.rows],
    )


def write_page(comparison: Comparison, file: Path) -> Path:
    """Writes the comparison as one HTML page. Only a page of hopcast's own is written over."""
    from hopcast.report.html import comparison_page

    return write_text(file, comparison_page(comparison), flag="--out", mark=_GENERATOR)


def _verdict(a: dict, b: dict) -> str:
    before, after = a["makespan_s"], b["makespan_s"]
    if a["outcome_hash"] == b["outcome_hash"]:
        return "The outcomes are equal to the bit."
    if before == after:
        return "Both take the same time, by different ways."
    faster, slower = sorted((before, after))
    words = f"B is {'slower' if after > before else 'faster'} by {units.seconds(slower - faster)}"
    parts = {name: _mean(b, name) - _mean(a, name) for name in ("compute", "transfer", "waiting")}
    name = max(parts, key=lambda part: abs(parts[part]))
    if not parts[name]:
        return words + "."
    return f"{words}. What changes most is {name}: {_signed(parts[name], units.seconds)} per rank."


def _mean(summary: dict, name: str) -> float:
    """Time of one kind per rank [s]."""
    return (summary.get("time") or {}).get(f"{name}_s", 0.0) / max(1, summary["ranks"])


def _results(a: dict, b: dict) -> Group:
    rows = [_row("predicted time", a["makespan_s"], b["makespan_s"], units.seconds)]
    for name in ("compute", "transfer", "waiting"):
        rows.append(_row(f"{name} per rank", _mean(a, name), _mean(b, name), units.seconds))
    busiest = [
        max((link["utilisation"] for link in side.get("busiest_links") or ()), default=0.0) for side in (a, b)
    ]
    rows.append(_row("busiest link, share of its capacity", *busiest, units.percent))
    rows.append(_row("messages", a["messages"], b["messages"], units.count))
    rows.append(_row("bytes", a["bytes"], b["bytes"], units.size))
    rows.append(_row("events", a["events"], b["events"], units.count))
    rows.append(_row("time to simulate", a["wall_s"], b["wall_s"], units.seconds))
    return Group("Results", rows)


def _calls(a: dict, b: dict) -> Group:
    totals = [{call["call"]: call["total_s"] for call in side.get("calls") or ()} for side in (a, b)]
    names = sorted(
        totals[0] | totals[1], key=lambda name: (-max(side.get(name, 0.0) for side in totals), name)
    )
    rows = [
        _row(name, totals[0].get(name, 0.0), totals[1].get(name, 0.0), units.seconds)
        for name in names[:_CALLS]
    ]
    return Group("Time in MPI calls, all ranks", rows)


def _settings(a: dict, b: dict) -> Group:
    pairs = [(name, str(a.get(name, "—")), str(b.get(name, "—"))) for name in _SETTINGS]
    if any(side.get("stopped") for side in (a, b)):
        pairs.insert(0, ("partial", *(stop(side) or "no" for side in (a, b))))
    return Group("Settings", [Row(name, x, y, "" if x == y else "differs") for name, x, y in pairs])


def _row(name: str, a: float, b: float, write: Callable[[float], str]) -> Row:
    return Row(name, write(a), write(b), _signed(b - a, write), units.ratio(b, a))


def _signed(value: float, write: Callable[[float], str]) -> str:
    if value == 0:
        return "0"
    return ("+" if value > 0 else "−") + write(abs(value))


def bars(comparison: Comparison) -> str:
    """Two stacked bars, time per rank, to one scale."""
    from hopcast.report.svg import Axis, Canvas, horizontal_axis, time_labels

    canvas = Canvas(1080, 120, "Time per rank of A and B")
    longest = max(side["makespan_s"] for side in comparison.sides)
    across = Axis(0, longest or 1.0, 30, 1060)
    horizontal_axis(canvas, across, 94, 4, time_labels, about=8)
    for letter, side, y in zip("AB", comparison.sides, (10, 54), strict=True):
        canvas.text(0, y + 21, letter, class_="name")
        left = 0.0
        for name in ("compute", "transfer", "waiting"):
            value = _mean(side, name)
            title = f"{letter}: {name} {units.seconds(value)} per rank"
            canvas.bar(across(left), y, across(left + value) - across(left), 32, name, title, rx=2)
            left += value
    return canvas.svg()
