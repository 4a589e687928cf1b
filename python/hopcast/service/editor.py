"""Sections and keys of platform files, which the editor of the form completes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from hopcast import core


@cache
def sections() -> dict[str, dict[str, str]]:
    """Meanings by key by section, such as `link` or `host.memory`; "" holds the keys of the file."""
    found: dict[str, dict[str, str]] = {}
    for section, key, meaning in _keys("", json.loads(core.platform_schema())):
        before = found.setdefault(section, {}).get(key)
        # Of a section of several kinds, each kind is one of the values of this key.
        found[section][key] = f"{before}, {meaning}" if before and key == "kind" else before or meaning
    return found


def _keys(section: str, schema: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Section, key and meaning of all values below a schema; one of several kinds has the keys of all."""
    for kind in (*schema.get("oneOf", ()), *schema.get("anyOf", ())):
        yield from _keys(section, kind)
    if isinstance(schema.get("items"), dict):
        yield from _keys(section, schema["items"])
    for key, value in schema.get("properties", {}).items():
        inner = list(_keys(f"{section}.{key}".lstrip("."), value))
        # Tables that are written in a line, within a value, are no sections.
        if any(meaning for *_, meaning in inner):
            yield from inner
        else:
            yield section, key, value.get("description") or str(value.get("const", ""))
