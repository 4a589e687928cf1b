"""The code of modules of which each rank has a copy: read once, shared by all."""

from __future__ import annotations

import importlib.machinery
import os
import types


def share(libraries: tuple[str, ...]) -> None:
    """Keeps the code of mpi4py, and of what is not in `libraries`, whose modules are loaded once anyway."""
    read = importlib.machinery.SourceFileLoader.get_code
    kept: dict[str, tuple[tuple[int, int], types.CodeType]] = {}

    def get_code(loader: importlib.machinery.SourceFileLoader, name: str) -> types.CodeType | None:
        path = loader.get_filename(name)
        if path.startswith(libraries) and name.partition(".")[0] != "mpi4py":
            return read(loader, name)
        status = os.stat(path)
        version = status.st_mtime_ns, status.st_size
        known = kept.get(path)
        if known is None or known[0] != version:
            known = kept[path] = version, read(loader, name)
        return known[1]

    importlib.machinery.SourceFileLoader.get_code = get_code
