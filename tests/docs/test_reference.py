"""The generated pages are those of the registries as they are now."""

from __future__ import annotations

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
    stale = [name for name, text in generate.pages().items() if (DOCS / name).read_text() != text]
    assert not stale, "run `make docs`"


@pytest.mark.parametrize("noun", ["topology", "routing", "model", "collective"])
def test_an_entry_and_its_file_have_one_name(noun: str) -> None:
    registry = next(registry for registry in core.registries().values() if registry["noun"] == noun)
    names = [entry["name"] for entry in registry["entries"]]
    assert names
    assert not [name for name in names if generate.source_file(noun, name) is None]
