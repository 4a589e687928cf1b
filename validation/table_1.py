"""The five networks of the flow paper, and a recording replayed on each.

Source: Pakin, Yuan, Lang, "Predicting the performance of extreme-scale supercomputer networks" (The Next
Wave 20(2), 2013), Table 1; Figs. 7 and 8 show a run on each. Links split evenly (`equal-share`), as there.
"""

from __future__ import annotations

from pathlib import Path

import null_model
import pictures
from results import Kind, Range, Result

import hopcast

NETWORKS = {
    "fat tree": ("mustang", "linear"),
    "fat tree, slow": ("mustang-slow", "linear"),
    "3-D torus": ("mustang-torus", "linear"),
    "3-D torus, slow": ("mustang-torus-slow", "linear"),
    "3-D torus, shuffled": ("mustang-torus", "random"),
}
"""Platform and placement."""
MESSAGES = 65_536
"""Messages of a run, an equal share of all, of which the mean is taken."""


def replays(trace: Path, mode: str, ppn: int, **options) -> dict[str, hopcast.Report]:
    """The report by network."""
    how = {"ppn": ppn, "model": null_model.model("flow"), "mode": mode, **options}
    how["set"] = {"network.flow.sharing": "equal-share"}
    return {
        name: hopcast.run(platform, trace, placement=placement, **how)
        for name, (platform, placement) in NETWORKS.items()
    }


def makespans(trace: Path, mode: str, ppn: int, compute_scale: float | None = None) -> dict[str, float]:
    """The makespan by network [s]."""
    reports = replays(trace, mode, ppn, compute_scale=compute_scale)
    return {name: report.makespan_s for name, report in reports.items()}


def at_once(trace: Path, ppn: int) -> tuple[dict[str, float], dict[str, float]]:
    """All messages at time zero: when the last has come, and when one has in the mean, by network [s]."""
    reports = replays(trace, "none", ppn, messages=MESSAGES)
    mean_s = {
        name: float(report.tables["messages"]["received_s"].to_numpy().mean())
        for name, report in reports.items()
    }
    return {name: report.makespan_s for name, report in reports.items()}, mean_s


def means(last_s: dict[str, float], mean_s: dict[str, float], title: str) -> list[Result]:
    """The mean time of a message over that of the last one."""
    why = "Fig. 8, 'the average time for a message to complete': its values are lost with the figure"
    return [
        Result(
            f"{name}, {title}: mean over last message",
            Range(None, 1.0),
            null_model.ratio(mean_s[name], last_s[name]),
            "",
            None,
            why,
            Kind.PUBLISHED,
        )
        for name in last_s
    ]


def rows(times: dict[str, dict[str, float]]) -> tuple[list[str], list[list[str]]]:
    """The head and the lines of a table: each time, and what it is over that of the fat tree."""
    head = ["network"]
    for title in times:
        head += [f"{title} [s]", "over fat tree"]
    lines = []
    for name in NETWORKS:
        cells = [(row[name], row[name] / row["fat tree"]) for row in times.values()]
        lines.append([name, *(text for time_s, ratio in cells for text in (f"{time_s:.6g}", f"{ratio:.4g}"))])
    return head, lines


def plot(times: dict[str, dict[str, float]], mean_s: dict[str, float], out: Path, name: str) -> None:
    """Bars, as Figs. 7 and 8 have them; in the last panel the mean of messages in a lighter colour."""
    figure, panels = pictures.pyplot().subplots(1, len(times), figsize=(16, 4.5))
    for axes, (title, row) in zip(panels, times.items(), strict=True):
        axes.bar(list(row), list(row.values()))
        axes.set(ylabel="time [s]", title=title)
        axes.tick_params(axis="x", rotation=25)
    panels[-1].bar(list(mean_s), list(mean_s.values()), color="thistle", label="mean of a message")
    panels[-1].legend()
    pictures.save(figure, out, name)
