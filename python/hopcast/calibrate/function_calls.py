"""Calls of functions of a compiled program, with their arguments and durations, as it runs on a real machine.

A shared library is made of the functions' prototypes, and loaded before all others (`LD_PRELOAD`): its
functions call the real ones, and write a line for each call. It sees calls between the program and shared
libraries, such as a BLAS, and calls of functions of the executable that is compiled with room for a jump at
their beginning (`ROOM`; `programs/entry.h`). Of functions that call each other, the outermost counts. A line
takes some 0.5 us, of which a reading of the clock is in the duration.
"""

from __future__ import annotations

import csv
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hopcast.calibrate.launch import SOURCES
from hopcast.errors import InputError

_PROTOTYPE = re.compile(
    r"(?P<returns>.+?)\s*\b(?P<name>[A-Za-z_]\w*)\s*\((?P<parameters>.*)\)\s*;?", re.DOTALL
)
_PARAMETER = re.compile(r"(?P<type>.+?)\s*\b(?P<name>[A-Za-z_]\w*)\s*(?P<array>\[\w*\])?", re.DOTALL)
_INTEGERS = re.compile(r"(unsigned |signed )?(int|long|long long|short|char|size_t|u?int(8|16|32|64)_t)")
_REALS = ("float", "double")
ROOM = "-fpatchable-function-entry=16"
"""Flag of GCC and Clang that makes functions of an executable traceable."""
BEHIND = ("start", "duration", "node", "process", "cpu")
"""Columns behind the arguments: seconds of the machine's clock, host, process, processor."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of a function."""

    type: str
    name: str

    @property
    def value(self) -> str | None:
        """The value in C, of a number or of what a pointer to one points to; None of anything else."""
        words = self.type.replace("const", " ").replace("restrict", " ")
        kind, stars = " ".join(words.replace("*", " ").split()), words.count("*")
        if stars > 1 or not (kind in _REALS or _INTEGERS.fullmatch(kind)):
            return None
        cast = "double" if kind in _REALS else "long long"
        return f"({cast}){'*' * stars}{self.name}"

    @property
    def is_number(self) -> bool:
        """True of a number that is passed by value."""
        return self.value is not None and "*" not in self.type


@dataclass(frozen=True)
class Function:
    """A function whose calls are traced."""

    returns: str
    name: str
    parameters: tuple[Parameter, ...]
    traced: tuple[Parameter, ...]


def function(prototype: str, arguments: Sequence[str] = ()) -> Function:
    """The function of a prototype in C; its numbers are traced where no `arguments` are named."""
    found = _PROTOTYPE.fullmatch(prototype.strip())
    if found is None:
        raise InputError(f"'{prototype}' is no prototype, such as 'void relax(int n, double *grid)'")
    texts = [text.strip() for text in found["parameters"].split(",") if text.strip() not in ("", "void")]
    parameters = []
    for text in texts:
        match = _PARAMETER.fullmatch(text)
        if match is None or match["name"] in ("int", "double", "float", "char", "long"):
            raise InputError(f"'{prototype}': parameter '{text}' needs a type and a name")
        parameters.append(Parameter(match["type"] + (" *" if match["array"] else ""), match["name"]))
    if arguments:
        traced = [one for name in arguments for one in parameters if one.name == name]
    else:
        traced = [one for one in parameters if one.is_number]
    for one in traced:
        if one.value is None:
            raise InputError(f"'{prototype}': '{one.name}' is no number and no pointer to one")
    return Function(found["returns"].strip(), found["name"], tuple(parameters), tuple(traced))


@dataclass(frozen=True)
class Traced:
    """A command that has run."""

    code: int
    counts: dict[str, int]
    """Calls of each function."""
    missing: list[str]
    """A sentence for each function without calls: the reason."""


def trace(functions: Sequence[Function], command: Sequence[str], out: Path) -> Traced:
    """Runs a command, and writes `NAME.csv` for each function."""
    if shutil.which(command[0]) is None:
        raise InputError(f"{command[0]}: no such program")
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".calls-", dir=out) as folder:
        parts = Path(folder).resolve()
        library = _compiled(functions, parts)
        preloaded = os.pathsep.join(filter(None, [str(library), os.environ.get("LD_PRELOAD")]))
        process = subprocess.Popen(command, env=os.environ | {"LD_PRELOAD": preloaded})
        try:
            code = process.wait()
        except KeyboardInterrupt as stop:  # the program has had it as well, if it was Ctrl-C
            if stop.args:
                process.send_signal(signal.SIGTERM)
            # An interrupt between the end and its reading loses the code, and `wait` then says 0.
            code = process.wait() or -signal.SIGINT
        counts = {one.name: _collected(one, parts, out) for one in functions}
        missing = [_why(name, parts, command[-1]) for name, count in counts.items() if not count]
        return Traced(code, counts, missing)


