"""gdb, stopped in the `main` of one rank.

The copy of the program that a rank runs is memory of the launcher, which no loader has told gdb about. The
launcher stops before the rank begins, having written where its copy is (crates/libmpi/src/live/debugger.rs).
"""

from __future__ import annotations

import shutil
from pathlib import Path

from hopcast.errors import InputError
from hopcast.live import library

# Symbols are read of libraries and of the rank's copy: no rank runs what the C library has loaded. None are
# of libmpi, whose functions may have the names of the program's.
_COMMANDS = """\
set confirm off
set auto-solib-add off
tbreak hopcast_debugger_stops
run
if $_isvoid($_exitcode)
  sharedlibrary /lib[^m/][^/]*$
  sharedlibrary /libm[^p][^/]*$
  source {rank}
  continue
end
"""


def check(program: str, rank: int, ranks: int) -> None:
    """Refuses what cannot be debugged."""
    if not library.is_executable(program):
        raise InputError(
            f"debug-rank: {program} is a Python program, in whose interpreter all ranks are: gdb stops in "
            "the ranks of compiled programs"
        )
    if not 0 <= rank < ranks:
        raise InputError(f"debug-rank: a rank from 0 to {ranks - 1}, not {rank}")
    if shutil.which("gdb") is None:
        raise InputError("debug-rank: gdb is not installed: sudo apt-get install -y gdb")


def job(rank: int | None, folder: Path) -> dict | None:
    """The job's entry that tells the MPI library which rank to debug; None if there is no such rank."""
    return None if rank is None else {"rank": rank, "commands": str(folder / "rank.gdb")}


def command(launcher: list[str], folder: Path) -> list[str]:
    """The command of the run, with gdb before it."""
    commands = folder / "run.gdb"
    commands.write_text(_COMMANDS.format(rank=folder / "rank.gdb"))
    return ["gdb", "-q", "-x", str(commands), "--args", *launcher]
