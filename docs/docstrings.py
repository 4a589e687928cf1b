"""Docstrings as Markdown, for the site: a paragraph of lines `name: text` becomes a list."""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any

import griffe

_ITEM = re.compile(r"^(\w+(?:, \w+)*): (?=\S)", re.MULTILINE)


class ParameterLists(griffe.Extension):
    """An extension of griffe, which reads the docstrings."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrites the docstring of a module, class, function or attribute."""
        if not obj.docstring:
            return
        text = obj.docstring.value
        if "{options}" in text:
            # The table of options completes it when the module is imported.
            text = inspect.getdoc(getattr(importlib.import_module(obj.module.path), obj.name)) or text
        obj.docstring.value = as_markdown(text)


def as_markdown(text: str) -> str:
    """The text with each paragraph that begins as a list of names as a list of Markdown."""
    paragraphs = re.split(r"\n\s*\n", text)
    return "\n\n".join(_listed(one) if _ITEM.match(one) else one for one in paragraphs)


def _listed(paragraph: str) -> str:
    lines = [line.strip() if not _ITEM.match(line) else line for line in paragraph.splitlines()]
    return "\n".join(_ITEM.sub(r"- **\1**: ", line) if _ITEM.match(line) else f"  {line}" for line in lines)
