"""Documentation comments open with the thing or the verb, so that each can be read alone, as on hover."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from test_tidy import files, place

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


def test_documentation_comments_open_with_the_thing_or_the_verb() -> None:
    found = [line for path in files(".rs", ".py") for line in forbidden(path)]
    assert not found, "see CONTRIBUTING.md, How code reads here:\n" + "\n".join(found)


def test_openers_are_found() -> None:
    rust = "//! Whether it is.\n\n/// Index of it.\n/// What comes second.\nfn a() {\n    /// So many.\n"
    assert list(openers_of_rust(rust)) == [(1, "Whether it is."), (3, "Index of it."), (6, "So many.")]
    python = (
        '"""What it is."""\nX = 1\n"""Of it."""\ndef f():\n    """Finds it.\n\n    How it does.\n    """\n'
    )
    assert sorted(openers_of_python(python)) == [(1, "What it is."), (3, "Of it."), (5, "Finds it.")]
    assert FORBIDDEN.match("So many.") and not FORBIDDEN.match("Offset of it.")
    assert not FORBIDDEN.match("Something.") and not FORBIDDEN.match("Whole text.")
