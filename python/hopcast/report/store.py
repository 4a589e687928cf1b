"""A report on disk: one directory, written whole or not at all."""

from __future__ import annotations

import errno
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopcast import text_file
from hopcast.errors import InputError
from hopcast.report import parts

if TYPE_CHECKING:
    import pyarrow

    from hopcast.request import RunRequest

_TABLE = ".parquet"
"""Suffix of the tables: each is `NAME.parquet` in the report's directory."""

_FILES = {"report.json", "report.html", "request.json", "timeline.json"}


@dataclass(frozen=True)
class Result:
    """Result of one run: its summary and its tables."""

    summary: dict[str, Any]
    """The keys of `report.json`."""
    tables: Mapping[str, pyarrow.Table] = field(default_factory=dict)
    """By name, those of the observers; a run may lack some."""
    request: RunRequest | None = None
    """Request that was run, if it is known."""


def check_target(directory: Path) -> None:
    """Says now, and not after an hour of simulation, that `directory` cannot take a report.

    A report may replace a report, and nothing else: files that hopcast did not write stay.
    """
    if not directory.exists() and not directory.is_symlink():
        _check_parent(directory)
        return
    if not directory.is_dir():
        raise InputError(f"--out {directory}: is a file; name a directory that does not exist yet")
    strangers = sorted(
        entry.name
        for entry in directory.iterdir()
        if entry.name not in (*_FILES, parts.FOLDER) and entry.suffix != _TABLE
    )
    if strangers:
        raise InputError(
            f"--out {directory}: exists and holds files that are not a hopcast report "
            f"({', '.join(strangers[:3])}{', …' if len(strangers) > 3 else ''}); name another directory"
        )
    there = {entry.name for entry in directory.iterdir()} - {parts.FOLDER}
    if there and not (directory / "report.json").is_file():
        raise InputError(f"--out {directory}: exists and is not a hopcast report; name another directory")
    _check_parent(directory)


def _check_parent(directory: Path) -> None:
    """The nearest directory above that exists must be one, and writable."""
    parent = directory.absolute().parent
    while not parent.exists():
        parent = parent.parent
    try:
        # Tried, because neither modes nor the user tell of a file system that is read only.
        os.rmdir(tempfile.mkdtemp(prefix=f".{directory.name}.", dir=parent))
    except OSError as error:
        raise InputError(f"--out {directory}: cannot write into {parent}: {reason(error)}") from error


def write(result: Result, directory: Path) -> Path:
    """Writes the report beside `directory` and puts it in place by a rename; gives the HTML's path."""
    from hopcast.report.html import page

    def fill(into: Path) -> None:
        (into / "report.json").write_text(to_json(result.summary), encoding="utf-8")
        _write_tables(result.tables, into)
        if result.request is not None:
            result.request.save(into / "request.json", moves=False)
        _write_timeline(result, into)
        (into / "report.html").write_text(page(result), encoding="utf-8")

    return publish(directory, fill) / "report.html"


def publish(directory: Path, fill) -> Path:
    """Lets `fill` write into a hidden directory beside `directory`, then renames it into place."""
    check_target(directory)
    directory = directory.absolute()
    draft: Path | None = None
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{directory.name}.", dir=directory.parent))
        draft.chmod(0o755)
        fill(draft)
        _replace(directory, draft)
    except OSError as error:
        raise InputError(f"--out {directory}: {reason(error)}; nothing was written") from error
    finally:
        if draft is not None and draft.exists():
            shutil.rmtree(draft, ignore_errors=True)
    return directory


def write_text(file: Path, text: str, flag: str, mark: str) -> Path:
    """Writes one file, whole or not at all. It may replace a file that begins with `mark`, and no other."""
    try:
        if file.exists() and mark not in file.read_text(encoding="utf-8", errors="replace")[:2000]:
            raise InputError(f"{flag} {file}: exists and was not written by hopcast; name another file")
        file.parent.mkdir(parents=True, exist_ok=True)
        draft = file.with_name(f".{file.name}.draft")
        try:
            draft.write_text(text, encoding="utf-8")
            draft.rename(file)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{flag} {file}: {reason(error)}; nothing was written") from error
    return file


def reason(error: OSError) -> str:
    """Reason for which the file system refused, in words."""
    if error.errno == errno.ENOSPC:
        return "no space is left on the device"
    return error.strerror or str(error)


def _replace(directory: Path, draft: Path) -> None:
    """Puts `draft` where `directory` is; an old report leaves only when the new one is complete."""
    if not directory.exists() or not any(directory.iterdir()):
        draft.rename(directory)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{directory.name}.old.", dir=directory.parent))
    directory.rename(old)
    try:
        draft.rename(directory)
    except OSError:
        old.rename(directory)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _write_tables(tables: Mapping[str, pyarrow.Table], into: Path) -> None:
    from pyarrow import parquet

    for name, table in tables.items():
        if table is not None:
            parquet.write_table(table, into / f"{name}{_TABLE}", compression="zstd")


def _write_timeline(result: Result, into: Path) -> None:
    from hopcast.report.timeline import write_timeline

    records = result.tables.get("call_records")
    if records is not None and records.num_rows:
        write_timeline(records, result.tables.get("message_records"), into / "timeline.json")


def read(path: Path) -> Result:
    """The report in a directory, or the summary alone of a `report.json`."""
    path = Path(path)
    file = path / "report.json" if path.is_dir() else path
    try:
        summary = json.loads(text_file.read(file))
    except FileNotFoundError:
        if parts.state(path) is not None:
            raise InputError(f"{path}: its run has not finished; 'hopcast watch {path}' follows it") from None
        raise InputError(f"{path}: no report here (a report is a directory with a report.json)") from None
    except OSError as error:
        raise InputError(f"{file}: {reason(error)}") from error
    except ValueError as error:
        raise InputError(f"{file}: is not JSON: {error}") from error
    if not isinstance(summary, dict) or "makespan_s" not in summary:
        raise InputError(f"{file}: is not a hopcast report: 'makespan_s' is missing")
    return Result(summary, _read_tables(path) if path.is_dir() else {})


def _read_tables(directory: Path) -> dict[str, pyarrow.Table]:
    import pyarrow
    from pyarrow import parquet

    tables = {}
    for file in sorted(directory.glob(f"*{_TABLE}")):
        try:
            tables[file.stem] = parquet.read_table(file)
        except (OSError, pyarrow.ArrowException) as error:
            raise InputError(f"{file}: cannot be read as Parquet: {error}") from error
    return tables


def to_json(summary: Mapping[str, Any]) -> str:
    """`report.json`: indented, in the order of its keys, ending in a line break."""
    return json.dumps(summary, indent=2, ensure_ascii=False) + "\n"
