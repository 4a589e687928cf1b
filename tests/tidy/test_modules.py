"""Modules of the crates know each other in one direction: no circle, and the layers of libmpi."""

from __future__ import annotations

import graphlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

CRATES = Path(__file__).resolve().parents[2] / "crates"
NAMES = sorted(folder.name for folder in CRATES.iterdir() if (folder / "src" / "lib.rs").exists())

LIBMPI = (
    # A rank as a process of the host: stacks, loaded programs, the C library's view, folded memory. No MPI.
    ("arena", "fiber", "loader", "process_view", "fold", "kernels"),
    # Objects of MPI: handles, contents of messages, communicators, datatypes, requests, windows.
    ("abi", "data", "objects"),
    # Ranks that run, as a source of operations.
    ("live",),
    # The functions of MPI.
    ("translation", "call"),
    # Fronts: MPICH's interface, the interpreter, the job of the launcher.
    ("mpich", "peers", "job", "accounting", "launch", "interpreter"),
)
"""Layers of libmpi, lowest first; a module may name those of its layer and of lower ones."""


def modules(crate: Path) -> dict[str, set[str]]:
    """The modules of a crate's root, with those that each names, outside of unit tests."""
    found: dict[str, set[str]] = {}
    for file in sorted((crate / "src").rglob("*.rs")):
        module = file.relative_to(crate / "src").parts[0].removesuffix(".rs")
        if module not in ("lib", "main"):
            found.setdefault(module, set()).update(named(file.read_text()))
    return {
        module: {other for other in others if other in found} - {module} for module, others in found.items()
    }


def named(text: str) -> Iterator[str]:
    """First segments of the paths that begin with `crate::`."""
    code = re.sub(r"//[^\n]*", "", text.split("#[cfg(test)]\nmod tests")[0])
    for path in re.finditer(r"\bcrate::(\w+|\{)", code):
        if path[1] != "{":
            yield path[1]
            continue
        depth, start = 0, path.end()
        for at in range(path.end(), len(code)):
            depth += (code[at] == "{") - (code[at] == "}")
            if depth < 0 or (depth == 0 and code[at] == ","):
                if first := re.match(r"\s*(\w+)", code[start:at]):
                    yield first[1]
                start = at + 1
            if depth < 0:
                break


@pytest.mark.parametrize("crate", NAMES)
def test_no_circle_between_modules(crate: str) -> None:
    try:
        graphlib.TopologicalSorter(modules(CRATES / crate)).prepare()
    except graphlib.CycleError as error:
        pytest.fail(f"{crate}: {' ← '.join(error.args[1])}")


def test_libmpi_is_in_layers() -> None:
    level = {module: number for number, layer in enumerate(LIBMPI) for module in layer}
    found = modules(CRATES / "libmpi")
    assert set(found) == set(level), "each module of libmpi has a layer"
    up = [
        (module, other)
        for module, others in found.items()
        for other in others
        if level[other] > level[module]
    ]
    assert not up


def test_the_processes_of_the_host_know_nothing_of_mpi() -> None:
    """Kernels alone name the crate `mpi`, for the noise of their times."""
    for module in LIBMPI[0]:
        folder = CRATES / "libmpi" / "src" / module
        files = [folder.with_suffix(".rs")] if folder.with_suffix(".rs").exists() else folder.rglob("*.rs")
        used = {name for file in files for name in re.findall(r"\buse mpi::(\w+|\{)", file.read_text())}
        assert used <= ({"compute"} if module == "kernels" else set()), module


def test_names_are_found_in_every_form() -> None:
    text = "use crate::one::Thing;\nuse crate::{two, three::{a, b}, four};\n// use crate::five;\n"
    text += "fn f() { crate::six::g() }\n#[cfg(test)]\nmod tests { use crate::seven; }\n"
    assert list(named(text)) == ["one", "two", "three", "four", "six"]
