"""Entry points for Fortran: for each function of C one of Fortran's name, which takes all by address.

`mpi_send_` is a weak name of `pmpi_send_`, so that a tool may define it. The procedures of mpi_f08 are the
same: a `type(MPI_Comm)` lies in memory as its integer does; where `ierror` is left out, its address is null.
"""

from __future__ import annotations

from hopcast.live.fortran.table import Function, Parameter

BY_HAND = frozenset(
    (
        "Init",
        "Init_thread",
        "Pcontrol",
        "Wtime",
        "Wtick",
        "Aint_add",
        "Aint_diff",
        "Info_get",
        "Info_get_string",
        "Info_create_env",
        "Comm_create_keyval",
        "Type_create_keyval",
        "Win_create_keyval",
        "Keyval_create",
        "Comm_get_attr",
        "Type_get_attr",
        "Win_get_attr",
        "Attr_get",
        "Comm_set_attr",
        "Type_set_attr",
        "Win_set_attr",
        "Attr_put",
        "Grequest_start",
        "Register_datarep",
        "Register_datarep_c",
        "Session_get_nth_pset",
        "Comm_spawn",
        "Comm_spawn_multiple",
        "Status_f2f08",
        "Status_f082f",
        "Buffer_detach",
        "Buffer_detach_c",
        "Comm_detach_buffer",
        "Comm_detach_buffer_c",
        "Session_detach_buffer",
        "Session_detach_buffer_c",
        "Status_c2f",
        "Status_f2c",
    )
)
"""Those that differ from C in more than how arguments are passed: `special.c` has them."""

_WEIGHTS = ("weights", "sourceweights", "destweights")


def source(functions: list[Function], chapter: str) -> str:
    """The C source of a chapter."""
    parts = ['#include "entries.h"\n']
    parts += [_entry(f) for f in functions if f.chapter == chapter and f.name not in BY_HAND]
    return "\n".join(parts)


def _entry(function: Function) -> str:
    """One procedure of Fortran."""
    name = function.name.lower()
    texts = [p.name for p in function.parameters if p.kind.startswith("text")]
    declared = [_declared(p) for p in function.parameters]
    declared += ["MPI_Fint *ierror", *(f"size_t {text}_length" for text in texts)]
    before: list[str] = []
    after: list[str] = []
    for parameter in function.parameters:
        _around(function, parameter, before, after)
    arguments = ", ".join(_argument(p) for p in function.parameters)
    lines = [*before, f"int code = MPI_{function.name}({arguments});", *after]
    body = "".join(f"    {line}\n" for line in [*lines, "if (ierror) *ierror = code;"])
    return f"void pmpi_{name}_({', '.join(declared)}) {{\n{body}}}\nNAMES({name})\n"


def _declared(p: Parameter) -> str:
    """As C sees what Fortran passes."""
    match p.kind:
        case "handle" | "handles" | "handle_out":
            return f"MPI_Fint *{p.name}"
        case "status" | "statuses":
            return f"MPI_Status *{p.name}"
        case "function":
            return f"{p.base} *{p.name}"
        case "text" | "text_out":
            return f"char *{p.name}"
        case "value" | "number_out" | "numbers":
            return f"{p.base} *{p.name}"
    return f"void *{p.name}"


def _argument(p: Parameter) -> str:
    """Argument that is passed on to C."""
    match p.kind:
        case "value":
            return f"*{p.name}"
        case "handle":
            return f"({p.base})(intptr_t)*{p.name}"
        case "handle_out" | "handles":
            return ("&" if p.kind == "handle_out" else "") + f"c_{p.name}"
        case "text" | "text_out":
            return f"c_{p.name}"
        case "status":
            return p.name if p.constant else f"STATUS({p.name})"
        case "statuses":
            return f"STATUSES({p.name})"
        case "buffer":
            return f"BUFFER({p.name})"
    if p.name in _WEIGHTS:
        return f"WEIGHTS({p.name})"
    return f"(int (*)[3]){p.name}" if p.name == "ranges" else p.name


def _around(function: Function, p: Parameter, before: list[str], after: list[str]) -> None:
    """Statements before and after the call that a parameter needs."""
    match p.kind:
        case "handle_out":
            before.append(f"{p.base} c_{p.name} = ({p.base})(intptr_t)*{p.name};")
            after.append(f"*{p.name} = (MPI_Fint)(intptr_t)c_{p.name};")
        case "handles":
            number = _number_of(function, p)
            before.append(f"size_t number_of_{p.name} = {number};")
            read = "0" if p.name == "array_of_datatypes" else "1"
            before.append(f"{p.base} *c_{p.name} = (void *)taken({p.name}, number_of_{p.name}, {read});")
            given = "free" if p.constant else "given"
            rest = "" if p.constant else f", {p.name}, number_of_{p.name}"
            after.append(f"{given}((void *)c_{p.name}{rest});")
        case "text":
            before.append(f"char *c_{p.name} = text({p.name}, {p.name}_length);")
            after.append(f"free(c_{p.name});")
        case "text_out":
            before.append(f"char c_{p.name}[MPI_MAX_LIBRARY_VERSION_STRING] = {{0}};")
            after.append(f"pad(code, c_{p.name}, {p.name}, {p.name}_length);")
        case "number_out" if p.name == "indx":
            after.append("if (*indx >= 0) ++*indx;")
        case "numbers" if p.name == "array_of_indices":
            after.append("for (int i = 0; i < *outcount; i++) ++array_of_indices[i];")


def _number_of(function: Function, p: Parameter) -> str:
    """Number of handles in an array."""
    names = [other.name for other in function.parameters]
    if "types" in p.name and "alltoallw" in function.name.lower():
        if "eighbor" in function.name:
            return f"neighbours(*comm, {int(p.name == 'sendtypes')})"
        skipped = "sendbuf == hopcast_in_place_ ? 0 : " if p.name == "sendtypes" else ""
        return f"{skipped}peers(*comm)"
    if p.name == "array_of_datatypes":
        return "*max_datatypes"
    return "*incount" if "incount" in names else "*count"
