"""The functions and constants of the C header, as the other modules of this folder need them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

HANDLES = (
    "MPI_Comm",
    "MPI_Datatype",
    "MPI_Errhandler",
    "MPI_File",
    "MPI_Group",
    "MPI_Info",
    "MPI_Message",
    "MPI_Op",
    "MPI_Request",
    "MPI_Session",
    "MPI_Win",
)
_LONG = {"MPI_Aint": "MPI_ADDRESS_KIND", "MPI_Count": "MPI_COUNT_KIND", "MPI_Offset": "MPI_OFFSET_KIND"}
_PROTOTYPE = re.compile(r"(?P<returns>\S+) MPI_FN\((?P<name>\w+)\)\((?P<parameters>.*)\);")
_PARAMETER = re.compile(r"(?P<type>.*?)(?P<name>\w+)(?P<array>(\[\d*\])*)$")


@dataclass(frozen=True)
class Parameter:
    """A parameter of a C function."""

    base: str
    """Its type without `const` and asterisks."""
    name: str
    stars: int
    """Levels of pointers, arrays among them."""
    array: bool
    constant: bool

    @property
    def fortran_name(self) -> str:
        """The standard's name in Fortran."""
        return "index" if self.name == "indx" else self.name

    @property
    def kind(self) -> str:
        """Rule by which C gets the parameter from Fortran."""
        if self.base in HANDLES:
            return ("handle", "handles" if self.array else "handle_out")[min(self.stars, 1)]
        if self.base == "MPI_Status":
            return "statuses" if self.name == "array_of_statuses" else "status"
        if self.base.endswith(("_function", "_function_c")):
            return "function"
        if self.base == "void":
            return {"extra_state": "extra_state", "attribute_val": "attribute"}.get(self.name, "buffer")
        if self.base == "char":
            return "other" if self.stars > 1 else "text" if self.constant else "text_out"
        if self.base == "int" or self.base in _LONG:
            return ("value", "numbers" if self.array else "number_out")[min(self.stars, 1)]
        return "other"

    @property
    def fortran_kind(self) -> str:
        """`integer`, of its kind."""
        return f"integer(kind={_LONG[self.base]})" if self.base in _LONG else "integer"

    @property
    def is_logical(self) -> bool:
        """A number of C that says yes or no."""
        return self.base == "int" and self.name in _LOGICAL


_LOGICAL = ("flag", "commute", "reorder", "periods", "remain_dims", "high", "weighted", "is_set")


@dataclass(frozen=True)
class Function:
    """A function of C."""

    name: str
    """Without `MPI_`."""
    returns: str
    parameters: tuple[Parameter, ...]
    chapter: str
    """The header that it stands in."""

    @property
    def is_large(self) -> bool:
        """One with counts of `MPI_Count`, beside one of the same name without `_c`."""
        return self.name.endswith("_c")


def functions(include: Path) -> list[Function]:
    """All that Fortran has: not the tool interface, nor what C alone needs, nor what removed.c has."""
    found = []
    for path in sorted((include / "mpi").glob("*.h")):
        if path.stem == "removed":
            continue
        for line in path.read_text().splitlines():
            match = _PROTOTYPE.match(line)
            if match and _is_fortran(match["name"]):
                found.append(_function(match, path.stem))
    return found


def _is_fortran(name: str) -> bool:
    c_only = ("_c2f", "_f2c", "_toint", "_fromint", "2c", "c2f08")
    return not name.startswith(("T_", "Abi_")) and not name.endswith(c_only)


def _function(match: re.Match, chapter: str) -> Function:
    texts = [text.strip() for text in match["parameters"].split(",")]
    parameters = tuple(_parameter(text) for text in texts if text not in ("void", "..."))
    return Function(match["name"], match["returns"], parameters, chapter)


def _parameter(text: str) -> Parameter:
    match = _PARAMETER.match(text)
    assert match, text
    kind = match["type"].replace("const ", "")
    stars = kind.count("*") + (1 if match["array"] else 0)
    base = kind.replace("*", "").strip()
    return Parameter(base, match["name"], stars, bool(match["array"]), "const " in match["type"])


@dataclass(frozen=True)
class Constant:
    """A constant of the header."""

    name: str
    value: int
    handle: str = ""
    """Its type, where it is a handle."""


_HANDLE = re.compile(r"#define (MPI_\w+) \(\((MPI_\w+)\)(0x[0-9a-f]+)\)")
_OTHER_NAME = re.compile(r"#define (MPI_\w+) (MPI_\w+)$", re.MULTILINE)
_NUMBER = re.compile(r"^\s+(MPI_\w+) = (-?\w+),?$", re.MULTILINE)
_DEFINED = re.compile(r"#define (MPI_(?:VERSION|SUBVERSION|MAX_\w+|BSEND_OVERHEAD)) (\d+)")


def constants(include: Path) -> list[Constant]:
    """Constants that Fortran has; lengths of texts are one less than in C, which ends texts with a zero."""
    text = (include / "mpi.h").read_text()
    found = [
        Constant(name, int(value, 16), kind)
        for name, kind, value in _HANDLE.findall(text)
        if kind in HANDLES and not name.startswith("MPI_CXX_")
    ]
    by_name = {constant.name: constant for constant in found}
    found += [replace(by_name[of], name=name) for name, of in _OTHER_NAME.findall(text) if of in by_name]
    numbers = [*_NUMBER.findall(text), *_DEFINED.findall(text)]
    for name, value in numbers:
        if not name.startswith(("MPI_T_", "MPI_F_")):
            found.append(Constant(name, int(value, 0) - name.startswith("MPI_MAX_")))
    return found
