"""Reports side by side: differences in platform and options first, then in results."""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from hopcast.report import units
from hopcast.report.html import stop, title
from hopcast.report.settings import made_by, settings
from hopcast.report.store import Result, write_text

_CALLS = 10
_GENERATOR = '<meta name="generator" content="hopcast">'
_SPLIT = ("compute", "transfer", "waiting")
DIFFERS = "What differs in platform and options"


@dataclass(frozen=True)
class Row:
    """One line of a comparison, written out."""

    name: str
    cells: tuple[str, ...]
    """Values by report."""
    differences: tuple[str, ...] = ()
    """Differences of all other reports to the first."""
    ratios: tuple[str, ...] = ()
    """Ratios of all other reports to the first."""


@dataclass(frozen=True)
class Group:
    """Lines that belong together."""

    title: str
    rows: list[Row]


@dataclass(frozen=True)
class Comparison:
    """Two or more reports: A, B, and so on."""

    letters: tuple[str, ...]
    places: tuple[str, ...]
    """Paths that the reports were read from."""
    sides: tuple[dict, ...]
    """Their summaries."""
    verdict_ratio: str
    """Predicted times of the others over that of A."""
    verdict: str
    """The comparison in a sentence."""
    groups: list[Group]

    @property
    def title(self) -> str:
        """Workloads and platforms; equal ones once."""
        return " beside ".join(dict.fromkeys(map(title, self.sides)))

    def made(self, number: int) -> str:
        """Place, date and version of one report."""
        made = made_by(self.sides[number])
        rest = [made["date"], f"hopcast {made['hopcast_version']}"] if made else []
        return " · ".join((self.places[number], *rest))


def compare(results: Sequence[Result], places: Sequence[str]) -> Comparison:
    """Compares at least two `results`: differences and ratios are to the first."""
    sides = tuple(result.summary for result in results)
    letters = tuple(map(letter, range(len(sides))))
    first = sides[0]["makespan_s"]
    groups = [_settings(sides), _results(sides), _calls(sides)]
    return Comparison(
        letters,
        tuple(places),
        sides,
        ", ".join(units.ratio(side["makespan_s"], first) for side in sides[1:]),
        _of_whole_runs(letters, sides) + (_verdict(*sides) if len(sides) == 2 else _order(letters, sides)),
        [group for group in groups if group.rows],
    )


def letter(number: int) -> str:
    """The name of a report: A to Z, then numbers."""
    return string.ascii_uppercase[number] if number < 26 else str(number + 1)


def write_page(comparison: Comparison, file: Path) -> Path:
    """Writes the comparison as one HTML page. Only a page of hopcast's own is written over."""
    from hopcast.report.html import comparison_page

    return write_text(file, comparison_page(comparison), flag="--out", mark=_GENERATOR)


def _of_whole_runs(letters: tuple[str, ...], sides: tuple[dict, ...]) -> str:
    """Warning about reports whose runs did not come to their end."""
    partial = [
        name for name, side in zip(letters, sides, strict=True) if side.get("partial") or side.get("failure")
    ]
    if not partial:
        return ""
    return f"Ended early: {', '.join(partial)}; times and differences are of what had happened by then. "


def _order(letters: tuple[str, ...], sides: tuple[dict, ...]) -> str:
    """The reports from the fastest to the slowest."""
    if len({side["outcome_hash"] for side in sides}) == 1:
        return "The outcomes are equal to the bit."
    order = sorted(range(len(sides)), key=lambda number: (sides[number]["makespan_s"], number))
    times = [f"{letters[number]} {units.seconds(sides[number]['makespan_s'])}" for number in order]
    return f"From the fastest: {', '.join(times)}."


def _verdict(a: dict, b: dict) -> str:
    before, after = a["makespan_s"], b["makespan_s"]
    if a["outcome_hash"] == b["outcome_hash"]:
        return "The outcomes are equal to the bit."
    if before == after:
        return "Both take the same time, by different ways."
    faster, slower = sorted((before, after))
    words = f"B is {'slower' if after > before else 'faster'} by {units.seconds(slower - faster)}"
    parts = {name: mean(b, name) - mean(a, name) for name in _SPLIT}
    name = max(parts, key=lambda part: abs(parts[part]))
    if not parts[name]:
        return words + "."
    return f"{words}. What changes most is {name}: {_signed(parts[name], units.seconds)} per rank."


