"""Static pages: one with a table of clusters and factors, and one for each cluster and factor."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path

from hopcast.regress import logs, pictures
from hopcast.regress.examine import Examined, Finding, alarms, judged
from hopcast.regress.walk import Settings
from hopcast.report import sheet, units
from hopcast.statistics.discoveries import expected_false

ALARMS_SHOWN = 200
EVOLUTION = {
    False: "Red: alarms. Crosses: outliers.",
    True: "The first of the factors; together they have a region, and no interval.",
}
"""Sentences about one factor, and about several."""
MADE_BY = "hopcast regress report"


def write(folder: Path, examined: Sequence[Examined], settings: Settings) -> Path:
    """Writes all pages, each with everything that it shows inside it; the first one is `index.html`."""
    for one in examined:
        sheet.write(_page(one, settings), folder / page_name(one))
    return sheet.write(_landing(examined, settings), folder / "index.html")


def page_name(one: Examined) -> str:
    """File of the page of a cluster and its factors."""
    return re.sub(r"[^\w.+-]+", "-", f"{one.cluster}-{'+'.join(one.factors)}") + ".html"


def _landing(examined: Sequence[Examined], settings: Settings) -> sheet.Sheet:
    names = list(dict.fromkeys(one.name for one in examined))
    clusters = list(dict.fromkeys(one.cluster for one in examined))
    pages = {(one.cluster, one.name): one for one in examined}
    newest = {key: judged([one], None) for key, one in pages.items()}
    rows = [(cluster, *(_cell(pages, newest, (cluster, name)) for name in names)) for cluster in clusters]
    findings = [finding for some in newest.values() for finding in some]
    found = alarms(findings)
    expected = expected_false(len(findings), settings.confidence)
    sentence = (
        f"Of {units.things(len(findings), 'test')} of the newest observations, alone and in windows. Where "
        f"nothing has changed, {expected:.2g} false alarms are to be expected at a confidence of "
        f"{settings.confidence:.6g}."
    )
    parts = [
        sheet.Table(
            "Clusters and factors",
            "Alarms of the newest observations, of how many units.",
            ("", *names),
            rows,
        ),
        _table("Alarms of the newest observations", found),
    ]
    title = "Performance of " + (", ".join(clusters) or "nothing yet")
    return sheet.Sheet(title, MADE_BY, parts, "Alarms now", str(len(found)), sentence)


def _cell(pages, newest, key: tuple[str, str]) -> sheet.Cell:
    if key not in pages:
        return "–"
    found = {finding.walk.series.unit for finding in alarms(newest[key])}
    return sheet.Link(f"{len(found)} of {len(pages[key].walks)}", page_name(pages[key]))


def _page(one: Examined, settings: Settings) -> sheet.Sheet:
    every = judged([one], float("-inf"))
    found = alarms(judged([one], None))
    everything = alarms(every)
    parts: list = [_settings(one, settings)]
    parts.append(pictures.histogram(one))
    parts.append(pictures.overview(one))
    parts += [pictures.likelihoods(one, r) for r in settings.windows]
    parts.append(_table("Alarms of all times", everything))
    for r in settings.windows:
        words = "each observation" if r == 1 else f"the mean of the last {r}"
        parts.append(
            sheet.Table(
                f"Evolution, and the interval of {words}",
                EVOLUTION[len(one.factors) > 1],
            )
        )
        parts += [pictures.evolution(walked, r) for walked in one.walks]
    newest = max(float(walked.series.times[-1]) for walked in one.walks)
    sentence = (
        f"{units.things(len(one.walks), 'unit')}, newest observation of {logs.date_of(newest)}. In all their "
        f"time {units.things(len(everything), 'alarm')} in {units.things(len(every), 'test')}; "
        f"{expected_false(len(every), settings.confidence):.2g} would be false ones."
    )
    return sheet.Sheet(
        f"{one.name} of {one.cluster}", MADE_BY, parts, "Alarms now", str(len(found)), sentence
    )


def _settings(one: Examined, settings: Settings) -> sheet.Table:
    changes = sorted({change for walked in one.walks for change in walked.changes}, key=lambda one: one.time)
    rows: list[tuple[str, str]] = [
        ("Factors, tested together" if len(one.factors) > 1 else "Factor", one.name),
        ("Confidence", f"{settings.confidence:.6g}"),
        ("Observations judged together", ", ".join(map(str, settings.windows))),
        ("Least observations of a reference", str(settings.least)),
        ("Observations after a change judged by the older reference", str(settings.keep)),
        ("Outliers set aside", str(sum(int(walked.outlier.sum()) for walked in one.walks))),
    ]
    rows += [
        (
            f"{logs.date_of(change.time)}: change of the "
            f"{'protocol' if change.is_of_protocol else 'platform'}",
            change.description,
        )
        for change in changes
    ]
    return sheet.Table("Settings and changes", "", ("Setting", "value"), rows)


def _table(title: str, found: Sequence[Finding]) -> sheet.Table:
    shown = found[:ALARMS_SHOWN]
    rows = [row(finding) for finding in shown]
    said = "None." if not found else "The least likely first."
    if len(found) > len(shown):
        said += f" {len(shown)} of {len(found)}."
    return sheet.Table(title, said, ("Unit", "factor", "day", "r", "change", "likelihood", "reference"), rows)


def row(finding: Finding) -> tuple[str, ...]:
    """Cells of an alarm: unit, factor, day, r, change, likelihood, size of the reference."""
    one = finding.judgement
    return (
        finding.walk.series.unit,
        finding.name,
        logs.date_of(finding.time),
        str(one.r),
        # Of a mean of zero there are no percents.
        f"{100 * one.relative:+.1f} %" if math.isfinite(one.relative) else "away from 0",
        f"{one.likelihood:.2g}",
        str(one.count),
    )
