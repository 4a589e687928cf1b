"""The library that is preloaded: wrappers for one MPI library, compiled with its own `mpicc`, once."""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

from hopcast.errors import InputError
from hopcast.live.library import LIBRARIES
from hopcast.record.wrappers import wrappers

CORE = LIBRARIES / "libhopcast_record.so"
"""Library that writes the files; the wrappers need it."""

_HERE = Path(__file__).resolve().parent


def folder() -> Path:
    """Folder in which compiled wrappers are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "hopcast" / "record"


def made(compiler: str) -> Path:
    """The library for the MPI that `compiler` (an mpicc, with arguments if need be) compiles for."""
    words = shlex.split(compiler)
    if not words or shutil.which(words[0]) is None:
        raise InputError(
            f"{compiler}: no such compiler; the recorder is compiled with the program's own mpicc, which "
            "--mpicc names"
        )
    if any(letter in str(folder()) for letter in " :"):
        raise InputError(
            f"{folder()}: the recorder is kept there, and LD_PRELOAD takes no path with a space or a colon; "
            "$XDG_CACHE_HOME names another place"
        )
    if not CORE.exists():
        raise InputError(
            f"{CORE} is missing: this hopcast was built without its recorder, which 'make build' builds"
        )
    header = _run([*words, "-E", "-x", "c", "-"], "#include <mpi.h>\n")
    parts = [
        (_HERE / name).read_text()
        for name in ("handles.c", "library.c", "calls.c", "watch.c", "polls.c", "run.c")
    ]
    text = "\n".join([*parts, wrappers(header), ""])
    options = ["-std=gnu11", "-O2", "-fPIC", "-shared", "-ftls-model=initial-exec", f"-I{_HERE}"]
    # The core by its path: beside it are libraries with the names of MPICH's, which must not be found there.
    # The MPI library stays among what is needed, though nothing of it is called: it tells for which this is.
    linking = ["-Wl,--no-as-needed", str(CORE), "-lpthread", "-ldl"]
    name = hashlib.sha256("\n".join([header, text, *options, *linking]).encode()).hexdigest()[:16]
    library = folder() / f"record-{name}.so"
    if not library.exists():
        library.parent.mkdir(parents=True, exist_ok=True)
        source, built = library.with_suffix(".c"), library.with_suffix(f".{os.getpid()}.so")
        source.write_text(text)
        _run([*words, *options, "-o", str(built), str(source), *linking])
        built.replace(library)
    return library


def check_program(words: list[str], library: Path, compiler: str) -> None:
    """Refuses a program that was built for another MPI than the recorder `library`, made by `compiler`.

    Programs that load their MPI at run time, such as interpreters, pass.
    """
    recorded = _interfaces(str(library))
    for word in words:
        program = None if ".so" in word else shutil.which(word)
        needs = _interfaces(program) if program else {}
        if needs and recorded and not needs.keys() & recorded.keys():
            theirs, ours = next(iter(needs.values())), next(iter(recorded.values()))
            raise InputError(
                f"{word} was built for another MPI ({theirs}) than that of {compiler} ({ours}), which the "
                "recorder is for: --mpicc names the compiler with which the program was built"
            )


_MPI = re.compile(r"^\s*(?:\S*/)?(libmpi(?:ch)?(_abi)?\.so(?:\.(\d+))?)\b", re.MULTILINE)


def _interfaces(path: str) -> dict[str, str]:
    """The binary interfaces of MPI that a file needs, each with the name of a library.

    Programs for MPICH and its derivatives need version 12 whatever the library's name, those for Open MPI
    another version. A file that cannot be read needs none.
    """
    try:
        with open(path, "rb") as file:
            if file.read(4) != b"\x7fELF" or shutil.which("ldd") is None:
                return {}
    except OSError:
        return {}
    done = subprocess.run(["ldd", path], capture_output=True, text=True, check=False)
    return {abi or version: name for name, abi, version in _MPI.findall(done.stdout)}


def check_counts(names: str) -> None:
    """Refuses what the recorder cannot count on this machine; `names` have commas between them."""
    core, why = ctypes.CDLL(str(CORE)), ctypes.create_string_buffer(1024)
    room = ctypes.c_uint64(len(why))
    if core.hct_count(names.encode(), why, room):
        raise InputError(f"--count: {why.value.decode(errors='replace')}")
    core.hct_count(b"", why, room)


def _run(words: list[str], text: str = "") -> str:
    done = subprocess.run(words, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).strip()
        raise InputError(f"{shlex.join(words[:4])} … fails, so the recorder cannot be compiled:\n{said}")
    return done.stdout
