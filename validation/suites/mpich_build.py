"""Fetches MPICH's test suite, configures it, and compiles its programs for MPICH and for hopcast."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hopcast.live import library

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "hopcast" / "mpich-suite"

FOLDERS = (
    "attr",
    "coll",
    "comm",
    "datatype",
    "errhan",
    "errors",
    "group",
    "info",
    "init",
    "io",
    "mpi_t",
    "part",
    "pt2pt",
    "rma",
    "topo",
    "f77",
    "f90",
    "f08",
)
"""Parts of the suite for a library without dynamic processes, with one thread for each rank, and without the
C++ bindings, which MPI 3.0 has removed."""

COMPILERS = {"CC": "mpicc", "CXX": "mpicxx", "F77": "mpif77", "FC": "mpif90"}
FORTRAN_FLAGS = "-O0 -w -fallow-argument-mismatch -fallow-invalid-boz -fcray-pointer"


class Absent(Exception):
    """The suite cannot be had here."""


@dataclass(frozen=True)
class Suite:
    """Folders of the suite."""

    source: Path
    """Its folder `test/mpi`."""
    cache: Path

    @property
    def configured(self) -> Path:
        """Files that `configure` has written, without anything compiled."""
        return self.cache / "configured"

    def built(self, under: str) -> Path:
        """The programs for `mpich` or `hopcast`. Those of another `mpi.h` are others."""
        return self.cache / ("mpich" if under == "mpich" else f"hopcast-{header()}")

    def complaint(self, under: str, folder: str, program: str) -> str:
        """The first error of its compilation."""
        log = self.built(under) / folder / f"{program}.log"
        lines = log.read_text(errors="replace").splitlines() if log.exists() else []
        wrong = re.compile(r"[Ee]rror[: ]|undefined|cannot find|No rule")
        return next((line.strip() for line in lines if wrong.search(line)), "see " + str(log))[:200]


def header() -> str:
    """A digest of what programs are compiled with: the header without its comments."""
    library.check()
    digest = hashlib.sha256()
    for path in sorted(library.INCLUDE.rglob("*")):
        if path.is_file():
            digest.update(re.sub(rb"/\*.*?\*/", b"", path.read_bytes(), flags=re.DOTALL))
    return digest.hexdigest()[:10]


def here() -> str:
    """A digest of this working copy's place: several may use one cache."""
    return hashlib.sha256(str(library.LIBRARY).encode()).hexdigest()[:6]


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """One process at a time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def fetch(cache: Path) -> Path:
    """The folder `test/mpi` of Debian's source package."""
    cache.mkdir(parents=True, exist_ok=True)
    if not (found := sorted(cache.glob("mpich-*/test/mpi/configure"))):
        if shutil.which("apt-get") is None:
            raise Absent("not here: there is no apt-get to fetch the source package mpich with")
        command = ["apt-get", "source", "--download-only", "-qq", "mpich"]
        done = subprocess.run(command, cwd=cache, capture_output=True, text=True)
        archives = sorted(cache.glob("mpich_*.orig.tar.*"))
        if not archives:
            said = (done.stderr.strip().splitlines() or ["no archive came"])[-1]
            raise Absent(f"the source package mpich cannot be fetched: {said}")
        with tarfile.open(archives[-1]) as archive:
            members = [m for m in archive if m.name.split("/")[1:3] == ["test", "mpi"]]
            archive.extractall(cache, members, filter="tar")
        found = sorted(cache.glob("mpich-*/test/mpi/configure"))
    return found[-1].parent


def prepare(cache: Path) -> Suite:
    """The suite, configured."""
    if absent := [name for name in (*COMPILERS.values(), "mpiexec", "make") if shutil.which(name) is None]:
        raise Absent(f"needs MPICH's {absent[0]}, which is not installed")
    cache = cache.resolve()
    with locked(cache / "lock"):
        suite = Suite(fetch(cache), cache)
        if not (suite.configured / "config.status").exists():
            shutil.rmtree(suite.configured, ignore_errors=True)
            suite.configured.mkdir()
            print("configuring the suite …", file=sys.stderr, flush=True)
            words = [f"{name}={value}" for name, value in COMPILERS.items()]
            words += [f"MPI{name}={value}" for name, value in COMPILERS.items()]
            words += ["--disable-spawn", "--disable-dependency-tracking", "--enable-strictmpi"]
            command = [str(suite.source / "configure"), *words, "--enable-fortran=all"]
            done = subprocess.run(command, cwd=suite.configured, capture_output=True, text=True)
            if done.returncode:
                raise Absent("configure fails: " + (done.stderr.strip().splitlines() or ["?"])[-1])
    return suite


