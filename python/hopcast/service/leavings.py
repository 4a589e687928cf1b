"""Files that the process of a run has left: a hostile one leaves links, pipes, and trees without end."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

ANSWER_B = 16 << 20
OUTCOME_B = 1 << 20
"""Sizes of files of JSON that are read [B]: of cells of a study or a picture, and of how a run has ended."""
_REPORT_B = 16 << 20
"""Size of the `report.json` that is taken [B]; the server reads it whole to compare."""
_WORDS_B = 400
_VALUES = 1000
"""Values, and warnings, that a run may leave."""
_DEPTH = 32
_ENTRIES = 200_000
"""Depth of folders, and number of files, above which a run has left more than can be counted."""

_PIECE_B = 1 << 20

UNCOUNTABLE_B = sys.maxsize
"""Size of a tree that is too deep, too wide or closed [B]: more than any limit."""


def read(file: Path, most_B: int = ANSWER_B) -> dict[str, Any] | None:
    """Object in a file of JSON; None if there is no such object, or the file is no plain one or too large."""
    try:
        raw = _bytes(file, most_B + 1)
        content = json.loads(raw, parse_constant=_refuse) if len(raw) <= most_B else None
    except (OSError, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def text(words: str, most: int) -> str:
    """Words of a program that can be kept and shown: cut, and without halves of characters."""
    return words[:most].encode(errors="replace").decode()


def is_plain(path: Path) -> bool:
    """True if a path is a plain file itself, and no link to one."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def last_words(file: Path) -> str:
    """End of what a process has written."""
    with contextlib.suppress(OSError):
        return _bytes(file, -_WORDS_B).decode(errors="replace").strip() or "without a word"
    return "without a word"


def numbers(content: dict[str, Any] | None) -> dict[str, float | None] | None:
    """The progress of a run, if that is what it looks like."""
    names = ("simulated_s", "events", "share", "elapsed_s")
    if content is None or set(content) != set(names):
        return None
    return (
        content
        if all(_is_number(content[name]) or name == "share" for name in names)
        and (content["share"] is None or _is_number(content["share"]))
        else None
    )


def outcome(content: Any) -> dict[str, Any] | None:
    """The head of a report, if that is what it looks like; texts are cut."""
    whole = ("ranks", "hosts", "events", "peak_rss_B")
    texts = ("model", "outcome_hash", "failure", "limit")
    known = {"makespan_s", "wall_s", "partial", "values", *whole, *texts}
    if not isinstance(content, dict) or set(content) != known or not isinstance(content["partial"], bool):
        return None
    if not _is_number(content["makespan_s"]):
        return None
    if content["wall_s"] is not None and not _is_number(content["wall_s"]):
        return None
    if not all(content[name] is None or _is_whole(content[name]) for name in whole):
        return None
    if not all(content[name] is None or isinstance(content[name], str) for name in texts):
        return None
    values = content["values"]
    if not isinstance(values, dict) or len(values) > _VALUES:
        return None
    if not all(_is_text(name) and _is_cell(one) for name, one in values.items()):
        return None
    return content | {name: content[name] and text(content[name], 500) for name in texts}


def estimate(content: Any) -> dict[str, Any] | None:
    """The estimate of a run, if that is what it looks like."""
    whole = ("hosts", "ranks", "memory_B")
    if not isinstance(content, dict) or set(content) != {*whole, "seconds", "is_whole", "warnings"}:
        return None
    if not all(content[name] is None or _is_whole(content[name]) for name in whole):
        return None
    if content["seconds"] is not None and not _is_number(content["seconds"]):
        return None
    warnings = content["warnings"]
    if not isinstance(warnings, list) or not all(isinstance(words, str) for words in warnings):
        return None
    if not isinstance(content["is_whole"], bool):
        return None
    return content | {"warnings": [text(words, 10 * _WORDS_B) for words in warnings[:_VALUES]]}


def take(report: Path, place: Path, most_B: int) -> bool:
    """Copies the plain files of a report into a new folder; False, and no folder, if it is no report.

    Processes of the program may live still, and change its folder meanwhile: nothing is opened by a path, and
    what is kept is the server's own. Files above `most_B` bytes in all are no report either.
    """
    draft = place.with_name(f".{place.name}")
    remove(draft)
    try:
        draft.mkdir()
        with contextlib.suppress(_OutOfBounds):
            descriptor = _opened(report, os.O_DIRECTORY)
            if descriptor is not None:
                try:
                    _Copy(most_B).folder(descriptor, draft, 0)
                finally:
                    os.close(descriptor)
                file = draft / "report.json"
                if file.is_file() and file.stat().st_size <= _REPORT_B:
                    remove(place)
                    draft.rename(place)
                    return True
        return False
    finally:
        remove(draft)


