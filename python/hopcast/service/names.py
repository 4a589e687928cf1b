"""Names that users give to runs and studies, as lists and pages show them."""

from __future__ import annotations

import unicodedata
from typing import Annotated

from pydantic import AfterValidator, Field

MOST = 200
"""Most characters of a name."""

_DIRECTIONS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that turn around what follows them on a page."""
_UNSEEN = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and signs without a picture."""


def name_of(text: str) -> str:
    """Name in one line, without space around it; empty if nobody could see it, as of spaces alone."""
    kept = (one for one in text if one not in _DIRECTIONS and (one.isspace() or not _is_control(one)))
    name = " ".join("".join(kept).split())[:MOST].rstrip()
    return name if any(map(_is_seen, name)) else ""


def seen_name(text: str) -> str:
    """The same for what must have a name. Raises `ValueError` if it is empty."""
    name = name_of(text)
    if not name:
        raise ValueError("a name has a letter, a digit or another sign that can be seen")
    return name


def _is_control(character: str) -> bool:
    return unicodedata.category(character) == "Cc"


def _is_seen(character: str) -> bool:
    return unicodedata.category(character)[0] not in "CZM" and character not in _UNSEEN


Name = Annotated[str, Field(max_length=MOST), AfterValidator(name_of)]
"""Name of a run or a study that may go without one."""
SeenName = Annotated[str, Field(max_length=MOST), AfterValidator(seen_name)]
"""Name of a study."""
