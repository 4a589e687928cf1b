"""Hooks of the site (`mkdocs.yml`): files of the repository that the guide links to become part of the site.

The guide lies in `docs`, and links to pages and sources beside it (`../validation/README.md`). A page that is
linked so is built as well, and so are those that it links; any other file is put beside it as text.
"""

from __future__ import annotations

import os
import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
INSIDE = "docs/"
OUTSIDE = "repository/"
"""Folder of the site for what lies beside `docs`."""

_LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?\)")
_FENCED = re.compile(r"^(```.*?^```)", re.MULTILINE | re.DOTALL)
_OPENING = re.compile(r"^```(\w+)((?: \S+)+)$", re.MULTILINE)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds what the guide links to, and what that links to in turn."""
    waiting = [INSIDE + file.src_uri for file in files.documentation_pages()]
    seen = set(waiting)
    while waiting:
        source = waiting.pop()
        for target in targets(source):
            if target in seen or not (ROOT / target).is_file():
                continue
            seen.add(target)
            if not target.startswith(INSIDE):
                content = (ROOT / target).read_bytes()
                files.append(File.generated(config, site_name(target), content=content))
            if target.endswith(".md"):
                waiting.append(target)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turns links between files of the repository into links between files of the site."""
    source = repository_name(page.file.src_uri)

    def changed(link: re.Match[str]) -> str:
        target = resolved(source, link[1])
        if not (ROOT / target).exists():
            return link[0]
        if (ROOT / target).is_dir():
            return "](#)"  # a folder has no page
        there = posixpath.relpath(site_name(target), posixpath.dirname(page.file.src_uri) or ".")
        return f"]({there}{link[2] or ''})"

    parts = _FENCED.split(markdown)
    for at in range(0, len(parts), 2):
        # Two pairs of brackets are two optional words here, and a reference in Markdown.
        parts[at] = _LINK.sub(changed, parts[at]).replace("] [", "] \\[")
    return _OPENING.sub(opening, "".join(parts))


def opening(fence: re.Match[str]) -> str:
    """The first line of a block without the words that only `docs/outputs.py` knows."""
    files = [word.removeprefix("file=") for word in fence[2].split() if word.startswith("file=")]
    return f"```{fence[1]}" + (f' title="{files[0]}"' if files else "")


def targets(source: str) -> list[str]:
    """Files of the repository to which a page of it links."""
    text = _FENCED.sub("", (ROOT / source).read_text())
    return [resolved(source, link[1]) for link in _LINK.finditer(text)]


def resolved(source: str, link: str) -> str:
    """The file, relative to the repository, that a link of a page names."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(source), link))


def site_name(name: str) -> str:
    """The source of the site for a file of the repository."""
    if name.startswith(INSIDE) and not name.endswith(".py"):
        return name.removeprefix(INSIDE)
    # A source file is shown as text, not taken for what it is elsewhere in the site.
    return OUTSIDE + name + ("" if name.endswith(".md") else ".txt")


def repository_name(source_uri: str) -> str:
    """The file of the repository for a source of the site."""
    if source_uri.startswith(OUTSIDE):
        return source_uri.removeprefix(OUTSIDE)
    return os.path.join(INSIDE, source_uri)
