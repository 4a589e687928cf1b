"""Recorded traces in tar archives of any compression: unpacked for as long as they are read."""

from __future__ import annotations

import contextlib
import lzma
import os
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from hopcast import scratch
from hopcast.errors import InputError

_DAMAGED = (tarfile.TarError, lzma.LZMAError, zlib.error, EOFError)


@contextlib.contextmanager
def opened(path: str | os.PathLike) -> Iterator[str]:
    """Place at which the trace at `path` can be read: `path` itself, or a temporary folder for a tar archive.

    Raises `InputError`, which names the archive and not the folder, for one that is damaged, or whose files
    are not in one folder.
    """
    name = os.fspath(path)
    if not is_archive(name):
        yield name
        return
    with scratch.folder() as folder:
        try:
            _unpack(name, str(folder))
            yield str(_only_folder(name, folder))
        except InputError as error:
            raise InputError(str(error).replace(str(folder), name)) from error


def is_archive(name: str) -> bool:
    """True for a tar archive that holds something: a file of zeros looks like an empty one. One of
    hopcast's own format is read where it lies."""
    if not os.path.isfile(name) or (name.endswith(".hct") and _is_plain(name)):
        return False
    try:
        with tarfile.open(name) as archive:
            return archive.next() is not None
    except (OSError, *_DAMAGED):
        return False


def _is_plain(name: str) -> bool:
    """True for an archive without compression."""
    with open(name, "rb") as file:
        return file.read(262)[257:] == b"ustar"


def _unpack(name: str, folder: str) -> None:
    try:
        with tarfile.open(name) as archive:
            archive.extractall(folder, filter="data")
    except _DAMAGED as error:
        raise InputError(f"{name}: this archive is damaged: {error}") from error
    except OSError as error:
        raise InputError(f"{name}: cannot unpack this archive: {error.strerror or error}") from error


def _only_folder(name: str, folder: Path) -> Path:
    """The one folder that holds the files; of an OTF2 archive, the one that holds its anchor."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    anchors = [file for file in files if file.suffix == ".otf2"]
    if len(anchors) == 1:
        return anchors[0].parent
    holds = sorted({file.parent for file in files})
    if not holds:
        raise InputError(f"{name}: this archive holds folders only")
    if len(holds) > 1:
        names = ", ".join(str(place.relative_to(folder)) for place in holds[:4])
        raise InputError(
            f"{name}: this archive holds files in {len(holds)} folders ({names}); unpack it and name one"
        )
    return holds[0]
