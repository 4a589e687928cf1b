"""Calls of functions of a compiled program, with their arguments and durations, as it runs on a real machine.

A shared library is made of the functions' prototypes, and loaded before all others (`LD_PRELOAD`): its
functions call the real ones, and write a line for each call. It sees calls between the program and shared
libraries, such as a BLAS; of functions that call each other, the outermost. A line takes some 0.5 us, of
which a reading of the clock is in the duration.
"""

from __future__ import annotations

import csv
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hopcast.errors import InputError

_PROTOTYPE = re.compile(
    r"(?P<returns>.+?)\s*\b(?P<name>[A-Za-z_]\w*)\s*\((?P<parameters>.*)\)\s*;?", re.DOTALL
)
_PARAMETER = re.compile(r"(?P<type>.+?)\s*\b(?P<name>[A-Za-z_]\w*)\s*(?P<array>\[\w*\])?", re.DOTALL)
_INTEGERS = re.compile(r"(unsigned |signed )?(int|long|long long|short|char|size_t|u?int(8|16|32|64)_t)")
_REALS = ("float", "double")
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


def trace(functions: Sequence[Function], command: Sequence[str], out: Path) -> tuple[int, dict[str, int]]:
    """Runs a command, writes `NAME.csv` for each function; gives its exit code, and the calls of each."""
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
        except KeyboardInterrupt:  # the program has had it as well
            code = process.wait()
        return code, {one.name: _collected(one, parts, out) for one in functions}


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
    source.write_text("\n".join([_HEAD % _quoted(str(folder)), *map(_wrapper, functions)]))
    words = [*compiler, "-shared", "-fPIC", "-O2", "-w", str(source), "-o", str(library), "-ldl", "-lpthread"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        said = next((line for line in done.stderr.splitlines() if "error: " in line), done.stderr.strip())
        raise InputError(f"the prototypes do not compile: {said.rpartition('error: ')[2]}")
    return library


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _wrapper(of: Function) -> str:
    """The function that calls the real one, in C."""
    declared = ", ".join(f"{one.type} {one.name}" for one in of.parameters) or "void"
    given = ", ".join(one.name for one in of.parameters)
    formats = "".join(",%.17g" if (one.value or "").startswith("(double)") else ",%lld" for one in of.traced)
    values = "".join(f", {one.value}" for one in of.traced)
    keep, back = ("", "") if of.returns == "void" else (f"{of.returns} result = ", "    return result;\n")
    return f"""{of.returns} {of.name}({declared}) {{
    static {of.returns} (*real)({declared});
    static FILE *file;
    if (!real)
        *(void **)&real = real_function("{of.name}");
    int outermost = depth++ == 0;
    double begun = now();
    {keep}real({given});
    double ended = now();
    --depth;
    if (outermost)
        note(&file, "{of.name}", begun, ended, "{of.name}{formats},%.9f,%.9f,%s,%d,%d\\n"{values},
             begun, ended - begun, node(), (int)getpid(), sched_getcpu());
{back}}}
"""


_HEAD = """#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define FOLDER %s
#define FLUSH_S 0.5

static _Thread_local int depth;
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static const char *node(void) {
    static char name[256];
    if (!name[0])
        gethostname(name, sizeof name - 1);
    return name;
}

static void *real_function(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) {
        fprintf(stderr, "error: no shared library has the function %%s\\n", name);
        abort();
    }
    return found;
}

static FILE *opened(FILE **file, const char *name) {
    pthread_mutex_lock(&opening);
    if (!*file) {
        char place[4096];
        snprintf(place, sizeof place, "%%s/%%s-%%s-%%d.csv", FOLDER, name, node(), (int)getpid());
        *file = fopen(place, "w");
        if (!*file) {
            perror(place);
            abort();
        }
    }
    pthread_mutex_unlock(&opening);
    return *file;
}

/* A line of a call; what is written stays, whatever ends the process later. */
#define note(file, name, begun, ended, ...) \\
    do { \\
        static double flushed; \\
        fprintf(opened(file, name), __VA_ARGS__); \\
        if (ended - flushed > FLUSH_S) { \\
            fflush(*(file)); \\
            flushed = ended; \\
        } \\
    } while (0)
"""
