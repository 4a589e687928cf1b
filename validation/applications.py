"""Applications in C++ and Fortran from Debian's source packages, unchanged, beside what their authors saw.

SUNDIALS (package sundials) has parallel examples, and for each what it prints: ARKODE's heat equation and
KINSOL's expectation maximisation in C++, ARKODE's Brusselator in Fortran 2003, with modules. Each is
compiled with `hopcast cc`, `cxx` and `fc`; what MPICH's compiler makes of C++ runs, too, as it is. Needs
cmake and gfortran, and for the latter MPICH (libmpich-dev).
Expected: the same lines. The steps of the heat equation follow the last bits of sums over ranks, whose order
MPI leaves open: its error at the end is the same to 0.1 %.

Run it as `python validation/applications.py [--quick]`; quick leaves out MPICH's compilers.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import building
import debian
from recordings import Absent
from results import Kind, Result, main

KIND = Kind.OWN
NO_NULL = "compares what programs print"

CACHE = debian.CACHE / "applications"
UNNEEDED = ("CVODE", "CVODES", "IDA", "IDAS")
"""Parts of SUNDIALS that no program here calls."""


@dataclass(frozen=True)
class Program:
    """An example of SUNDIALS."""

    language: str
    path: str
    ranks: int
    words: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.path.rpartition("/")[2]

    @property
    def published(self) -> list[str]:
        """Output that its authors have published."""
        end = "".join(f"_{'_'.join(self.words)}" if self.words else "")
        file = debian.source("sundials", CACHE) / "examples" / f"{self.path}{end}.out"
        return lines(file.read_text())


FORTRAN = "Fortran 2003"
HEAT = Program("C++", "arkode/CXX_parallel/ark_heat2D_p", 4, ("--np", "2", "2"))
PROGRAMS = (
    Program("C++", "kinsol/CXX_parallel/kin_em_p", 2),
    Program(FORTRAN, "arkode/F2003_parallel/ark_brusselator1D_task_local_nls_f2003", 4, ("--monitor",)),
)
KINDS = {
    "CMAKE_C": "cc",
    "CMAKE_CXX": "cxx",
    "CMAKE_Fortran": "fc",
    "MPI_C": "cc",
    "MPI_CXX": "cxx",
    "MPI_Fortran": "fc",
}
OPTIONS = (
    "-DENABLE_MPI=ON",
    "-DSUNDIALS_LOGGING_ENABLE_MPI=ON",
    "-DBUILD_FORTRAN_MODULE_INTERFACE=ON",
    "-DBUILD_SHARED_LIBS=OFF",
    "-DEXAMPLES_ENABLE_C=OFF",
    "-DEXAMPLES_ENABLE_CXX=ON",
    "-DEXAMPLES_ENABLE_F2003=ON",
    "-DEXAMPLES_INSTALL=OFF",
)


def built(under: str) -> Path:
    """The folder of SUNDIALS' examples, compiled for `mpich` or `hopcast`."""
    folder = CACHE / (f"sundials-{building.header()}" if under == "hopcast" else "sundials-mpich")
    examples = folder / "examples"
    if all((examples / program.path).exists() for program in (HEAT, *PROGRAMS)):
        return examples
    source = debian.source("sundials", CACHE)
    names = building.compilers(under, CACHE / "bin")
    folder.mkdir(parents=True, exist_ok=True)
    words = [f"-D{kind}_COMPILER={names[name]}" for kind, name in KINDS.items()]
    words += [f"-D{kind}_FLAGS=-O1" for kind in KINDS if kind.startswith("CMAKE")]
    words += [f"-DBUILD_{name}=OFF" for name in UNNEEDED]
    building.run(["cmake", source, *OPTIONS, *words], folder, "cmake of SUNDIALS")
    targets = [program.name for program in (HEAT, *PROGRAMS)]
    building.run(["make", f"-j{os.cpu_count()}", *targets], folder, "SUNDIALS")
    return examples


def lines(text: str) -> list[str]:
    """Those that say something: none of the library's own log, nor empty ones."""
    return [line.rstrip() for line in text.splitlines() if line.strip() and not line.startswith("[LOGGER")]


def printed(under: str, program: Program, folder: Path) -> list[str]:
    """Output of a program under hopcast, compiled by one or the other, without hopcast's own last line."""
    compiled = built(under) / program.path
    command = [sys.executable, "-m", "hopcast", "run", "hopper", "-n", str(program.ranks), "--quiet"]
    words = [*command, "--compute", "none", str(compiled), *program.words]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr[-500:]}")
    return lines(done.stdout)[:-1]


def others(one: list[str], other: list[str]) -> int:
    """Number of lines in which the two differ."""
    return sum(a != b for a, b in zip(one, other, strict=False)) + abs(len(one) - len(other))


def last_error(told: list[str]) -> float:
    """The error at the end of the heat equation, over all points."""
    rows = [line.split() for line in told]
    return float([row for row in rows if len(row) == 3 and re.match(r"\d\.\d+e", row[0])][-1][2])


def compare(out: Path, quick: bool) -> list[Result]:
    """All programs."""
    folder = out.resolve() / "applications"
    folder.mkdir(parents=True, exist_ok=True)
    results = []
    for program in PROGRAMS:
        theirs = program.published
        ours = printed("hopcast", program, folder)
        what = f"{program.name} ({program.language}), {program.ranks} ranks: lines that differ"
        why = f"of {len(theirs)} that its authors had printed"
        results.append(Result(what, 0, others(theirs, ours), "", 0.0, why))
    ours = printed("hopcast", HEAT, folder)
    what = f"{HEAT.name} ({HEAT.language}), {HEAT.ranks} ranks: largest error at the end"
    why = "of its authors; steps follow the last bits of sums"
    results.append(Result(what, last_error(HEAT.published), last_error(ours), "", 1e-3, why))
    if not quick:
        results += of_mpich(folder)
    return results


def of_mpich(folder: Path) -> list[Result]:
    """C++ programs of MPICH's compiler, beside those of hopcast's. Fortran's has a library of its own."""
    try:
        built("mpich")
    except Absent:
        return []
    results = []
    for program in (HEAT, *(one for one in PROGRAMS if one.language != FORTRAN)):
        ours, theirs = (printed(under, program, folder) for under in ("hopcast", "mpich"))
        what = f"{program.name}, compiled by MPICH's compilers: lines that differ"
        why = f"of {len(ours)} that it prints compiled by hopcast's"
        results.append(Result(what, 0, others(ours, theirs), "", 0.0, why))
    return results


if __name__ == "__main__":
    main(compare, __doc__)
