"""A run of a program that is recorded."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import platform
import shlex
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import hopcast
from hopcast import core
from hopcast.errors import InputError
from hopcast.live import launch
from hopcast.record import library


@dataclass(frozen=True)
class Recorded:
    """Files and facts that a recorded run left behind."""

    out: Path
    """The folder of the recording."""
    status: int
    """The exit status of the command, as a shell has it."""
    ranks: int
    """Number of ranks; 0 if nothing was recorded, and the folder is gone."""
    warnings: tuple[str, ...]
    """Things to check before the recording is trusted."""
    bytes: int
    """Size of all files together [bytes]."""


def record(
    command: list[str], out: Path, mpicc: str, clock: str, tallied: bool, block_s: float, counts: str = ""
) -> Recorded:
    """Runs `command` with the recorder preloaded; the ranks that it starts write into the folder `out`.

    counts: what they count between calls, names with commas, or nothing.
    """
    preloaded = library.made(mpicc)
    library.check_program(command, preloaded, mpicc)
    if counts:
        library.check_counts(counts)
    made = [folder for folder in (out, *out.parents) if not folder.exists()]
    try:
        out.mkdir(parents=True)
    except FileExistsError:
        raise InputError(f"{out} exists already; --out names another folder") from None
    except OSError as error:
        raise InputError(f"{out}: {error.strerror}") from None
    environment = os.environ | {
        "LD_PRELOAD": " ".join(filter(None, [str(preloaded), os.environ.get("LD_PRELOAD")])),
        "HOPCAST_TRACE": str(out.resolve()),
        "HOPCAST_TRACE_CLOCK": clock,
        "HOPCAST_TRACE_COUNT": counts,
        "HOPCAST_TRACE_TALLIED": str(int(tallied)),
        "HOPCAST_TRACE_BLOCK_NS": str(round(min(1e9, block_s) * 1e9)),
    }
    begun = time.time()
    if shutil.which(command[0]) is None:
        _remove(made)
        raise InputError(f"{command[0]}: {os.strerror(_why_not(command[0]))}")
    status = launch.run_along(command, environment)
    took_s = time.time() - begun
    status = status if status >= 0 else 128 - status
    files = sorted(out.glob("rank-*.hct"))
    ranks, warnings = _left(out, files)
    if not ranks:
        for file in files:
            file.unlink()
        _remove(made)
        return Recorded(out, status, 0, (), 0)
    about = {
        "format": "hct",
        "version": 1,
        "hopcast": hopcast.__version__,
        "command": shlex.join(command),
        "began_unix_s": round(begun, 3),
        "took_s": round(took_s, 6),
        "status": status,
        "ranks": len(files),
        "machine": {"system": platform.platform(), "processor": _processor(), "cores": os.cpu_count()},
    }
    try:
        (out / "run.json").write_text(json.dumps(about, indent=2) + "\n")
    except OSError as error:
        # What became of the program matters more.
        print(f"hopcast: {out}/run.json is not written: {error.strerror}", file=sys.stderr)
    return Recorded(out, status, ranks, warnings, sum(file.stat().st_size for file in files))


def _why_not(name: str) -> int:
    """The error number with which the system refuses to run a command."""
    return errno.EACCES if os.path.exists(name) else errno.ENOENT


def _left(out: Path, files: list[Path]) -> tuple[int, tuple[str, ...]]:
    """Number of ranks recorded in `files`, 0 if no call is, and the warnings about them."""
    if not any(file.stat().st_size for file in files):
        return 0, ()
    try:
        left = core.trace_recorded(str(out))
    except InputError as error:
        return len(files), (str(error),)
    return (left["ranks"] if left["has_calls"] else 0), tuple(left["warnings"])


def _remove(folders: list[Path]) -> None:
    """Those that are empty, the innermost first."""
    for folder in folders:
        with contextlib.suppress(OSError):
            folder.rmdir()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next(
        (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")),
        platform.processor(),
    )
