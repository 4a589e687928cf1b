"""Recorded traces in tar archives of any compression: unpacked for as long as they are read."""

from __future__ import annotations

import contextlib
import lzma
import os
import shutil
import tarfile
import zlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path, PurePosixPath

from hopcast import scratch
from hopcast.errors import InputError

_LEAST_MEMBER_B = 512
"""Bytes for which a member counts at the least, so that many empty ones count, too."""

DAMAGED = (tarfile.TarError, lzma.LZMAError, zlib.error, EOFError)
"""Exceptions of reading an archive or a compressed file that is cut or damaged; gzip has an OSError, too."""


most_B: ContextVar[int | None] = ContextVar("most_B", default=None)
"""Bytes to which an archive may unpack; None for any number. Set where archives come from strangers."""


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
    except (OSError, *DAMAGED):
        return False


def _is_plain(name: str) -> bool:
    """True for an archive without compression."""
    with open(name, "rb") as file:
        return file.read(262)[257:] == b"ustar"


def _unpack(name: str, folder: str) -> None:
    try:
        with tarfile.open(name) as archive:
            extract(archive, folder, _Within(name, most_B.get()))
    except DAMAGED as error:
        raise InputError(f"{name}: this archive is damaged: {error}") from error
    except OSError as error:
        raise InputError(f"{name}: cannot unpack this archive: {error.strerror or error}") from error


def extract(
    archive: tarfile.TarFile, folder: str, check: Callable[[tarfile.TarInfo], None] = lambda _member: None
) -> None:
    """Unpacks an archive into a new folder, and nothing elsewhere. Raises `TarError` for what leads out.

    check: function that may refuse a member.
    """
    if hasattr(tarfile, "data_filter"):

        def checked(member: tarfile.TarInfo, path: str) -> tarfile.TarInfo | None:
            check(member)
            return tarfile.data_filter(member, path)

        archive.extractall(folder, filter=checked)
        return
    for member in archive:
        check(member)
        _extract_plain(archive, member, folder)


def _extract_plain(archive: tarfile.TarFile, member: tarfile.TarInfo, folder: str) -> None:
    """Unpacks a file or a folder: Python before 3.10.12, and 3.11 before 3.11.4, checks no links itself."""
    path = PurePosixPath(member.name.lstrip("/"))
    if ".." in path.parts:
        raise tarfile.TarError(f"{member.name!r} leads out of it")
    target = Path(folder, path)
    if member.isdir():
        target.mkdir(parents=True, exist_ok=True)
        return
    content = archive.extractfile(member) if member.isfile() else None
    if content is None:
        raise tarfile.TarError(
            f"{member.name!r} is a link or a device; a newer Python takes links: 3.10.12, 3.11.4 or 3.12"
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    with content, open(target, "wb") as out:
        shutil.copyfileobj(content, out)


class _Within:
    """Check of members that refuses more than a number of bytes."""

    def __init__(self, name: str, most_B: int | None) -> None:
        self._name, self._most_B, self._sum_B = name, most_B, 0

    def __call__(self, member: tarfile.TarInfo) -> None:
        self._sum_B += max(member.size, _LEAST_MEMBER_B)
        if self._most_B is not None and self._sum_B > self._most_B:
            raise InputError(f"{self._name}: this archive unpacks to more than {self._most_B:,} bytes")


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
