"""Where the MPI library, its header and the launcher of runs are."""

from __future__ import annotations

import ast
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


def is_mpi4py_program(name: str) -> bool:
    """Whether a workload is a Python program that imports mpi4py, anywhere in its file."""
    if not name.endswith(".py"):
        return False
    try:
        tree = ast.parse(Path(name).read_bytes(), name)
    except (OSError, SyntaxError, ValueError):
        return False  # what is wrong is said by who reads it next
    return any("mpi4py" in _imported(node) for node in ast.walk(tree))


def _imported(node: ast.AST) -> set[str]:
    """The packages that a statement imports."""
    if isinstance(node, ast.Import):
        return {alias.name.partition(".")[0] for alias in node.names}
    if isinstance(node, ast.ImportFrom) and not node.level:
        return {(node.module or "").partition(".")[0]}
    if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
        name = node.args[0].value  # of importlib.import_module, for one
        return {name.partition(".")[0]} if isinstance(name, str) else set()
    return set()
