"""Debian's source packages, fetched with `apt-get source` and kept in `$XDG_CACHE_HOME/hopcast`."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

from recordings import Absent

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "hopcast"
LISTS = Path("/etc/apt/sources.list.d")
ADD_SOURCES = (
    f"sed 's/^Types: deb$/Types: deb-src/' {LISTS}/debian.sources | sudo tee {LISTS}/src.sources"
    if (LISTS / "debian.sources").exists()
    else f"sed -n 's/^deb /deb-src /p' /etc/apt/sources.list | sudo tee {LISTS}/src.list"
) + " && sudo apt-get update"
"""Commands needed once where apt-get knows no sources, for the format of the list that this system has."""


def source(package: str, cache: Path) -> Path:
    """The folder below `cache` of a package's source as it is published, without Debian's changes."""
    target = cache / package
    if target.exists():
        return target
    if shutil.which("apt-get") is None:
        raise Absent(f"skipped: there is no apt-get to fetch the source package {package} with")
    cache.mkdir(parents=True, exist_ok=True)
    command = ["apt-get", "source", "--download-only", "-qq", package]
    done = subprocess.run(command, cwd=cache, capture_output=True, text=True, check=False)
    description = next(iter(sorted(cache.glob(f"{package}_*.dsc"))), None)
    archive = next(iter(sorted(cache.glob(f"{package}_*.orig.tar.*"))), None)
    if description is None or archive is None:
        said = (done.stderr.strip().splitlines() or ["nothing came"])[-1]
        raise Absent(
            f"skipped: {' '.join(command)}: {said} (where apt-get knows no sources, once: {ADD_SOURCES})"
        )
    _check(archive, description)
    partial = cache / f"{package}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    with tarfile.open(archive) as files:
        files.extractall(partial, filter="tar")
    # Nearly all archives have one folder at the top.
    inside = list(partial.iterdir())
    (inside[0] if len(inside) == 1 else partial).rename(target)
    shutil.rmtree(partial, ignore_errors=True)
    return target


def _check(archive: Path, description: Path) -> None:
    """The archive is the one that the package's signed description names."""
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    named = re.search(
        rf"^ ([0-9a-f]{{64}}) \d+ {re.escape(archive.name)}$", description.read_text(), re.MULTILINE
    )
    if named is None or named[1] != digest:
        raise Absent(f"skipped: {archive.name} is not what {description.name} says")
