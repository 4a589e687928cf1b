"""Every command of the guide is run, and what it prints is compared with what the page says.

In a ```console block, lines after `$ ` are commands, the lines below are their output; `…` stands for
anything, on a line of its own for any number of lines. A ```python or ```toml block that says
`file=NAME` is written to that file first, so that commands can use it. Commands of one page run in
order, in one directory of their own. Two words may stand beside `console`: `data` for what needs
recorded data, which is skipped, with a word, where they are not there; `shape` for output whose
numbers depend on the machine: there any number, and any bar, stands for any other.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("HOPCAST_DATA", ROOT.parent / "shared" / "data"))
FENCE = re.compile(r"^```(?P<info>[^\n`]+)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
SECONDS_MOST = 120


@dataclass(frozen=True)
class Block:
    """A fenced block with a language."""

    language: str
    words: tuple[str, ...]
    body: str

    @property
    def file(self) -> str | None:
        """The file that the block is, if it says so."""
        names = [word.removeprefix("file=") for word in self.words if word.startswith("file=")]
        return names[0] if names else None


def pages() -> list[Path]:
    """What people read: not the generated reference pages."""
    guide = sorted((ROOT / "docs").glob("*.md"))
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "ARCHITECTURE.md", *guide]


def blocks(page: Path) -> list[Block]:
    """Its fenced blocks, in order."""
    found = FENCE.finditer(page.read_text())
    infos = [(match["info"].split(), match["body"]) for match in found]
    return [Block(info[0], tuple(info[1:]), body) for info, body in infos]


def commands(body: str) -> list[tuple[str, str]]:
    """Commands of a console block, each with its expected output."""
    parts = re.split(r"^\$ ", body, flags=re.MULTILINE)
    assert not parts[0].strip(), f"output before the first command: {parts[0]!r}"
    pairs = []
    for part in parts[1:]:
        lines = part.splitlines()
        length = 1
        while lines[length - 1].endswith("\\"):
            length += 1
        pairs.append(("\n".join(lines[:length]), "\n".join(lines[length:])))
    return pairs


def pattern(expected: str) -> re.Pattern:
    """Expected output as a pattern: `…` stands for anything."""
    lines = [line.rstrip() for line in expected.strip("\n").splitlines()]
    parts = [r"(?:.*\n)*?" if line.strip() == "…" else _line(line) + r"[ ]*\n" for line in lines]
    return re.compile("".join(parts))


def _line(line: str) -> str:
    return ".*?".join(re.escape(part) for part in line.split("…"))


def shape_of(text: str) -> str:
    """The text without its numbers, the lengths of its bars and the widths of its columns."""
    text = re.sub(r"[█▓░]{3,}", "bar", text)
    text = re.sub(r"\b[0-9a-f]{16}\b", "hash", text)
    text = re.sub(r"\d[\d,.]*(?: [mb]illion)?(?: (?:[mµnp]?s|(?:[KMGT]i)?B)\b)?", "number", text)
    return re.sub(r" +", " ", text)


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_commands_do_what_the_page_says(page: Path, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    skipped = 0
    for block in blocks(page):
        if block.file:
            (tmp_path / block.file).write_text(block.body)
        if block.language == "console":
            if "data" in block.words and not DATA.is_dir():
                skipped += 1
                continue
            for command, expected in commands(block.body):
                check(command, expected, tmp_path, shape="shape" in block.words)
    if skipped:
        pytest.skip(f"{skipped} blocks need $HOPCAST_DATA, which is not there")


def check(command: str, expected: str, directory: Path, shape: bool = False) -> None:
    """Runs one command and compares."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": "100", "HOPCAST_DATA": str(DATA)}
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=directory,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS_MOST,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}"
    printed = re.sub(r"^simulated .* events/s.*\n", "", done.stdout, flags=re.MULTILINE)  # progress
    if shape:
        printed, expected = shape_of(printed), shape_of(expected)
    if expected.strip():
        matches = pattern(expected).fullmatch(printed)
        assert matches, f"{command}\nprinted:\n{printed}\nthe page says:\n{expected}"


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_make_targets_exist(page: Path) -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"\bmake ([a-z][a-z-]*)\b(?=`|$|\s{2,})", page.read_text(), re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"make {target} is not in the Makefile"


def test_the_matcher_refuses_what_differs() -> None:
    assert pattern("a … c\n…\nend").fullmatch("a bb c\nx\ny\nend\n")
    assert not pattern("a … c").fullmatch("a bb d\n")
    assert not pattern("one line").fullmatch("one line\nand another\n")
    assert not pattern("took 12.5 ms").fullmatch("took 12.6 ms\n")


def test_shapes_forget_numbers_and_nothing_else() -> None:
    assert shape_of("took 12.5 ms  for 1,024 ranks") == shape_of("took 3 s for 64 ranks")
    assert shape_of("1.05 million messages, ▓▓▓▓░░░") == shape_of("38,386 messages, ████░░░░░░")
    assert shape_of("took 12.5 ms for 3 ranks") != shape_of("took ages for 3 ranks")
