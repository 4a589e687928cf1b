"""Makes what Fortran programs are compiled with, once for each compiler, and keeps it."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from hopcast.errors import InputError
from hopcast.live import library
from hopcast.live.fortran import entries, modules, table

_HERE = Path(__file__).parent
ARCHIVE = "libmpi_fortran.a"
_MODULE_FLAGS = ("-ffree-line-length-none", "-w")


def folder(compiler: list[str]) -> Path:
    """Folder of mpif.h, the modules and the library for `compiler`, which are made if they are missing."""
    kept = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "hopcast"
    target = kept / f"fortran-{_digest(compiler)}"
    if not target.exists():
        print(
            f"hopcast: making the Fortran modules for {compiler[0]} in {target}", file=sys.stderr, flush=True
        )
        try:
            kept.mkdir(parents=True, exist_ok=True)
            partial = Path(tempfile.mkdtemp(prefix="fortran-", dir=kept))
        except OSError as error:
            raise InputError(f"{kept}: {error.strerror}; $XDG_CACHE_HOME names another folder") from None
        try:
            _make(partial, compiler)
            partial.rename(target)
        except OSError:
            # Another process was faster.
            if not target.exists():
                raise
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return target


def _digest(compiler: list[str]) -> str:
    """Digest of the compiler's version and of all sources that it compiles."""
    done = subprocess.run([*compiler, "--version"], capture_output=True)
    digest = hashlib.sha256(" ".join(compiler).encode() + done.stdout.split(b"\n")[0])
    for path in (*sorted(_HERE.glob("*.*")), *sorted(library.INCLUDE.rglob("*.h"))):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _make(target: Path, compiler: list[str]) -> None:
    """The sources, then what is compiled of them."""
    functions, constants = table.functions(library.INCLUDE), table.constants(library.INCLUDE)
    (target / "mpif.h").write_text(modules.mpif(constants))
    (target / "mpi.f90").write_text(modules.mpi(functions, constants))
    (target / "mpi_f08.f90").write_text(modules.mpi_f08(functions, constants))
    sources = [target / "mpi.f90", target / "mpi_f08.f90"]
    for chapter in sorted({function.chapter for function in functions}):
        sources.append(target / f"{chapter}.c")
        sources[-1].write_text(entries.source(functions, chapter))
    sources += sorted(_HERE.glob("*.c"))
    include = ["-I", str(library.INCLUDE), "-I", str(_HERE)]
    flags = ["-c", "-O2", "-fPIC", *include]
    # In two calls: C and Fortran have flags of their own.
    for kind, own in ((".f90", _MODULE_FLAGS), (".c", ("-std=gnu11",))):
        words = [str(source) for source in sources if source.suffix == kind]
        _call([*compiler, *flags, *own, *words], target)
    objects = [path.name for path in sorted(target.glob("*.o"))]
    _call(["ar", "rcs", ARCHIVE, *objects], target)
    for name in (*objects, *(path.name for path in target.glob("*.c"))):
        (target / name).unlink()


def _call(command: list[str], target: Path) -> None:
    done = subprocess.run(command, cwd=target, capture_output=True, text=True)
    if done.returncode:
        why = next((line for line in done.stderr.splitlines() if "rror" in line), done.stderr.strip())
        raise InputError(f"{command[0]} cannot compile the Fortran interface of MPI: {why}")


def refuses_mismatch(compiler: list[str]) -> bool:
    """True if calls that differ in the types of arguments are errors: GNU Fortran since version 10."""
    done = subprocess.run([*compiler, "-dumpversion"], capture_output=True, text=True)
    major = done.stdout.strip().split(".")[0]
    return done.returncode == 0 and major.isdigit() and int(major) >= 10
