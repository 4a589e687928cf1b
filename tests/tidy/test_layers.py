"""Layers of the Python package: the command line is on top, and nothing below imports it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "python" / "hopcast"
ENTRY = "__main__.py"
"""`python -m hopcast` is the command line itself."""


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """Lines and full names of all modules that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = ["hopcast", *path.relative_to(PACKAGE).parts[:-1]]
            beside = package[: len(package) + 1 - node.level] if node.level else []
            module = ".".join([*beside, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)


def is_of(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def test_nothing_below_the_command_line_imports_it() -> None:
    libraries = [
        path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0] not in ("cli", ENTRY)
    ]
    assert len(libraries) > 50
    found = [
        f"{path.relative_to(PACKAGE)}:{line}: {name}"
        for path in libraries
        for line, name in imported(path)
        if is_of(name, "hopcast.cli") or is_of(name, "click")
    ]
    assert not found


def test_imports_are_found_in_every_form(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(globals(), "PACKAGE", tmp_path)
    (tmp_path / "inner").mkdir()
    file = tmp_path / "inner" / "module.py"
    file.write_text(
        "import hopcast.cli\nfrom hopcast import cli\nfrom hopcast.cli.run import command\n"
        "def later():\n    from ..cli import exits\n    from .. import cli\n"
    )
    names = [name for _, name in imported(file)]
    assert [name for name in names if not is_of(name, "hopcast.cli")] == []
    assert len(names) == 5
