"""The wrappers of MPI's functions, in C, for one MPI library: made from the prototypes of its mpi.h.

Every function of the library that returns an error code gets one. What is known of a function's arguments is
told to the recorder by a line of C (`call_hooks.py`); of all others, the name and the time.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from hopcast.record.call_hooks import CALL_HOOKS, CallHook


@dataclass(frozen=True)
class Prototype:
    """A function of MPI: its name without MPI_, and its parameters as `(declaration, name)`."""

    name: str
    parameters: tuple[tuple[str, str], ...]


_FUNCTION = re.compile(r"\bint\s+MPI_(\w+)\s*\(([^;{}]*?)\)\s*(?:__attribute__[^;]*)?;", re.DOTALL)
_CALLBACK = ("_function", "_fn", "_cb")
_CONVERSION = ("c2f", "f2c", "c2f08", "f082c", "f2f08", "f082f")
"""Functions that convert handles, which a library may call in each call of a Fortran program."""
_UNSEEN = ("Pcontrol", "Init", "Init_thread", "Finalize", "Abort")
"""Wrapped by hand, or with any number of arguments."""


def prototypes(header: str) -> list[Prototype]:
    """Those of a preprocessed mpi.h."""
    found: dict[str, Prototype] = {}
    for name, parameters in _FUNCTION.findall(header):
        if name.endswith((*_CALLBACK, *_CONVERSION)) or name.startswith("T_") or "..." in parameters:
            continue
        found.setdefault(name, Prototype(name, tuple(_parameters(parameters))))
    return [found[name] for name in sorted(found)]


def _parameters(text: str) -> list[tuple[str, str]]:
    """Each with a name of ours: `a1`, `a2`, …"""
    text = re.sub(r"__attribute__\s*\(\(.*?\)\)", "", " ".join(text.split()))
    if text in ("", "void"):
        return []
    parameters = []
    for at, one in enumerate(_split(text), 1):
        array = re.search(r"(\w+)?\s*((?:\[[^\]]*\])+)$", one)
        if array:
            # `int counts[]` and `int ranges[][3]`
            kind, dimensions = one[: array.start()].strip(), array.group(2)
            parameters.append((f"{kind} a{at}{dimensions}", f"a{at}"))
        else:
            named = re.match(r"(.*?[\s*])(\w+)$", one)
            kind = named.group(1).strip() if named and named.group(2) not in _TYPES else one
            parameters.append((f"{kind} a{at}", f"a{at}"))
    return parameters


_TYPES = ("int", "char", "void", "long", "double", "float")


def _split(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    return [*parts, text[start:].strip()]


def wrapper(function: Prototype) -> str:
    """One function in C."""
    hook = CALL_HOOKS.get(function.name.removesuffix("_c"), CallHook("hct_overhead(call);"))
    names = [name for _, name in function.parameters]
    declared = ", ".join(declaration for declaration, _ in function.parameters) or "void"
    given, lines = list(names), []
    if hook.status:
        status = names[hook.status - 1]
        lines.append(
            f"MPI_Status own_status, *status = {status} == MPI_STATUS_IGNORE ? &own_status : {status};"
        )
        given[hook.status - 1] = "status"
    if hook.statuses:
        statuses = names[hook.statuses - 1]
        lines.append(
            f"MPI_Status few_own[FEW], *own = {statuses} != MPI_STATUSES_IGNORE ? NULL : a1 <= FEW ? few_own"
            f" : memory(NULL, (size_t)a1 * sizeof(MPI_Status)), *status = own ? own : {statuses};"
        )
        given[hook.statuses - 1] = "status"
    call = f"real({', '.join(given)})"

    def filled(text: str) -> str:
        return re.sub(r"\$(\d+)", lambda found: given[int(found.group(1)) - 1], text)

    freed = [
        *(["    if (own != few_own) free(own);"] if hook.statuses else []),
        *(["    if (keys != few) free(keys);"] if "*keys" in hook.before else []),
    ]
    if hook.found:
        return _poll(function, hook, lines, call, freed, filled)
    return "\n".join(
        [
            f"int MPI_{function.name}({declared}) {{",
            f"    REAL({function.name})",
            f'    ENTER("MPI_{function.name}")',
            *(f"    {line}" for line in lines),
            *([f"    {filled(hook.before)}"] if hook.before else []),
            *([f"    if (seen) stands_with({filled(hook.stands)});"] if hook.stands else []),
            f"    int result = {call};",
            "    if (seen) call.end_ns = now_ns();",
            *(
                [f"    if (seen && result == MPI_SUCCESS) {{ {filled(hook.agree)} call.end_ns = now_ns(); }}"]
                if hook.agree
                else []
            ),
            "    LOCK",
            f"    if (seen && result == MPI_SUCCESS) {{ {filled(hook.after)} }}",
            "    else if (seen) hct_overhead(call);",
            *freed,
            "    DONE",
            "}",
            f"ALSO({function.name})",
        ]
    )


def _poll(
    function: Prototype,
    hook: CallHook,
    lines: list[str],
    call: str,
    freed: list[str],
    filled: Callable[[str], str],
) -> str:
    """A test or probe. Mostly it finds nothing and is not timed: this alone is in the function that a program
    calls; what is timed or not seen, and what is done once it finds something, are apart."""
    own = ", ".join(declaration for declaration, _ in function.parameters)
    names = ", ".join(name for _, name in function.parameters)
    kept = [("MPI_Status *status", "status")]
    kept += [
        (f"uintptr_t {name}", name.strip("*")) for name in ("key", "*keys") if f" {name} =" in hook.before
    ]
    declared = ", ".join(declaration for declaration, _ in kept)
    given = ", ".join(name for _, name in kept)

    def body(begins: str, in_vain: str) -> list[str]:
        return [
            f"    {begins}",
            *(f"    {line}" for line in (*lines, *filter(None, [filled(hook.before)]))),
            f"    int result = {call};",
            f"    if (result == MPI_SUCCESS && !({filled(hook.found)})) {{ {in_vain} }}",
            f"    else if (seen) found_{function.name}(poll, result, {names}, {given});",
            *freed,
            "    inside--;",
            "    return result;",
            "}",
        ]

    return "\n".join(
        [
            f"static APART void found_{function.name}(struct poll poll, int result, {own}, {declared}) {{",
            f'    FOUND("MPI_{function.name}")',
            f"    if (result == MPI_SUCCESS) {{ {filled(hook.after)} }}",
            "    else hct_overhead(call);",
            "    GO_ON",
            "    unlock();",
            "}",
            f"static __typeof__(&PMPI_{function.name}) real_{function.name};",
            f"static APART int timed_{function.name}({own}) {{",
            f"    REAL({function.name})",
            f"    real_{function.name} = real;",
            *body("ENTER_POLL", f'poll_leaves(poll, "MPI_{function.name}", {len(function.name) + 4});'),
            f"int MPI_{function.name}({own}) {{",
            f"    __typeof__(&PMPI_{function.name}) real = real_{function.name};",
            f"    if (!(IS_UNTIMED)) return timed_{function.name}({names});",
            *body("ENTER_UNTIMED", "polls.count++;"),
            f"ALSO({function.name})",
        ]
    )


def wrappers(header: str) -> str:
    """All functions of a preprocessed mpi.h."""
    return "\n\n".join(wrapper(one) for one in prototypes(header) if one.name not in _UNSEEN)
