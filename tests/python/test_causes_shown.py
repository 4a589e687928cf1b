"""Causes of the ranks' time on the screen and in a notebook."""

from __future__ import annotations

import itertools
import re
from html import unescape
from pathlib import Path

import made_up
import pytest
from rich.console import Console

from hopcast.outcome import Report
from hopcast.report import Result, causes, html, units
from hopcast.report.screen import screen

LIMIT = {
    "kind": "latency",
    "why": "Latency limits this run.",
    "change": "half the latency",
    "saves": 0.25,
    "source": "estimate",
    "keys": ["latency"],
}


def every_cause() -> Result:
    """A result in which each cause takes as long as the others."""
    result = made_up.result(4)
    result.summary["time"]["compute_s"] = 1.0
    result.summary["causes"] = {f"{name}_s": 1.0 for name, _ in causes.CAUSES}
    result.summary["limit"] = LIMIT
    return result


@pytest.mark.parametrize("width", [40, 60, 80, 100, 200])
def test_the_line_of_causes_breaks_between_causes_only(width) -> None:
    summary = every_cause().summary
    out = Console(width=width, highlight=False, color_system=None)
    with out.capture() as printed:
        out.print(screen(summary, width))
    text = printed.get()
    assert "\u00a0" not in text
    lines = [line.rstrip() for line in text.splitlines() if re.match(r"[█░▓▒] ", line)]
    entries = [entry for line in lines for entry in line.split("   ")]
    expected = [f"{units.percent(share)} {words}" for _, words, share in causes.split(summary)]
    assert [entry[2:] for entry in entries] == expected
    assert all(len(line) <= width for line in lines)
    # A line ends only where the next entry does not fit.
    pairs = itertools.pairwise(lines)
    assert all(len(line) + 3 + len(after.split("   ")[0]) > width for line, after in pairs)


def test_a_notebook_has_the_colours_and_the_sentence_of_the_page() -> None:
    result = every_cause()
    text = Report(result.summary, result.tables)._repr_html_()
    sheet = Path(html.__file__).with_name("pages").joinpath("style.css").read_text()
    colours = [re.search(rf"--{name}: (#\w+);", sheet)[1] for name in ("compute", *dict(causes.CAUSES))]
    assert len({*colours}) == len(colours) == 10
    # Each once in the bar, once in the key.
    assert [text.count(f"background:{colour}") for colour in colours] == [2] * len(colours)
    assert causes.sentence(LIMIT) in unescape(text)


def test_a_replay_at_recorded_times_says_how_long_ranks_were_idle() -> None:
    """Four ranks take 10 s each; 16 s are computing and causes, and the other 24 s are nobody's work."""
    summary = every_cause().summary
    summary["makespan_s"] = 10.0
    summary["time"]["compute_s"] = 7.0
    summary["made_by"] = {"options": {"mode": "timestamps"}}
    shares = {name: share for name, _, share in causes.split(summary)}
    assert shares["idle"] == pytest.approx(24 / 40) and shares["compute"] == pytest.approx(7 / 40)
    assert sum(shares.values()) == pytest.approx(1.0)
    summary["made_by"]["options"]["mode"] = "dependencies"
    assert "idle" not in {name for name, *_ in causes.split(summary)}
