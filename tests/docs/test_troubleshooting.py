"""Each message that `docs/troubleshooting.md` quotes is one that hopcast, or a platform, has."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "troubleshooting.md"
SOURCES = (("python/hopcast", "*.py"), ("crates", "*.rs"), ("data/platforms", "*.toml"))
QUOTED = re.findall(r"^### `(.+)`$", PAGE.read_text(), re.MULTILINE)


@cache
def sources() -> tuple[str, ...]:
    """Sources without tests, each text in one piece where the source has it on several lines."""
    files = (file for folder, pattern in SOURCES for file in (ROOT / folder).rglob(pattern))
    return tuple(joined(file.read_text()) for file in sorted(files) if "tests" not in file.parts)


def joined(text: str) -> str:
    """Python's adjacent strings, and Rust's that go on after a backslash, as one."""
    text = re.sub(r"\\\n\s*", "", text)
    return re.sub(r'"\s*\n\s*f?"', "", text)


def held_by(message: str, text: str) -> bool:
    """True where a text has all parts of a message in order, each soon after the one before."""
    parts = [re.escape(part) for part in re.split("…", message) if part]
    return re.search(r".{0,80}?".join(parts), text) is not None


@pytest.mark.parametrize("message", QUOTED)
def test_a_quoted_message_is_in_the_sources(message: str) -> None:
    assert any(held_by(message, text) for text in sources()), f"hopcast does not say this any more: {message}"


def test_a_message_that_nobody_says_is_found_out() -> None:
    assert len(QUOTED) > 20
    assert not any(held_by("ranks: how few? …", text) for text in sources())
    assert held_by("rank … ended", joined('f"rank "\n    f"{rank} "\n  "ended"'))