def mean(summary: dict, name: str) -> float:
    """Time of one kind per rank [s]."""
    return (summary.get("time") or {}).get(f"{name}_s", 0.0) / max(1, summary["ranks"])


def _latency(summary: dict, name: str) -> float:
    """Latency of a share of the messages [s]."""
    return summary["message_latency"][name]


def _results(sides: Sequence[dict]) -> Group:
    def each(name: str, of: Callable[[dict], float], write: Callable[[float], str]) -> Row:
        return _row(name, [of(side) for side in sides], write)

    rows = [each("predicted time", lambda side: side["makespan_s"], units.seconds)]
    for part in _SPLIT:
        rows.append(each(f"{part} per rank", partial(mean, name=part), units.seconds))
    if all("energy_J" in side for side in sides):
        rows.append(each("energy", lambda side: side["energy_J"], partial(units.rate, unit="J")))
    rows.append(each("busiest link, share of its capacity", _busiest, units.percent))
    if all(side.get("message_latency") for side in sides):
        for name, words in (("p50_s", "half"), ("p99_s", "99 of 100")):
            latency = f"message latency, {words} within"
            rows.append(each(latency, partial(_latency, name=name), units.seconds))
    rows.append(each("messages", lambda side: side["messages"], units.count))
    rows.append(each("bytes", lambda side: side["bytes"], units.size))
    rows.append(each("events", lambda side: side["events"], units.count))
    rows.append(each("time to simulate", lambda side: side["wall_s"], units.seconds))
    return Group("Results", rows)


def _busiest(side: dict) -> float:
    return max((link["utilisation"] for link in side.get("busiest_links") or ()), default=0.0)


def _calls(sides: Sequence[dict]) -> Group:
    totals = [{call["call"]: call["total_s"] for call in side.get("calls") or ()} for side in sides]
    names = sorted(
        set().union(*totals), key=lambda name: (-max(side.get(name, 0.0) for side in totals), name)
    )
    rows = [_row(name, [side.get(name, 0.0) for side in totals], units.seconds) for name in names[:_CALLS]]
    return Group("Time in MPI calls, all ranks", rows)


def _settings(sides: Sequence[dict]) -> Group:
    """The settings that differ."""
    each = [settings(side) for side in sides]
    if any(side.get("stopped") for side in sides):
        each = [{"partial": stop(side) or "no"} | values for side, values in zip(sides, each, strict=True)]
    rows = []
    for name in dict.fromkeys(name for values in each for name in values):
        cells = tuple(values.get(name, "—") for values in each)
        if len(set(cells)) > 1:
            rows.append(Row(name, cells))
    return Group(DIFFERS, rows)


def _row(name: str, values: Sequence[float], write: Callable[[float], str]) -> Row:
    first, *others = values
    return Row(
        name,
        tuple(map(write, values)),
        tuple(_signed(value - first, write) for value in others),
        tuple(units.ratio(value, first) for value in others),
    )


def _signed(value: float, write: Callable[[float], str]) -> str:
    if value == 0:
        return "0"
    return ("+" if value > 0 else "−") + write(abs(value))


def bars(comparison: Comparison) -> str:
    """One stacked bar for each report, time per rank, to one scale."""
    from hopcast.report.svg import Axis, Canvas, horizontal_axis, time_labels

    bottom = 6 + 44 * len(comparison.sides)
    names = " and ".join((", ".join(comparison.letters[:-1]), comparison.letters[-1]))
    canvas = Canvas(1080, bottom + 26, f"Time per rank of {names}")
    longest = max(side["makespan_s"] for side in comparison.sides)
    across = Axis(0, longest or 1.0, 30, 1060)
    horizontal_axis(canvas, across, bottom, 4, time_labels, about=8)
    for number, (name, side) in enumerate(zip(comparison.letters, comparison.sides, strict=True)):
        y = 10 + 44 * number
        canvas.text(0, y + 21, name, class_="name")
        left = 0.0
        for part in _SPLIT:
            value = mean(side, part)
            words = f"{name}: {part} {units.seconds(value)} per rank"
            canvas.bar(across(left), y, across(left + value) - across(left), 32, part, words, rx=2)
            left += value
    return canvas.svg()
