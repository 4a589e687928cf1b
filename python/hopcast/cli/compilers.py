"""`hopcast cc`, `cxx`: the system's compilers, with this MPI's header and library."""

from __future__ import annotations

import os
import shutil

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
        os.execvp(compiler.split()[0], [*compiler.split(), *arguments(words)])

    return command


def arguments(words: tuple[str, ...]) -> list[str]:
    """The compiler's arguments: the user's, where the header is, and what a program is linked with."""
    given = set(words)
    around = [f"-I{library.INCLUDE}"]
    if "-shared" in given:
        around.append("-fPIC")
    else:
        around.append("-fPIE")
    if given & _NOT_LINKING or not any(not word.startswith("-") for word in words):
        return [*around, *words]
    kind = [] if given & {"-shared", "-static"} else ["-pie"]
    return [*around, *kind, *words, f"-L{library.LIBRARIES}", "-lmpi_abi"]


cc = _compiler("CC", "cc")
cxx = _compiler("CXX", "c++")
