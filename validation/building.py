"""Compilers of MPI libraries and hopcast's, each as one word, which make, libtool and cmake want."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

from recordings import Absent

from hopcast.cli import compilers as compiling
from hopcast.live import library

MPICH = {"cc": "mpicc.mpich", "cxx": "mpicxx.mpich", "fc": "mpif90.mpich"}
OPEN_MPI = {"cc": "mpicc.openmpi", "cxx": "mpicxx.openmpi", "fc": "mpif90.openmpi"}
INSTALLED = {"mpich": (MPICH, "libmpich-dev"), "openmpi": (OPEN_MPI, "libopenmpi-dev")}
"""Compilers of MPI libraries, and the packages of Debian that they are in."""

SYSTEM = {"cc": "cc", "cxx": "c++", "fc": "gfortran"}


def header() -> str:
    """A digest of what programs are compiled with: the header without its comments."""
    library.check()
    digest = hashlib.sha256()
    for path in sorted(library.INCLUDE.rglob("*.h")):
        digest.update(re.sub(rb"/\*.*?\*/", b"", path.read_bytes(), flags=re.DOTALL))
    return digest.hexdigest()[:10]


def compilers(under: str, folder: Path) -> dict[str, str]:
    """`cc`, `cxx` and `fc` for `mpich`, `openmpi` or `hopcast`, the latter as scripts in this folder."""
    if under in INSTALLED:
        names, package = INSTALLED[under]
        if absent := [name for name in names.values() if shutil.which(name) is None]:
            raise Absent(f"skipped: {absent[0]} is not installed (Debian's package {package})")
        return names
    folder.mkdir(parents=True, exist_ok=True)
    return {kind: str(_script(folder, kind)) for kind in MPICH}


def _script(folder: Path, kind: str) -> Path:
    """`hopcast cc` as one word. What is only compiled needs no Python to start."""
    extra = compiling.fortran([SYSTEM[kind]]) if kind == "fc" else compiling.FORTRAN_OFF
    words = " ".join([SYSTEM[kind], *compiling.arguments(("-c",), extra)])
    path = folder / f"hopcast-{kind}"
    path.write_text(
        "#!/bin/sh\nunset CC CXX FC\n"
        f'for word; do [ "$word" = -c ] && exec {words} "$@"; done\n'
        f'exec "{sys.executable}" -m hopcast {kind} "$@"\n'
    )
    path.chmod(0o755)
    return path


def run(words: list[object], folder: Path, what: str) -> None:
    """A step of a build; its failure makes the comparison impossible."""
    done = subprocess.run(
        [str(word) for word in words], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        (folder / "failed.log").write_text(done.stdout + done.stderr)
        wrong = re.compile(r"[Ee]rror[: ]|undefined|cannot find|No rule")
        lines = [line.strip() for line in (done.stdout + done.stderr).splitlines() if wrong.search(line)]
        raise Absent(f"skipped: {what}: {(lines or ['see ' + str(folder / 'failed.log')])[0][:200]}")
