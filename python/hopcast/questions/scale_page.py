"""Page and table about a scaling."""

from __future__ import annotations

import csv
from pathlib import Path

from hopcast.errors import InputError
from hopcast.questions.scale import NAMES, Scaling
from hopcast.report import sheet, units
from hopcast.report.pictures.picture import Picture
from hopcast.report.svg import Axis, Canvas, horizontal_axis, vertical_axis

WIDTH, HEIGHT = 1080, 360
LEFT, RIGHT, TOP, BOTTOM = 80, 1060, 14, 320
COLOURS = {"compute": "compute", "end": "idle"}
"""Colours of parts whose name is not that of a colour."""


def write_page(scaling: Scaling, title: str, place: Path) -> Path:
    """Writes the page."""
    kind = "weak" if scaling.weak else "strong"
    best = scaling.best
    page = sheet.Sheet(
        title,
        "hopcast scale",
        [_speed_ups(scaling), _parts(scaling), sheet.Table(f"Runs, {kind} scaling", "", HEAD, rows(scaling))],
        "Largest speed-up",
        f"{best.speed_up:.3g}",
        f"On {best.point.ranks:,} ranks, beside {scaling.steps[0].point.ranks:,}. {scaling.words()}",
        list(dict.fromkeys(warning for step in scaling.steps for warning in step.point.warnings)),
    )
    return sheet.write(page, place)


HEAD = ("Ranks", "time", "speed-up", "efficiency", "largest loss")


def rows(scaling: Scaling) -> list[tuple[str, ...]]:
    """Cells of each run: ranks, time, speed-up, efficiency, largest loss."""
    return [
        (
            f"{step.point.ranks:,}",
            units.seconds(step.point.makespan_s),
            f"{step.speed_up:.3g}",
            units.percent(step.efficiency),
            f"{step.losses[0][0]}, {units.percent(step.losses[0][1])}" if step.losses else "–",
        )
        for step in scaling.steps
    ]


def write_table(scaling: Scaling, place: Path) -> None:
    """Writes CSV: a row for each run, with the time of all ranks by cause [s]."""
    head = ["ranks", "makespan_s", "speed_up", "efficiency", *(f"{name}_s" for name in NAMES)]
    try:
        with place.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(head)
            for step in scaling.steps:
                point = step.point
                costs = [point.cost_s[name] for name in NAMES]
                writer.writerow([point.ranks, point.makespan_s, step.speed_up, step.efficiency, *costs])
    except OSError as error:
        raise InputError(f"{place}: cannot be written: {error.strerror}") from None


def _speed_ups(scaling: Scaling) -> Picture:
    canvas = Canvas(WIDTH, HEIGHT, "Speed-up")
    first, last = scaling.steps[0].point.ranks, scaling.steps[-1].point.ranks
    most = max(last / first, max(step.speed_up for step in scaling.steps))
    least = min(1.0, min(step.speed_up for step in scaling.steps))
    across = Axis(first, last if last > first else 2 * first, LEFT, RIGHT, logarithmic=True)
    up = Axis(least, most if most > least else 2 * least, BOTTOM, TOP, logarithmic=True)
    horizontal_axis(canvas, across, BOTTOM, TOP, lambda ticks: [f"{tick:,.0f}" for tick in ticks])
    vertical_axis(canvas, up, LEFT, RIGHT, lambda ticks: [f"{tick:g}" for tick in ticks])
    ideal = f"M{across(first):.1f} {up(1):.1f}L{across(last):.1f} {up(last / first):.1f}"
    canvas.add("path", d=ideal, fill="none", stroke="var(--soft)", stroke_dasharray="4 4")
    places = [(across(step.point.ranks), up(step.speed_up), step) for step in scaling.steps]
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y, _ in places)
    canvas.add("path", d=f"M{path}", fill="none", stroke="var(--accent)", stroke_width=2)
    for x, y, step in places:
        said = f"{step.point.ranks:,} ranks: {step.speed_up:.3g}, efficiency {100 * step.efficiency:.0f} %"
        canvas.add("circle", cx=x, cy=y, r=4, fill="var(--accent)", title=said)
    if scaling.breakdown is not None:
        x = across(scaling.breakdown.point.ranks)
        canvas.line(x, TOP, x, BOTTOM, "mark")
    legend = (
        ("accent", "speed-up"),
        ("soft", "ideal"),
        ("waiting", f"first efficiency below {100 * scaling.bound:.0f} %"),
    )
    return Picture("Speed-up over ranks", scaling.words(), canvas.svg(), legend)


def _parts(scaling: Scaling) -> Picture:
    """Time of the ranks by cause, as shares of each run."""
    canvas = Canvas(WIDTH, 26 * len(scaling.steps) + 20, "Time of the ranks by cause")
    used = [name for name in NAMES if any(step.point.cost_s[name] > 0 for step in scaling.steps)]
    for number, step in enumerate(scaling.steps):
        y, x = 8 + 26 * number, float(LEFT)
        whole = sum(step.point.cost_s.values()) or 1.0
        canvas.text(LEFT - 8, y + 14, f"{step.point.ranks:,}", anchor="end", class_="tick")
        for name in used:
            share = step.point.cost_s[name] / whole
            width = share * (RIGHT - LEFT)
            canvas.bar(x, y, width, 18, COLOURS.get(name, name), title=f"{NAMES[name]}: {100 * share:.1f} %")
            x += width
    legend = tuple((COLOURS.get(name, name), NAMES[name]) for name in used)
    return Picture("Time of the ranks by cause", "Each row is a run, by its ranks.", canvas.svg(), legend)