def build(suite: Suite, under: str, programs: dict[str, list[str]], jobs: int) -> None:
    """Compiles what is not yet: programs by folder. What does not compile leaves a log."""
    target = suite.built(under)
    with locked(suite.cache / f"{target.name}.lock"):
        if not target.exists():
            partial = target.with_suffix(".partial")
            shutil.rmtree(partial, ignore_errors=True)
            shutil.copytree(suite.configured, partial, symlinks=True)
            partial.rename(target)
        for folder, names in programs.items():
            absent = [name for name in names if not (target / folder / name).exists()]
            if absent:
                print(f"{under}: compiling {len(absent)} of {folder} …", file=sys.stderr, flush=True)
                _make(target, under, folder, absent, jobs)


def _make(target: Path, under: str, folder: str, programs: list[str], jobs: int) -> None:
    """All at once; then each that has failed alone, for its own log."""
    flags = ["CFLAGS=-O0 -w", "CXXFLAGS=-O0 -w", f"FFLAGS={FORTRAN_FLAGS}", f"FCFLAGS={FORTRAN_FLAGS}"]
    if under != "mpich":
        kinds = {"CC": "cc", "CXX": "cxx", "F77": "fc", "FC": "fc"}
        flags += [f"{name}={_wrapper(target, kind)}" for name, kind in kinds.items()]
    # `configure` leaves the library for mpi_f08 empty where it is not called by MPICH's own.
    flags += ["am_libmtest_f08_la_OBJECTS=mtest_f08.lo"]
    make = ["make", "-C", str(target / folder), "-k", *flags]
    subprocess.run([*make, f"-j{jobs}", *programs], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for name in programs:
        if not (target / folder / name).exists():
            done = subprocess.run([*make, name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            (target / folder / f"{name}.log").write_bytes(done.stdout)


def _wrapper(target: Path, kind: str) -> Path:
    """`hopcast cc` as one word, which make and libtool want."""
    path = target / f"hopcast-{kind}"
    path.write_text(f'#!/bin/sh\nunset CC CXX FC\nexec "{sys.executable}" -m hopcast {kind} "$@"\n')
    path.chmod(0o755)
    return path


_CONFIGURATION = """
#define F77_NAME_LOWER_USCORE 1
#define HAVE_LONG_DOUBLE 1
#define HAVE_LONG_LONG 1
#define HAVE_MPI_IO 1
#define HAVE_MPI_WIN_CREATE 1
#define HAVE_STDARG_H 1
#define HAVE_STDINT_H 1
#define HAVE_STDLIB_H 1
#define HAVE_STRING_H 1
#define HAVE_SYS_RESOURCE_H 1
#define HAVE_SYS_TIME_H 1
#define HAVE_UNISTD_H 1
#define STDCALL
#define THREAD_PACKAGE_NAME THREAD_PACKAGE_POSIX
#define USE_STRICT_MPI 1
"""
"""Results of `configure` on a system such as this that programs in C need."""


def build_alone(source: Path, names: list[str], target: Path) -> dict[str, Path]:
    """Compiles programs in C, which consist of one file, without `configure`, for hopcast."""
    (target / "mpitestconf.h").write_text(_CONFIGURATION)
    compiler = [sys.executable, "-m", "hopcast", "cc", "-O0", "-w", f"-I{target}", f"-I{source / 'include'}"]
    objects = []
    for name in ("mtest.c", "mtest_common.c", "mtest_single.c"):
        objects.append(str(target / name.replace(".c", ".o")))
        subprocess.run([*compiler, "-c", str(source / "util" / name), "-o", objects[-1]], check=True)
    programs = {name: target / name.replace("/", "-") for name in names}
    for name, program in programs.items():
        subprocess.run([*compiler, str(source / f"{name}.c"), *objects, "-o", str(program)], check=True)
    return programs
