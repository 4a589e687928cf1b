"""`study.html`: one self-contained page about a study."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hopcast.experiment.pieces import DONE
from hopcast.report import html, units
from hopcast.report.pictures.picture import Picture
from hopcast.study import pictures
from hopcast.study.effects import analysis, effects, interactions
from hopcast.study.file import Study

FILE = "study.html"
ROWS_MOST = 5000
"""Most cells that the page lists; the table has all."""
RANKED_MOST = 50
"""Most configurations that the ranking lists."""
CELLS_MOST = 20
"""Most cells that a configuration of the ranking names."""
INTERACTIONS_MOST = 6
"""Most pictures of interactions for each response, the largest."""
_HIDDEN = ("cell", "state", "why", "key", "outcome_hash", "sent_B", "messages")


@dataclass(frozen=True)
class Ranked:
    """Configurations in an order."""

    response: str
    factors: list[str]
    lines: list[dict[str, Any]]
    """Place, levels, mean, interval, and cells with their links, of each configuration."""
    tied: int
    """Configurations whose interval overlaps that of the best, which is one of them."""
    left_out: int


@dataclass(frozen=True)
class Page:
    """Contents of the page."""

    title: str
    fastest: str
    sentence: str
    pictures: list[list[Picture]]
    """By response."""
    interactions: list[list[Picture]]
    """By response."""
    analyses: list[tuple[str, list[tuple[str, str, str, str]], tuple[str, ...]]]
    """Analysis of variance by response: its lines, and notes about it."""
    ranking: Ranked
    columns: list[str]
    cells: list[dict[str, Any]]
    """Texts of the cells by column, with `sort` for the order and `report` for a link."""
    left_out: int
    failures: list[str]
    text: str
    """The study file."""


def write(
    study: Study, rows: Sequence[dict[str, Any]], folder: Path, links: Mapping[int, str] | None = None
) -> Path:
    """Writes the page into `folder`.

    links: addresses of the reports of cells by number; those in `folder` if none are given.
    """
    links = _reports(rows, folder) if links is None else links
    file = folder / FILE
    file.write_text(html.study_page(_page(study, rows, links)), encoding="utf-8")
    return file


def _reports(rows: Sequence[dict[str, Any]], folder: Path) -> dict[int, str]:
    """Reports that were kept beside the page."""
    places = {row["cell"]: Path("reports") / f"{row['cell']:06}" / "report.html" for row in rows}
    return {number: place.as_posix() for number, place in places.items() if (folder / place).is_file()}


def _page(study: Study, rows: Sequence[dict[str, Any]], links: Mapping[int, str]) -> Page:
    names = factor_names(study)
    done = [row for row in rows if row["state"] == DONE]
    best = min(done, key=lambda row: row["makespan_s"], default=None)
    responses = ["makespan_s", *study.responses]
    drawn = [
        [pictures.of_effect(effect, response) for effect in effects(rows, names, response)]
        for response in responses
    ]
    together = [
        [
            pictures.of_interaction(one, response)
            for one in interactions(rows, [name for name in names if name not in study.repetitions], response)
        ][:INTERACTIONS_MOST]
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
        interactions=together,
        analyses=[(response, *_analysis(study, rows, names, response)) for response in responses],
        ranking=_ranked(study, done, names, links),
        columns=columns,
        cells=[_cell(row, columns, links) for row in rows[:ROWS_MOST]],
        left_out=max(0, len(rows) - ROWS_MOST),
        failures=[f"cell {row['cell']}: {row['why']}" for row in rows if row["state"] != DONE][:100],
        text=study.text,
    )


def _ranked(
    study: Study, done: Sequence[dict[str, Any]], names: Sequence[str], links: Mapping[int, str]
) -> Ranked:
    """Configurations by their mean over repetitions; each is a set of levels of all other factors."""
    from hopcast.statistics.rankings import ranked

    response = study.ranking.by
    varied = [
        name for name in names if name not in study.repetitions and len({str(row[name]) for row in done}) > 1
    ]
    cells: dict[Hashable, list[dict[str, Any]]] = {}
    for row in done:
        if isinstance(row[response], (int, float)):
            cells.setdefault(tuple(str(row[name]) for name in varied), []).append(row)
    if len(cells) < 2:
        return Ranked(response, varied, [], 0, 0)
    values = {levels: [row[response] for row in rows] for levels, rows in cells.items()}
    places = ranked(values, smaller_is_better=study.ranking.smallest_is_best, confidence=0.9)
    lines = []
    for place in places[:RANKED_MOST]:
        low, high = (pictures.value_text(end, response) for end in (place.mean.low, place.mean.high))
        lines.append(
            {
                "rank": place.rank,
                "levels": place.name,
                "mean": pictures.value_text(place.mean.value, response),
                "interval": "—" if math.isnan(place.mean.low) else f"{low} to {high}",
                "tied": place.tied,
                "cells": [(row["cell"], links.get(row["cell"])) for row in cells[place.name]][:CELLS_MOST],
            }
        )
    tied = sum(place.tied for place in places)
    return Ranked(response, varied, lines, tied, max(0, len(places) - RANKED_MOST))


def _analysis(
    study: Study, rows: Sequence[dict[str, Any]], names: Sequence[str], response: str
) -> tuple[list[tuple[str, str, str, str]], tuple[str, ...]]:
    found = analysis(rows, names, response, study.repetitions)
    lines = [
        (term.name, units.percent(term.share), f"{term.freedom:g}", _probability(term.p_value))
        for term in found.terms
    ]
    return lines, found.notes


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


def _cell(row: dict[str, Any], columns: Sequence[str], links: Mapping[int, str]) -> dict[str, Any]:
    return {
        "number": row["cell"],
        "report": links.get(row["cell"]),
        "texts": [(_text(row[name], name), row[name]) for name in columns],
        "state": row["state"],
    }


def _text(value: Any, name: str) -> str:
    if value is None:
        return "—"
    if isinstance(value, float):
        return pictures.value_text(value, name)
    return str(value)
