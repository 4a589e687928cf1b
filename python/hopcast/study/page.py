"""`study.html`: one self-contained page about a study."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hopcast.experiment.pieces import DONE
from hopcast.report import html, units
from hopcast.report.pictures.picture import Picture
from hopcast.study import pictures
from hopcast.study.effects import analysis, effects
from hopcast.study.file import Study

FILE = "study.html"
ROWS_MOST = 5000
"""Most cells that the page lists; the table has all."""
_HIDDEN = ("cell", "state", "why", "key", "outcome_hash", "sent_B", "messages")


@dataclass(frozen=True)
class Page:
    """Contents of the page."""

    title: str
    fastest: str
    sentence: str
    pictures: list[list[Picture]]
    """By response."""
    analyses: list[tuple[str, list[tuple[str, str, str, str]], str | None]]
    """Analysis of variance by response: its lines, or why there is none."""
    columns: list[str]
    cells: list[dict[str, Any]]
    """Texts of the cells by column, with `sort` for the order and `report` for a link."""
    left_out: int
    failures: list[str]
    text: str
    """The study file."""


def write(study: Study, rows: Sequence[dict[str, Any]], folder: Path) -> Path:
    """Writes the page into `folder`."""
    file = folder / FILE
    file.write_text(html.study_page(_page(study, rows, folder)), encoding="utf-8")
    return file


def _page(study: Study, rows: Sequence[dict[str, Any]], folder: Path) -> Page:
    names = factor_names(study)
    done = [row for row in rows if row["state"] == DONE]
    best = min(done, key=lambda row: row["makespan_s"], default=None)
    responses = ["makespan_s", *study.responses]
    drawn = [
        [pictures.of_effect(effect, response) for effect in effects(rows, names, response)]
        for response in responses
    ]
    columns = [
        name
        for name in (rows[0] if rows else {})
        if name not in _HIDDEN and any(row[name] is not None for row in rows)
    ]
    return Page(
        title=f"Study {study.name}",
        fastest=units.seconds(best["makespan_s"]) if best else "none",
        sentence=_sentence(rows, best, names),
        pictures=drawn,
        analyses=[(response, *_analysis(rows, names, response)) for response in responses],
        columns=columns,
        cells=[_cell(row, columns, folder) for row in rows[:ROWS_MOST]],
        left_out=max(0, len(rows) - ROWS_MOST),
        failures=[f"cell {row['cell']}: {row['why']}" for row in rows if row["state"] != DONE][:100],
        text=study.text,
    )


def _analysis(
    rows: Sequence[dict[str, Any]], names: Sequence[str], response: str
) -> tuple[list[tuple[str, str, str, str]], str | None]:
    terms, why = analysis(rows, names, response)
    lines = [
        (term.name, units.percent(term.share), f"{term.freedom:g}", _probability(term.p_value))
        for term in terms
    ]
    return lines, why


def _probability(value: float) -> str:
    return "—" if math.isnan(value) else "< 0.0001" if value < 1e-4 else f"{value:.4f}"


def factor_names(study: Study) -> list[str]:
    """Columns of what varies: factors, without the parts of their tables."""
    return [factor.name for factor in study.factors if factor.name in factor.settings(factor.levels[0])]


def _sentence(rows: Sequence[dict[str, Any]], best: dict[str, Any] | None, names: Sequence[str]) -> str:
    text = units.things(len(rows), "cell")
    missing = sum(row["state"] != DONE for row in rows)
    if missing:
        text += f", {missing:,} of them without a result"
    if best is None:
        return f"{text}."
    return f"{text}. The fastest has {', '.join(f'{name} = {best[name]}' for name in names)}."


def _cell(row: dict[str, Any], columns: Sequence[str], folder: Path) -> dict[str, Any]:
    report = Path("reports") / f"{row['cell']:06}" / "report.html"
    return {
        "number": row["cell"],
        "report": report.as_posix() if (folder / report).is_file() else None,
        "texts": [(_text(row[name], name), row[name]) for name in columns],
        "state": row["state"],
    }


def _text(value: Any, name: str) -> str:
    if value is None:
        return "—"
    if isinstance(value, float):
        return pictures.value_text(value, name)
    return str(value)
