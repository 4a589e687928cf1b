"""`replicates.html`: the interval of a prediction, and what each source of uncertainty makes of it."""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict
from pathlib import Path

from hopcast import __version__
from hopcast.report import sheet, units
from hopcast.report.pictures.picture import Picture
from hopcast.report.svg import Axis, Canvas, horizontal_axis, time_labels
from hopcast.request import RunRequest
from hopcast.study.replicates import REST, Replicates

PAGE, DATA = "replicates.html", "replicates.json"
WIDTH, LEFT, RIGHT, ROW = 1080, 180, 1050, 46


def write(found: Replicates, request: RunRequest, folder: Path) -> Path:
    """Writes the page of a request's replicates into a folder, with the numbers and the request beside it."""
    command = shlex.join(request.command)
    page = sheet.Sheet(
        f"{len(found.makespans_s)} replicates on {request.platform}",
        f"hopcast {__version__}",
        [_strips(found), _table(found)],
        "Predicted time",
        units.seconds(found.median_s, 3),
        f"{found.lines()[0]}. Made by: {command}",
    )
    place = sheet.write(page, folder / PAGE)
    fields = json.loads(request.to_json())
    made = {"hopcast_version": __version__, "command": command, "request": fields, **asdict(found)}
    (folder / DATA).write_text(json.dumps(made, indent=2) + "\n", encoding="utf-8")
    return place


def _strips(found: Replicates) -> Picture:
    """Times of the replicates: a row of all sources together, and one of each alone."""
    rows = [("all together", found.low_s, found.high_s, found.makespans_s)]
    if len(found.sources) > 1:
        rows += [(part.name, part.low_s, part.high_s, part.makespans_s) for part in found.sources]
    times = [time for row in rows for time in row[3]]
    least, most = min(times), max(times)
    room = 0.05 * (most - least) or 0.05 * most
    height = ROW * len(rows) + 40
    canvas = Canvas(WIDTH, height, "Predicted times of the replicates")
    across = Axis(least - room, most + room, LEFT, RIGHT)
    horizontal_axis(canvas, across, height - 30, 8, time_labels)
    for number, (name, low, high, row) in enumerate(rows):
        y = 8 + ROW * number + ROW / 2
        canvas.text(LEFT - 10, y + 4, name, anchor="end", class_="tick")
        canvas.bar(across(low), y - 9, max(1.0, across(high) - across(low)), 18, "accent", fill_opacity=0.25)
        for time in row:
            said = f"{name}: {units.seconds(time)}"
            canvas.add("circle", cx=across(time), cy=y, r=3, fill="var(--accent)", title=said)
    words = (
        f"Each dot is a run; bars hold {found.confidence:.0%} of further ones. "
        "Below the first row one source varies alone."
    )
    return Picture("Predicted times", words.replace("%", " %"), canvas.svg(), ())


def _table(found: Replicates) -> sheet.Table:
    rows = [
        (part.name, units.percent(part.share), units.seconds(part.deviation_s, 3), part.words)
        for part in found.sources
    ]
    if found.rest > 0:
        rows.append((REST, units.percent(found.rest), "–", ""))
    rows.append(("all together", "100 %", units.seconds(found.deviation_s, 3), ""))
    head = ("Source", "share of the variance", "standard deviation", "what it varies")
    return sheet.Table("Sources of the variance", "Each source varied alone.", head, rows)
