"""Writes what of MPICH's test suite passes here, and why the rest does not, as a page."""

from __future__ import annotations

import fnmatch
import re
import textwrap
from pathlib import Path

PAGE = Path(__file__).with_name("mpich.md")

REASONS = {
    "f77/rma/aintf": "It declares MPI_AINT_ADD itself; mpif.h does, as the standard wants (MPI 5.0, 19.1.5).",
    "f90/coll/alltoallvf90": "It passes arrays where the interfaces of the module have one datatype.",
    "f90/coll/*_inp*": "It passes arrays where the interfaces of the module have one datatype.",
    "f90/coll/split_typef90": "It passes arrays where the interfaces of the module have one datatype.",
    "f90/profile/profile1f90": "It defines MPI_SEND, of which the module mpi has an interface.",
    "topo/cartsuball": "Each rank gets a grid without dimensions; MPICH gives one to the first alone.",
    "errhan/adderr": "It calls an extension of MPICH, `MPIX_Delete_error_string`.",
    "io/async": "It declares an `MPIO_Request`, of a draft of MPI 2.",
    "part/nonblocking_pready": "It sends nothing of `MPI_DATATYPE_NULL`, which is no datatype.",
    "coll/nonblocking[23]": "It keeps datatypes in an array of `int`, into which MPICH's handles fit alone.",
    "part/multipart": "It reads MPI_ERROR of a status, which calls with one status leave alone (3.2.5).",
    "rma/win_info": "Which hints a window answers with is not as MPICH has it.",
    "f08/profile/profile1f90": "It names `mpi_send_f08ts`, as MPICH's module calls it.",
    "f08/subarray/test1[45]": "It gives MPI_Irecv an array section; `MPI_SUBARRAYS_SUPPORTED` is false.",
    "f*/init/baseenv*": "It knows versions of MPI up to 4.",
    "init/session*": "It wants MPI_THREAD_MULTIPLE: a rank has one thread.",
    "errors/attr/keyvalmis": "A window's error handler answers for it, which is fatal until another is set.",
}
"""Reasons why programs do not pass, where that is meant or known, by patterns of names."""


def reason_of(name: str) -> str:
    """The reason of a test's program; empty where none is known."""
    return next((why for pattern, why in REASONS.items() if fnmatch.fnmatch(name.split()[0], pattern)), "")


def page(version: str, counts: dict[str, tuple[int, int]], failed: dict[str, str]) -> str:
    """The text: a table of folders, then what fails, by why."""
    lines = ["# MPICH's test suite", ""]
    lines += textwrap.wrap(
        "Written by `python validation/suites/mpich_suite.py --write`: the programs of MPICH's own test "
        f"suite (`test/mpi` of Debian's source package, {version}) that pass under Debian's MPICH, and how "
        "many of them pass under `hopcast run hopper`. Left out are MPICH's extensions, the C++ bindings, "
        "which MPI 3.0 has removed, and tests that need more than 4 GB. A program that passes here and was "
        "not run under MPICH counts as one that passes there.",
        width=118,
        break_on_hyphens=False,
    )
    lines.append("")
    lines += ["| folder | pass under MPICH | pass here | share |", "| --- | ---: | ---: | ---: |"]
    total = tuple(sum(count[at] for count in counts.values()) for at in (0, 1))
    for name, (here, there) in [*counts.items(), ("**all**", total)]:
        lines.append(f"| {name} | {there:,} | {here:,} | {100 * here / max(there, 1):.1f} % |")
    lines += ["", "## What does not pass, and why", ""]
    by_reason: dict[str, list[str]] = {}
    for name, said in failed.items():
        by_reason.setdefault(reason_of(name) or f"`{_short(said)}`", []).append(name)
    for reason, names in by_reason.items():
        lines.append(f"- {reason} " + ", ".join(f"`{name}`" for name in names))
    return "\n".join(lines) + "\n"


def _short(said: str) -> str:
    """Message without what differs in each run, or on each machine: addresses and paths."""
    said = re.sub(r"/\S*/|\+0x[0-9a-f]+|\bdisplacement \d+", "…", said)
    return said[:160].replace("`", "'")
