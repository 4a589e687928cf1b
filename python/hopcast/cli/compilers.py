"""`hopcast cc`, `cxx`, `fc`: the system's compilers, with this MPI's header and library."""

from __future__ import annotations

import os
import shutil
from typing import NamedTuple

import click

from hopcast.errors import InputError
from hopcast.live import library

_NOT_LINKING = {"-c", "-S", "-E", "-M", "-MM", "-fsyntax-only"}

_INSIDE = "HOPCAST_COMPILER_RUNS"


def _compiler(variable: str, usual: str) -> click.Command:
    @click.command(
        name=variable.lower(),
        context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
        add_help_option=False,
        help=f"Compile with {usual} (or ${variable}) for 'hopcast run': all arguments are the compiler's.",
    )
    @click.argument("words", nargs=-1, type=click.UNPROCESSED)
    def command(words: tuple[str, ...]) -> int:
        library.check()
        # `make CC="hopcast cc"` names this command to itself.
        compiler = usual if _INSIDE in os.environ else os.environ.get(variable, usual)
        os.environ[_INSIDE] = "1"
        if shutil.which(compiler.split()[0]) is None:
            raise InputError(f"{compiler}: no such compiler; ${variable} names another")
        program = compiler.split()
        os.execvp(
            program[0], [*program, *arguments(words, fortran(program) if variable == "FC" else FORTRAN_OFF)]
        )

    return command


class _Extra(NamedTuple):
    """Files and flags that a language needs beside the C header and library."""

    compiling: list[str]
    linking: list[str]


FORTRAN_OFF = _Extra([], [])


def fortran(compiler: list[str]) -> _Extra:
    """mpif.h, the modules, and the procedures of Fortran's names, for this compiler."""
    from hopcast.live.fortran import build_modules

    folder = build_modules.folder(compiler)
    # Calls of one procedure with buffers of different types are what mpif.h is for.
    mismatch = ["-fallow-argument-mismatch"] if build_modules.refuses_mismatch(compiler) else []
    return _Extra([f"-I{folder}", *mismatch], [str(folder / build_modules.ARCHIVE)])


def arguments(words: tuple[str, ...], extra: _Extra = FORTRAN_OFF) -> list[str]:
    """The compiler's arguments: the user's, where the header is, and what a program is linked with."""
    given = set(words)
    around = [f"-I{library.INCLUDE}", "-DHOPCAST", *extra.compiling]
    if "-shared" in given:
        around.append("-fPIC")
    else:
        around.append("-fPIE")
    if given & _NOT_LINKING or not any(not word.startswith("-") for word in words):
        return [*around, *words]
    kind = [] if given & {"-shared", "-static"} else ["-pie"]
    return [*around, *kind, *words, *extra.linking, f"-L{library.LIBRARIES}", "-lmpi_abi"]


cc = _compiler("CC", "cc")
cxx = _compiler("CXX", "c++")
fc = _compiler("FC", "gfortran")
