"""Places of the MPI library, its header and the launcher of runs."""

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
    """True if a workload is a compiled program."""
    return _start(name, 4) == b"\x7fELF"


def _start(name: str, length: int) -> bytes:
    """The first bytes of a file; none of what is no file, or cannot be read."""
    try:
        if not Path(name).is_file():
            return b""
        with open(name, "rb") as file:
            return file.read(length)
    except (OSError, ValueError):
        return b""


_COMPILERS = {"cc": ".c", "cxx": ".C .cc .cpp .cxx .c++", "fc": ".f .F .for .f77 .f90 .F90 .f95 .f03 .f08"}
"""Source files of which each of hopcast's compilers makes a program."""


def refuse_what_starts_programs(name: str) -> None:
    """Refuses what is neither a program nor a trace but stands for a program, and says what to do."""
    path = Path(name)
    for compiler, endings in _COMPILERS.items():
        if path.is_file() and path.suffix in endings.split():
            raise InputError(
                f"{name}: a source file: compile it ('hopcast {compiler} {name} -o {path.stem}') and run "
                f"./{path.stem}"
            )
    start = _start(name, 200)
    if path.is_file() and path.stat().st_size == 0:
        raise InputError(f"{name}: the file is empty")
    if not start.startswith(b"#!"):
        return
    interpreter = start[2:].partition(b"\n")[0].strip().decode(errors="replace")
    if "python" in interpreter:
        raise InputError(f"{name}: a Python program, which hopcast knows by its name: call it {path.stem}.py")
    raise InputError(
        f"{name}: a script for {interpreter}: run what it starts, a compiled MPI program or one in Python "
        "(program.py), and set before what it sets"
    )


def is_mpi4py_program(name: str) -> bool:
    """True if a workload is a Python program that imports mpi4py, anywhere in its file."""
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
