"""The repository's own rules, checked over every file that is committed or about to be."""

from __future__ import annotations

import ast
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINES_MOST = 500
FUNCTION_LINES_MOST = 70
BYTES_MOST = 1_000_000

# Written in two parts, so that this file does not trip over itself.
LEFTOVERS = re.compile("TO" + "DO|FIX" + "ME|X" + "XX|unimpl" + r"emented!|to" + r"do!\(|NotImpl" + "emented")
MACHINE_PATHS = re.compile(r"(?<![\w.])/(?:ho" + "me|ro" + "ot|wo" + "rk|Us" + r"ers|ws)/\w")
CREDENTIALS_IN_URL = re.compile(r"https?://[^/\s:@]+:[^/\s@]+@")
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")


def files(*suffixes: str) -> list[Path]:
    """The files that git knows or would take, by suffix; all where none is given."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    paths = (ROOT / name for name in names)
    return [path for path in paths if path.is_file() and (not suffixes or path.suffix in suffixes)]


def place(path: Path, line: int = 0) -> str:
    """A file and line as an editor takes it."""
    return f"{path.relative_to(ROOT)}{f':{line}' if line else ''}"


def matches(pattern: re.Pattern, paths: list[Path]) -> list[str]:
    """Every line that the pattern is found in."""
    return [
        f"{place(path, number)}: {line.strip()[:100]}"
        for path in paths
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
        if pattern.search(line)
    ]


def texts() -> list[Path]:
    """Every file of text but the lock file, which cargo writes."""
    kinds = (".rs", ".py", ".md", ".toml", ".html", ".css", ".sh", ".yml", ".txt", "")
    return [path for path in files(*kinds) if path.name not in ("Cargo.lock", "LICENSE")]


def test_there_is_something_to_check() -> None:
    assert len(files(".rs")) > 10
    assert len(files(".py")) > 10


def test_files_are_short_enough_to_have_one_purpose() -> None:
    long = {place(path): len(path.read_text().splitlines()) for path in files(".rs", ".py")}
    assert not {name: lines for name, lines in long.items() if lines > LINES_MOST}


def test_files_of_tests_have_names_of_their_own() -> None:
    """pytest imports two files of one name as one module, and stops, unless a folder is a package."""
    tests = [
        path for path in files(".py") if path.is_relative_to(ROOT / "tests") and path.name != "conftest.py"
    ]
    counts = Counter(path.name for path in tests if not (path.parent / "__init__.py").exists())
    assert not [name for name, count in counts.items() if count > 1]


def test_every_file_of_rust_tests_is_compiled() -> None:
    """The tests of a crate with `tests/main.rs` are one program, of the modules that it names."""
    programs = sorted(ROOT.glob("crates/*/tests/main.rs"))
    assert programs
    for main in programs:
        named = set(re.findall(r"^mod (\w+);$", main.read_text(), re.MULTILINE))
        files = {file.stem for file in main.parent.glob("*.rs")} - {"main"}
        files |= {file.parent.name for file in main.parent.glob("*/mod.rs")}
        assert named == files, f"{main.relative_to(ROOT)} and the files beside it differ"


@pytest.mark.parametrize("path", files(".py"), ids=place)
def test_functions_fit_on_a_screen(path: Path) -> None:
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    lengths = {
        f"{place(path, node.lineno)} {node.name}": node.end_lineno - node.lineno + 1
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, functions)
    }
    assert not {name: lines for name, lines in lengths.items() if lines > FUNCTION_LINES_MOST}


def test_nothing_is_left_for_later() -> None:
    assert not matches(LEFTOVERS, files(".rs", ".py", ".md", ".toml", ".html", ".sh"))


def test_no_path_of_one_machine() -> None:
    assert not matches(MACHINE_PATHS, texts())


def test_no_credentials_in_addresses() -> None:
    assert not matches(CREDENTIALS_IN_URL, texts())


def test_crates_come_from_the_public_registry_alone() -> None:
    sources = set(re.findall(r'^source = "(.*)"$', (ROOT / "Cargo.lock").read_text(), re.MULTILINE))
    assert sources == {"registry+https://github.com/rust-lang/crates.io-index"}


def test_no_large_files() -> None:
    assert not [place(path) for path in files() if path.stat().st_size > BYTES_MOST]


@pytest.mark.parametrize("path", files(".md"), ids=place)
def test_links_between_pages_lead_somewhere(path: Path) -> None:
    targets = [link for link in LINK.findall(path.read_text()) if "://" not in link]
    assert not [link for link in targets if not (path.parent / link).exists()]