class _OutOfBounds(Exception):
    """A tree has more than may be copied."""


class _Copy:
    """Copies a tree of which nothing is believed."""

    def __init__(self, most_B: int) -> None:
        self._left_B, self._entries = most_B, 0

    def folder(self, source: int, target: Path, depth: int) -> None:
        with os.scandir(source) as entries:
            for entry in entries:
                self._entries += 1
                if self._entries > _ENTRIES:
                    raise _OutOfBounds
                if not (entry.name.isascii() and entry.name.isprintable()):
                    continue
                # It may be another one by now: the descriptor alone says what it is.
                flags = os.O_DIRECTORY if entry.is_dir(follow_symlinks=False) else 0
                descriptor = _opened(entry.name, flags, source)
                if descriptor is None:
                    continue
                try:
                    mode = os.fstat(descriptor).st_mode
                    if stat.S_ISREG(mode):
                        self._file(descriptor, target / entry.name)
                    elif stat.S_ISDIR(mode) and flags and depth < _DEPTH:
                        (target / entry.name).mkdir()
                        self.folder(descriptor, target / entry.name, depth + 1)
                finally:
                    os.close(descriptor)

    def _file(self, source: int, target: Path) -> None:
        with open(source, "rb", closefd=False) as opened, open(target, "xb") as out:
            while piece := opened.read(_PIECE_B):
                self._left_B -= len(piece)
                if self._left_B < 0:
                    raise _OutOfBounds
                out.write(piece)


def _opened(name: Path | str, flags: int, folder: int | None = None) -> int | None:
    """Descriptor of a file or a folder to read; None where it is a link, closed, or gone."""
    # The other end of a pipe is not awaited.
    flags |= os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        return os.open(name, flags, dir_fd=folder)
    except OSError:
        return None


def size_B(folder: Path) -> int:
    """Bytes of all files in a folder; `UNCOUNTABLE_B` if they cannot be counted."""
    total, count, waiting = 0, 0, [(str(folder), 0)]
    while waiting:
        place, depth = waiting.pop()
        try:
            with os.scandir(place) as entries:
                for entry in entries:
                    count += 1
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append((entry.path, depth + 1))
                    else:
                        with contextlib.suppress(FileNotFoundError):
                            total += entry.stat(follow_symlinks=False).st_size
                    if count > _ENTRIES or depth > _DEPTH:
                        return UNCOUNTABLE_B
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            return UNCOUNTABLE_B
    return total


def remove(path: Path) -> None:
    """Removes a file, or a tree, however deep and closed."""
    if not _is_folder(path):
        with contextlib.suppress(OSError):
            path.unlink()
        return
    with contextlib.suppress(OSError, RecursionError):
        shutil.rmtree(path)
        return
    # A tree that is deeper than Python goes, or has folders that its owner has closed.
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run(["chmod", "-R", "u+rwX", "--", str(path)], **quiet)  # type: ignore[call-overload]
    subprocess.run(["rm", "-rf", "--one-file-system", "--", str(path)], **quiet)  # type: ignore[call-overload]


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False


def _bytes(file: Path, most: int) -> bytes:
    """First bytes of a plain file, or the last ones if `most` is negative. Raises `OSError` for others."""
    # Neither a link is followed nor the other end of a pipe awaited.
    descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as opened:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            raise OSError("no plain file")
        if most < 0:
            opened.seek(max(0, about.st_size + most))
        return opened.read(abs(most))


def _is_cell(value: Any) -> bool:
    """True for what a cell of a study's table holds."""
    return value is None or isinstance(value, bool) or _is_number(value) or _is_text(value)


def _is_text(value: Any) -> bool:
    """True for a text that is short, and has no halves of characters, which no database keeps."""
    return isinstance(value, str) and len(value) <= _WORDS_B and text(value, _WORDS_B) == value


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**63


def _refuse(name: str) -> float:
    raise ValueError(name)
