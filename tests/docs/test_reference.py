"""The generated pages are those of the registries as they are now."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from hopcast import core

DOCS = Path(__file__).resolve().parents[2] / "docs"
sys.path.insert(0, str(DOCS))
import generate  # noqa: E402


def test_every_entry_has_its_page_and_no_page_is_left_over() -> None:
    there = {file.relative_to(DOCS).as_posix() for file in (DOCS / "models").rglob("*.md")}
    assert there == {name for name in generate.pages() if name.startswith("models/")}, "run `make docs`"


def test_pages_are_current() -> None:
    def kept(name: str) -> str:
        return (DOCS / name).read_text() if (DOCS / name).exists() else ""

    stale = [name for name, text in generate.pages().items() if kept(name) != text]
    assert not stale, "run `make docs`"


@pytest.mark.parametrize("noun", ["topology", "routing", "model", "transport", "compute-model"])
def test_every_file_with_an_entry_is_in_the_table(noun: str) -> None:
    """A line that is missing there makes nothing else fail."""
    listed = {entry["name"] for registry in core.registries().values() for entry in registry["entries"]}
    files = (DOCS.parent / "crates" / generate.SOURCES[noun]).glob("*.rs")
    entries = [
        re.findall(r'pub const ENTRY: .*?name: "(.+?)"', file.read_text(), re.DOTALL) for file in files
    ]
    assert {name for names in entries for name in names} <= listed


@pytest.mark.parametrize("noun", ["topology", "routing", "model", "collective"])
def test_an_entry_and_its_file_have_one_name(noun: str) -> None:
    registry = next(registry for registry in core.registries().values() if registry["noun"] == noun)
    names = [entry["name"] for entry in registry["entries"]]
    assert names
    assert not [name for name in names if generate.source_file(noun, name) is None]