def _why(name: str, parts: Path, program: str) -> str:
    """Reason for no call of a function, by what its processes said of it as they began."""
    state = parts / f"{name}.state"
    said = sorted(set(state.read_text().splitlines())) if state.exists() else []
    seen = f"no call of {name} was seen"
    if not said:
        return (
            f"{seen}: the program does not call it in a shared library ('nm -D {program}' lists what it "
            f"calls), and has no function of that name ('nm {program}'; one that is put into its "
            "callers, or that 'strip' has removed, is not in the list), or LD_PRELOAD does not reach it"
        )
    if said == [""]:
        return (
            f"{seen}: the program does not call it, or the compiler has put it into its callers, which "
            "__attribute__((noinline)) forbids"
        )
    reason = next(line for line in said if line)
    helps = {"is compiled without": ROOM, "was changed by": "__attribute__((noipa))"}
    flag = next((flag for begin, flag in helps.items() if reason.startswith(begin)), None)
    return f"{seen}: it {reason}" + (f": compile it with {flag}" if flag else "")


def _collected(of: Function, parts: Path, out: Path) -> int:
    """Puts the calls of all processes into one file, by host, process and time; gives their number."""
    columns = ["function", *(one.name for one in of.traced), *BEHIND]
    rows: list[list[str]] = []
    for part in parts.glob(f"{of.name}-*.csv"):
        with part.open(newline="") as file:
            # The last line of a process that was killed may be cut.
            rows += [row for row in csv.reader(file) if len(row) == len(columns)]
    start, node, process = (columns.index(name) for name in ("start", "node", "process"))
    rows.sort(key=lambda row: (row[node], int(row[process]), float(row[start])))
    if rows:
        with (out / f"{of.name}.csv").open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(rows)
    return len(rows)


def _compiled(functions: Sequence[Function], folder: Path) -> Path:
    """The library, compiled by $CC or cc."""
    compiler = shlex.split(os.environ.get("CC", "cc"))
    if shutil.which(compiler[0]) is None:
        raise InputError(f"{compiler[0]}: no such C compiler: install one, or name it with $CC")
    source, library = folder / "calls.c", folder / "calls.so"
    head = f'#define _GNU_SOURCE\n#define FOLDER {_quoted(str(folder))}\n#include "calls.h"\n'
    source.write_text("\n".join([head, *map(_wrappers, functions), _constructor(functions)]))
    flags = ["-shared", "-fPIC", "-O2", "-w", f"-I{SOURCES}"]
    words = [*compiler, *flags, str(source), "-o", str(library), "-ldl", "-lpthread"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        said = next((line for line in done.stderr.splitlines() if "error: " in line), done.stderr.strip())
        raise InputError(f"the prototypes do not compile: {said.rpartition('error: ')[2]}")
    return library


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _wrappers(of: Function) -> str:
    """Functions in C that call the one of a shared library, and the executable's: they may be two."""
    declared = ", ".join(f"{one.type} {one.name}" for one in of.parameters) or "void"
    given = ", ".join(one.name for one in of.parameters)
    formats = "".join(",%.17g" if (one.value or "").startswith("(double)") else ",%lld" for one in of.traced)
    values = "".join(f", {one.value}" for one in of.traced)
    keep, back = ("", "") if of.returns == "void" else (f"{of.returns} result = ", "    return result;\n")

    def wrapper(name: str, real: str) -> str:
        return f"""{of.returns} {name}({declared}) {{
    if (!{real})
        *(void **)&{real} = hopcast_real_function("{of.name}");
    int outermost = hopcast_depth++ == 0;
    double begun = hopcast_now();
    {keep}{real}({given});
    double ended = hopcast_now();
    --hopcast_depth;
    if (outermost)
        hopcast_note(&hopcast_file_{of.name}, "{of.name}", begun, ended,
                     "{of.name}{formats},%.9f,%.9f,%s,%d,%d\\n"{values},
                     begun, ended - begun, hopcast_node(), (int)getpid(), sched_getcpu());
{back}}}
"""

    library, own = f"hopcast_library_{of.name}", f"hopcast_own_{of.name}"
    return f"""static FILE *hopcast_file_{of.name};
static {of.returns} (*{library})({declared});
static {of.returns} (*{own})({declared});
{wrapper(of.name, library)}
static {wrapper(f"hopcast_entry_{of.name}", own)}"""


def _constructor(functions: Sequence[Function]) -> str:
    """Redirects functions of the executable before it begins, in C."""
    lines = [
        f'    *(void **)&hopcast_own_{name} = hopcast_redirected("{name}", hopcast_entry_{name});\n'
        for name in (one.name for one in functions)
    ]
    return f"__attribute__((constructor)) static void hopcast_begin(void) {{\n{''.join(lines)}}}\n"
