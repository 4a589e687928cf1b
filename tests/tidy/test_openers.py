"""Documentation comments open with the thing or the verb, so that each can be read alone, as on hover."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_tidy import ROOT, files, place

NOT_YET_CLEAN = ("crates/libmpi",)
"""Directories with openers of before this rule. A line is deleted here once its directory is clean."""

FORBIDDEN = re.compile(
    r"(?:What|Which|Whichever|Who|Whom|Whose|Whoever|Whether|Where|When|Why|How|Of|So|There|They)\b"
)
RUST = re.compile(r"\s*//[/!](?!/)\s?(.*)")


def openers_of_rust(text: str) -> Iterator[tuple[int, str]]:
    """Number and text of the first line of each block of `///` or `//!`."""
    within = False
    for number, line in enumerate(text.splitlines(), 1):
        comment = RUST.match(line)
        if comment and not within:
            yield number, comment[1]
        within = bool(comment)


def openers_of_python(text: str) -> Iterator[tuple[int, str]]:
    """Number and text of the first line of each docstring, those below constants and fields included."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for statement in node.body:
            match statement:
                case ast.Expr(value=ast.Constant(value=str(words))):
                    yield statement.lineno, words.strip().partition("\n")[0]


OPENERS = {".rs": openers_of_rust, ".py": openers_of_python}


def forbidden(path: Path) -> list[str]:
    """Places and texts of the file's forbidden openers."""
    openers = OPENERS[path.suffix](path.read_text())
    return [f"{place(path, number)}: {text[:80]}" for number, text in openers if FORBIDDEN.match(text)]


def directory(path: Path) -> str:
    """Part of the repository that the file belongs to: `crates/mpi`, `python/hopcast`."""
    return "/".join(path.relative_to(ROOT).parts[:2])


def test_documentation_comments_open_with_the_thing_or_the_verb() -> None:
    found = [
        line
        for path in files(".rs", ".py")
        if directory(path) not in NOT_YET_CLEAN
        for line in forbidden(path)
    ]
    assert not found, "see CONTRIBUTING.md, How code reads here:\n" + "\n".join(found)


@pytest.mark.parametrize("name", NOT_YET_CLEAN)
def test_directories_that_are_clean_are_held_to_it(name: str) -> None:
    of_it = [path for path in files(".rs", ".py") if directory(path) == name]
    assert any(forbidden(path) for path in of_it), f"{name} is clean: delete it from NOT_YET_CLEAN"


def test_openers_are_found() -> None:
    rust = "//! Whether it is.\n\n/// Index of it.\n/// What comes second.\nfn a() {\n    /// So many.\n"
    assert list(openers_of_rust(rust)) == [(1, "Whether it is."), (3, "Index of it."), (6, "So many.")]
    python = (
        '"""What it is."""\nX = 1\n"""Of it."""\ndef f():\n    """Finds it.\n\n    How it does.\n    """\n'
    )
    assert sorted(openers_of_python(python)) == [(1, "What it is."), (3, "Of it."), (5, "Finds it.")]
    assert FORBIDDEN.match("So many.") and not FORBIDDEN.match("Offset of it.")
    assert not FORBIDDEN.match("Something.") and not FORBIDDEN.match("Whole text.")
