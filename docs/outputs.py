"""Runs the commands of the guide, compares their output with the pages, and writes the pages anew.

`python docs/outputs.py [PAGE…]` (part of `make docs`) replaces outputs that have changed. Its diff is to be
reviewed: a number that moved is a prediction that moved. `tests/docs/test_commands.py` holds the pages to the
outputs.

In a ```console block, lines after `$ ` are commands, the lines below are their output. All of it is compared,
numbers included, but for two sorts: what a run measures of itself (`MEASURED`: duration, speed, memory), and
`…`, which stands for anything, on a line of its own for any number of lines. What a command prints may be
left out as a whole; any word in its place is replaced. A block that says `file=NAME` is
written to that file first. Commands of one page run in order, in one directory of their own. Two words may
stand beside `console`: `data` for what needs recorded data, and `shape` for predictions that are measured on
the machine at hand, where any number, and any bar, stands for any other.
"""

from __future__ import annotations

import difflib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("HOPCAST_DATA", ROOT.parent / "shared" / "data"))
SECONDS_MOST = 120
ELISION = "…"

MEASURED = (
    (
        re.compile(r"\) in [\d.,]+ (?:[mµnp]?s|min|h|d)(?:: .* messages/s, .* events/s)?$", re.MULTILINE),
        ") in TIME",
    ),
    (re.compile(r"[\d.,]+ (?:[KMGT]i)?B of memory"), "SIZE of memory"),
    (re.compile(r"hopcast \d+\.\d+\.\d+\S*"), "hopcast VERSION"),
)
"""Parts that differ from run to run: each pattern, and what stands for it in a comparison."""

_FENCE = re.compile(r"^```(?P<info>[^\n`]+)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
_PROGRESS = re.compile(r"^simulated .* events/s.*\n", re.MULTILINE)
_OTHER_LOAD = re.compile(r"^warning: computing: other programs took .*\n?", re.MULTILINE)
_ALIKE = 0.5
"""Similarity from which a printed line counts as the new form of a documented one, between 0 and 1."""


@dataclass(frozen=True)
class Block:
    """A fenced block with a language; `start` and `end` are the places of its body in the page."""

    language: str
    words: tuple[str, ...]
    body: str
    start: int
    end: int

    @property
    def file(self) -> str | None:
        """The file that the block is, if it says so."""
        names = [word.removeprefix("file=") for word in self.words if word.startswith("file=")]
        return names[0] if names else None


@dataclass(frozen=True)
class Step:
    """A command of a page with its documented and its printed output."""

    command: str
    expected: str
    printed: str
    status: int
    by_shape: bool

    @property
    def matches(self) -> bool:
        """True where the page says what the command prints."""
        if self.by_shape:
            return matches(shape_of(self.expected), shape_of(self.printed))
        return matches(self.expected, self.printed)


def pages() -> list[Path]:
    """The pages that people read: not the generated reference."""
    guide = sorted((ROOT / "docs").glob("*.md"))
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "ARCHITECTURE.md", *guide]


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a page, in order."""
    found = []
    for match in _FENCE.finditer(text):
        language, *words = match["info"].split()
        found.append(Block(language, tuple(words), match["body"], *match.span("body")))
    return found


def commands(body: str) -> list[tuple[str, str]]:
    """Commands of a console block, each with its documented output."""
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


def steps(text: str, directory: Path) -> Iterator[tuple[Block, list[Step]]]:
    """Runs the commands of a page in `directory`, block by block; skips blocks whose data are not there."""
    (directory / "examples").symlink_to(ROOT / "examples")
    for block in blocks(text):
        if block.file:
            (directory / block.file).write_text(block.body)
        if block.language == "console" and ("data" not in block.words or DATA.is_dir()):
            by_shape = "shape" in block.words
            yield block, [run(*pair, directory, by_shape) for pair in commands(block.body)]


def run(command: str, expected: str, directory: Path, by_shape: bool) -> Step:
    """Runs one command as a user with a terminal of 100 columns would."""
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
    printed = _OTHER_LOAD.sub("", _PROGRESS.sub("", done.stdout))
    return Step(command, expected, printed, done.returncode, by_shape)


def matches(expected: str, printed: str) -> bool:
    """Compares documented and printed text, but for what is measured; `…` stands for anything."""
    lines = [line.rstrip(" ") for line in without_measured(expected).strip("\n").splitlines()]
    parts = [r"(?:.*\n)*?" if line.strip() == ELISION else _line(line) + r"[ ]*\n" for line in lines]
    text = without_measured(printed)
    return re.fullmatch("".join(parts), text if text.endswith("\n") or not text else text + "\n") is not None


def without_measured(text: str) -> str:
    """The text with a word in the place of whatever a run measures of itself."""
    for pattern, word in MEASURED:
        text = pattern.sub(word, text)
    return text


def shape_of(text: str) -> str:
    """The text without its numbers, the lengths of its bars and the widths of its columns."""
    text = re.sub(r"[█▓▒░]{3,}", "bar", text)
    text = re.sub(r"\b[0-9a-f]{16}\b", "hash", text)
    text = re.sub(r"\d[\d,.]*(?: [mb]illion)?(?: (?:[mµnp]?s|(?:[KMGT]i)?B)\b)?", "number", text)
    return re.sub(r" +", " ", text)


def rewritten(step: Step) -> str:
    """The documented output brought up to date; what it leaves out stays left out where that can be told."""
    printed = [line.rstrip(" ") for line in step.printed.rstrip("\n").splitlines()]
    expected = step.expected.strip("\n").splitlines()
    lines: list[str] = []
    at = 0
    for line in expected:
        if line.strip() == ELISION:
            lines.append(line)
            continue
        found = _alike(line, printed, at)
        if found is None or (found > at and not (lines and lines[-1].strip() == ELISION)):
            return "\n".join(printed)
        lines.append(line if matches(line, printed[found] + "\n") else printed[found])
        at = found + 1
    if at < len(printed) and not (lines and lines[-1].strip() == ELISION):
        return "\n".join(printed)
    return "\n".join(lines)


def write(page: Path) -> bool:
    """Brings the outputs of a page up to date; false where nothing had changed."""
    text = page.read_text()
    changes: list[tuple[Block, str]] = []
    with tempfile.TemporaryDirectory() as directory:
        for block, done in steps(text, Path(directory)):
            pieces = []
            for step in done:
                kept = step.matches or not step.expected.strip()
                output = step.expected if kept else rewritten(step)
                pieces.append(f"$ {step.command}\n" + (f"{output}\n" if output else ""))
            body = "".join(pieces)
            if body.rstrip("\n") != block.body.rstrip("\n"):
                changes.append((block, body))
    for block, body in reversed(changes):
        text = text[: block.start] + body + text[block.end :]
    page.write_text(text)
    return bool(changes)


def _line(line: str) -> str:
    return ".*?".join(re.escape(part) for part in line.split(ELISION))


def _alike(line: str, printed: list[str], start: int) -> int | None:
    """Index of the printed line from `start` on that is most like `line`."""
    shape = shape_of(line)
    best, index = _ALIKE, None
    for at in range(start, len(printed)):
        alike = difflib.SequenceMatcher(None, shape, shape_of(printed[at]), autojunk=False).ratio()
        if alike > best:
            best, index = alike, at
    return index


def main() -> None:
    """Writes the pages that are named, or all."""
    named = [Path(name).resolve() for name in sys.argv[1:]]
    for page in named or pages():
        if write(page):
            print(f"{page.relative_to(ROOT)}: outputs have changed; review the diff")


if __name__ == "__main__":
    main()
