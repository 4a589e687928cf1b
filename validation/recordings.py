"""Recorded runs in `$HOPCAST_DATA` (default `../shared/data`), unpacked where they can be replayed."""

from __future__ import annotations

import csv
import os
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


class Absent(Exception):
    """A recording that is not there: says so in one line."""


def data() -> Path:
    """Folder of recordings."""
    return Path(os.environ.get("HOPCAST_DATA") or ROOT / ".." / "shared" / "data")


def unpacked(name: str, out: Path) -> Path:
    """The folder of the recording `name` of `dumpi`, unpacked below `out` at the first time."""
    archive = data() / "dumpi" / f"{name}.tar.xz"
    if not archive.exists():
        raise Absent(f"skipped: no {archive.name} in {archive.parent} (set HOPCAST_DATA)")
    folder = out / "recordings" / name
    if not folder.exists():
        # Unpacked beside it first, so that an interrupted start is not taken for the whole.
        partial = folder.with_name(f"{name}.partial")
        with tarfile.open(archive) as files:
            files.extractall(partial, filter="data")
        partial.rename(folder)
    return next(path.parent for path in sorted(folder.rglob("*.bin")))


def ranks(name: str) -> list[dict[str, str]]:
    """Facts about each rank of the recording by a reference reader."""
    with open(data() / "dumpi" / f"{name}-ranks.csv", newline="") as rows:
        return list(csv.DictReader(rows))


def wall_s(name: str) -> float:
    """The recorded run time: the longest of any rank, from its first call to its last return [s]."""
    return max(float(rank["wall_s"]) for rank in ranks(name))
