"""Recordings as files in hopcast's own format: made of others, grown to more ranks, or a part of one."""

from __future__ import annotations

import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

from hopcast import core, scratch
from hopcast.errors import InputError
from hopcast.signals import ending_in_order


def converted(
    path: str, out: str, one_file: bool, tallied: bool | None, flop_rate: str | None = None
) -> tuple[dict, int]:
    """Writes the recorded run at `path` as `out`, a folder or one file, which is not there yet: what
    `sim::trace::convert` says of it, and its size [bytes]. With times tallied, exact, or (None) as they are.

    flop_rate: how fast it computes, such as "1 Gflop/s", where it has operations instead of times.
    """
    return _written(out, one_file, lambda folder: core.trace_convert(path, folder, tallied, flop_rate))


def scaled(
    path: str,
    out: str,
    one_file: bool,
    grid: list[int] | None,
    to: list[int],
    flop_rate: str | None = None,
) -> tuple[dict, int]:
    """The same of the run that stands for the one at `path` on more ranks: see `sim::trace::scale`."""
    return _written(out, one_file, lambda folder: core.trace_scale(path, folder, grid, to, None, flop_rate))


def sliced(
    path: str,
    out: str,
    one_file: bool,
    start: str | None,
    end: str | None,
    meetings: tuple[int, int] | None,
    ranks: list[tuple[int, int]] | None = None,
    outside: str | None = None,
    flop_rate: str | None = None,
) -> tuple[dict, int]:
    """The same of a part of the run at `path`: see `sim::trace::slice`.

    ranks: those from the first to the last of each pair.
    """

    def write(folder: str) -> dict:
        return core.trace_slice(path, folder, (start, end), meetings, ranks, outside, flop_rate)

    return _written(out, one_file, write)


def _written(out: str, one_file: bool, write: Callable[[str], dict]) -> tuple[dict, int]:
    target = Path(out)
    if target.exists():
        raise InputError(f"{out} exists already; --out names another")
    if target.suffix != ".hct":
        raise InputError(f"{out}: what is written is called NAME.hct")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with ending_in_order(), scratch.folder(".hopcast-", target.parent) as beside:
            folder = beside / target.name
            folder.mkdir()
            written = write(str(folder))
            size = sum(file.stat().st_size for file in folder.iterdir())
            made = _archive(folder) if one_file else folder
            shutil.move(made, target)
    except OSError as error:
        raise InputError(f"{out}: {error.strerror or error}") from error
    return written, size


def _archive(folder: Path) -> Path:
    """The archive of a folder, beside it."""
    archive = folder.with_suffix(".tar")
    with tarfile.open(archive, "w") as into:
        for file in sorted(folder.iterdir()):
            into.add(file, f"{folder.name}/{file.name}")
    return archive
