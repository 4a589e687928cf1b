"""Text files that a user names."""

from __future__ import annotations

import errno
from pathlib import Path

_NAMED_PIPE = (
    "it is a named pipe, for whose writer hopcast could wait for ever; name a file, or give <(command)"
)


def read(file: Path) -> str:
    """Text of a file. Raises `OSError`, also for a pipe with a name of its own, or `UnicodeDecodeError`."""
    refuse_named_pipe(file)
    return file.read_text(encoding="utf-8")


def refuse_named_pipe(file: Path) -> None:
    """Raises `OSError` for a pipe with a name of its own; those of the shell (`<(command)`) have a writer."""
    if file.is_fifo() and file.parts[:2] not in (("/", "dev"), ("/", "proc")):
        raise OSError(errno.EINVAL, _NAMED_PIPE, str(file))
