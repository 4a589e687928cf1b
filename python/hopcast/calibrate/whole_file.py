"""Files that stand whole or not at all, also on a disk that gets full."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path

from hopcast.errors import InputError


def write(place: Path, text: str) -> None:
    """Writes a text beside `place`, and puts it there when it is complete: what was there is kept else.

    A link keeps its name, and its target gets the text; what is no file (/dev/stdout) is written as it is.
    """
    target = place.resolve()
    try:
        if target.exists() and not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        if target.exists() and not (target.is_file() and os.access(target.parent, os.W_OK)):
            target.write_text(text)
            return
        part = target.with_name(f".{target.name}.part")
        try:
            with part.open("w", newline="") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            if target.exists():
                part.chmod(target.stat().st_mode & 0o7777)
            part.replace(target)
        except OSError:
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InputError(f"{place}: cannot be written: {error.strerror}") from None
