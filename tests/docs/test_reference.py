"""The generated pages are those of the registries as they are now."""

from __future__ import annotations

from pathlib import Path

from hopcast.cli import core, reference

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_every_entry_has_its_page_and_no_page_is_left_over() -> None:
    wanted = reference.pages(core.registries())
    there = {file.relative_to(DOCS / "models").as_posix() for file in (DOCS / "models").glob("*/**/*.md")}
    assert there == set(wanted), "run `make docs`"


def test_pages_are_current() -> None:
    stale = [
        name
        for name, text in reference.pages(core.registries()).items()
        if (DOCS / "models" / name).read_text() != text
    ]
    assert not stale, "run `make docs`"


def test_the_reference_of_platform_files_is_current() -> None:
    assert (DOCS / "platform-reference.md").read_text() == reference.platform_page(), "run `make docs`"
