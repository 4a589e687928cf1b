"""Where the MPI library, its header and the launcher of runs are."""

from __future__ import annotations

from pathlib import Path

from hopcast.errors import InputError

_PACKAGE = Path(__file__).resolve().parents[1]
INCLUDE = _PACKAGE / "include"
"""The folder of `mpi.h`."""

LIBRARIES = _PACKAGE / "lib"
"""The folder of the MPI library, under its names, and of the launcher."""

LIBRARY = LIBRARIES / "libmpi_abi.so.1"
LAUNCHER = LIBRARIES / "hopcast-launcher"


def check() -> None:
    """Refuses where this hopcast was built without them."""
    for path in (LIBRARY, LAUNCHER, INCLUDE / "mpi.h"):
        if not path.exists():
            raise InputError(
                f"{path} is missing: this hopcast was built without its MPI library, which 'make build' "
                "builds on Linux for x86-64"
            )


def is_executable(name: str) -> bool:
    """Whether a workload is a compiled program."""
    try:
        with open(name, "rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False
