"""The five networks of the flow paper, and a recording replayed on each.

Source: Pakin, Yuan, Lang, "Predicting the performance of extreme-scale supercomputer networks" (The Next
Wave 20(2), 2013), Table 1; Figs. 7 and 8 show a run on each. Links split evenly (`equal-share`), as there.
"""

from __future__ import annotations

from pathlib import Path

import null_model
import pictures

import hopcast

NETWORKS = {
    "fat tree": ("mustang", "linear"),
    "fat tree, slow": ("mustang-slow", "linear"),
    "3-D torus": ("mustang-torus", "linear"),
    "3-D torus, slow": ("mustang-torus-slow", "linear"),
    "3-D torus, shuffled": ("mustang-torus", "random"),
}
"""Platform and placement."""


def makespans(trace: Path, mode: str, ppn: int, compute_scale: float | None = None) -> dict[str, float]:
    """The makespan by network [s]."""
    how = {"ppn": ppn, "model": null_model.model("flow"), "mode": mode, "compute_scale": compute_scale}
    how["set"] = {"network.flow.sharing": "equal-share"}
    return {
        name: hopcast.run(platform, trace, placement=placement, **how).makespan_s
        for name, (platform, placement) in NETWORKS.items()
    }


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


def plot(times: dict[str, dict[str, float]], out: Path, name: str) -> None:
    """Bars, as Figs. 7 and 8 have them."""
    figure, panels = pictures.pyplot().subplots(1, len(times), figsize=(16, 4.5))
    for axes, (title, row) in zip(panels, times.items(), strict=True):
        axes.bar(list(row), list(row.values()))
        axes.set(ylabel="time [s]", title=title)
        axes.tick_params(axis="x", rotation=25)
    pictures.save(figure, out, name)
