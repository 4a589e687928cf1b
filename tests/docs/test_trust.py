"""The measured errors on `docs/trust.md` are those of the validation's tables."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEAD = "| predictions | how many | median error | worst |"


def table(text: str) -> str:
    """The table of errors in a page."""
    start = text.index(HEAD)
    return text[start : text.index("\n\n", start)]


def test_errors_are_those_of_the_validation() -> None:
    page, validation = ROOT / "docs" / "trust.md", ROOT / "validation" / "README.md"
    assert table(page.read_text()) == table(validation.read_text()), "copy the table into docs/trust.md"
