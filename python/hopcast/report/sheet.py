"""Pages of results that are no run: an answer, pictures and tables, in one file that holds all it shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hopcast import __version__
from hopcast.errors import InputError
from hopcast.report import html
from hopcast.report.pictures.picture import Picture


@dataclass(frozen=True)
class Link:
    """A cell that leads to another page, or to a place of this one."""

    words: str
    link: str


Cell = str | Link


@dataclass(frozen=True)
class Table:
    """A section with a table; the first column is text, the others are numbers."""

    title: str
    sentence: str = ""
    head: Sequence[str] = ()
    rows: Sequence[Sequence[Cell]] = ()
    anchor: str = ""
    """Name that links of the page lead to."""


@dataclass(frozen=True)
class Sheet:
    """Contents of a page."""

    title: str
    made_by: str
    """Command that made it."""
    parts: Sequence[Picture | Table]
    asked: str = ""
    """Name of the answer."""
    answer: str = ""
    """The one number that a reader looks for; without, the page has none on top."""
    sentence: str = ""
    findings: Sequence[str] = ()
    """Warnings: what to check before trusting the page."""
    made: str = field(default=f"hopcast {__version__}")


def write(sheet: Sheet, place: Path) -> Path:
    """Writes the page."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(html.sheet_page(sheet), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{place}: cannot be written: {error.strerror}") from None
    return place
