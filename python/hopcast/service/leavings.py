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

_JSON_B = 16 << 20
_REPORT_B = 256 << 20
"""Size of the `report.json` of a program that is taken [B]; the server reads it whole to compare."""
_WORDS_B = 400
_DEPTH = 32
_ENTRIES = 200_000
"""Depth of folders, and number of files, above which a run has left more than can be counted."""

UNCOUNTABLE_B = sys.maxsize
"""Size of a tree that is too deep, too wide or closed [B]: more than any limit."""


def read(file: Path) -> dict[str, Any] | None:
    """Object in a file of JSON; None if there is no such object, or the file is no plain one or too large."""
    try:
        content = json.loads(_bytes(file, _JSON_B + 1), parse_constant=_refuse)
    except (OSError, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


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
    if not all(content[name] is None or _is_number(content[name]) for name in ("wall_s", *whole)):
        return None
    if not all(content[name] is None or isinstance(content[name], str) for name in texts):
        return None
    values = content["values"]
    if not isinstance(values, dict) or not all(_is_plain(one) for one in values.values()):
        return None
    return content | {name: content[name] and content[name][:500] for name in texts}


def estimate(content: Any) -> dict[str, Any] | None:
    """The estimate of a run, if that is what it looks like."""
    amounts = ("hosts", "ranks", "memory_B", "seconds")
    if not isinstance(content, dict) or set(content) != {*amounts, "is_whole", "warnings"}:
        return None
    if not all(content[name] is None or _is_number(content[name]) for name in amounts):
        return None
    warnings = content["warnings"]
    if not isinstance(warnings, list) or not all(isinstance(text, str) for text in warnings):
        return None
    return content if isinstance(content["is_whole"], bool) else None


def clean(report: Path) -> bool:
    """Removes from a folder all but plain files in plain folders; False if it is no report then."""
    if not _is_folder(report):
        return False
    waiting = [(report, 0)]
    while waiting:
        folder, depth = waiting.pop()
        for entry in list(os.scandir(folder)):
            is_named = entry.name.isascii() and entry.name.isprintable()
            if is_named and entry.is_dir(follow_symlinks=False) and depth < _DEPTH:
                waiting.append((Path(entry.path), depth + 1))
            elif not (is_named and entry.is_file(follow_symlinks=False)):
                remove(Path(entry.path))
    file = report / "report.json"
    return file.is_file() and file.stat().st_size <= _REPORT_B


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


def _is_plain(value: Any) -> bool:
    """True for what a cell of a study's table holds."""
    return value is None or isinstance(value, bool) or _is_number(value) or _is_text(value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _WORDS_B


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**63


def _refuse(name: str) -> float:
    raise ValueError(name)
