"""Time of messages in the network, over time: half of the messages, nine of ten, and 99 of 100, in bands."""

from __future__ import annotations

from itertools import pairwise

from hopcast.report import units
from hopcast.report.pictures.picture import Picture, column
from hopcast.report.store import Result
from hopcast.report.svg import Axis, Canvas, horizontal_axis, steps, time_labels, vertical_axis

PLACE = 120
"""Place on the page among all pictures: the least is the first."""

_BANDS = (("p50_s", "p90_s", 0.42), ("p90_s", "p99_s", 0.18))


def draw(result: Result) -> Picture | None:
    """From injection to delivery, by the period of the delivery, on a logarithmic scale."""
    table = result.tables.get("latency_periods")
    if table is None or not table.num_rows:
        return None
    names = ("begin_s", "end_s", "p50_s", "p90_s", "p99_s", "max_s")
    values = {name: column(table, name).tolist() for name in names}
    low = min(value for value in values["p50_s"] if value > 0) if any(values["p50_s"]) else 1e-12
    high = max(max(values["max_s"]), low * 1.2)

    canvas = Canvas(1080, 320, "Time of messages in the network")
    across, up = (
        Axis(0, max(values["end_s"]), 90, 1072),
        Axis(low * 0.9, high * 1.05, 290, 10, logarithmic=True),
    )
    vertical_axis(canvas, up, 90, 1072, lambda ticks: [units.seconds(tick, 1) for tick in ticks])
    horizontal_axis(canvas, across, 294, 290, time_labels, about=8)
    for lower, upper, opacity in _BANDS:
        path = "".join(_band(across, up, run, lower, upper) for run in _runs(values))
        canvas.add("path", d=path, fill="var(--accent)", fill_opacity=opacity)
    for name, colour, width in (("p50_s", "accent", 1.8), ("max_s", "waiting", 1.0)):
        spans = list(zip(values["begin_s"], values["end_s"], values[name], strict=True))
        path = steps(across, up, spans)
        canvas.add("path", d=path, fill="none", stroke=f"var(--{colour})", stroke_width=width)
    legend = (("accent", "half of the messages; bands to 90 and 99 of 100"), ("waiting", "the slowest"))
    return Picture("Time of messages in the network", _finding(result, values), canvas.svg(), legend)


def _runs(values: dict[str, list[float]]) -> list[list[dict[str, float]]]:
    """The periods, in runs without a gap."""
    rows = [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]
    runs = [[rows[0]]]
    for before, row in pairwise(rows):
        if row["begin_s"] == before["end_s"]:
            runs[-1].append(row)
        else:
            runs.append([row])
    return runs


def _band(across: Axis, up: Axis, run: list[dict[str, float]], lower: str, upper: str) -> str:
    above = steps(across, up, [(row["begin_s"], row["end_s"], row[upper]) for row in run])
    back = "".join(
        f"L{across(row['end_s']):.1f} {up(row[lower]):.1f}H{across(row['begin_s']):.1f}"
        for row in reversed(run)
    )
    return f"{above}{back}Z"


def _finding(result: Result, values: dict[str, list[float]]) -> str:
    worst = max(range(len(values["p50_s"])), key=lambda place: values["p50_s"][place])
    when, median = units.seconds(values["begin_s"][worst], 3), units.seconds(values["p50_s"][worst], 3)
    short = result.summary.get("statistics") or {}
    over = ""
    if short:
        middle, late = (units.seconds(short[f"latency_{name}_s"], 3) for name in ("p50", "p99"))
        over = f"Half of all messages take at most {middle} in the network, 99 of 100 at most {late}. "
    over += "Handshakes of MPI count as messages; what they wait for before and after does not. "
    return f"{over}The slowest period begins at {when}: half of its messages take over {median}."
