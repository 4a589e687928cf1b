"""Measuring programs in C: compiled by the user's MPI compiler, and started by the user's launcher."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from hopcast import signals
from hopcast.errors import InputError, StoppedEarly
from hopcast.live.launch import bound

SOURCES = Path(__file__).parent / "programs"
FLAGS = ("-std=c11", "-D_GNU_SOURCE", "-O2")
POLL_S = 0.2
"""Time between looks at a program that runs."""
FULL_B = 65536
"""Free bytes below which a device is full: what a program says of it could not be written either."""
GRACE_S = 5.0
"""Time that a launcher has to end its ranks before it is killed."""


def split(text: str | None, place: str) -> list[str]:
    """Words of a command or of flags, as a shell takes them."""
    try:
        return shlex.split(text or "")
    except ValueError as error:
        raise InputError(f"{place}: '{text}': {str(error).lower()}") from None


def compiler_of(launcher: Sequence[str]) -> list[str]:
    """Compiler of a launcher's library: `mpicc.mpich` of `mpiexec.mpich`, `hopcast cc` of `hopcast run`."""
    if named := split(os.environ.get("MPICC"), "$MPICC"):
        return named
    first = Path(launcher[0])
    if "hopcast" in (first.name, *launcher[1:3]):
        return [*launcher[: list(launcher).index("run")], "cc"] if "run" in launcher else ["hopcast", "cc"]
    name = "mpicc" + "".join(first.suffixes)
    beside = first.parent / name
    return [str(beside) if len(first.parts) > 1 and beside.exists() else name]


def compile_program(name: str, compiler: Sequence[str], folder: Path, flags: Sequence[str] = ()) -> Path:
    """The program of `programs/NAME.c`, in a folder that the hosts of the ranks see."""
    if shutil.which(compiler[0]) is None:
        raise InputError(
            f"{compiler[0]}: no such MPI compiler: install one, or name it with --mpicc (or $MPICC), "
            "as --mpicc mpicc.mpich"
        )
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / name
    words = [*compiler, *FLAGS, str(SOURCES / f"{name}.c"), "-o", str(target), *flags]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if "error" in line or "cannot find" in line]
        raise InputError(f"{shlex.join(words)}: {(said or done.stderr.splitlines() or ['failed'])[0]}")
    return target.resolve()


class Stopped(Exception):
    """A program was ended before it was done: by the user, or by its limit of time."""

    def __init__(self, by: str, *, user: bool = False) -> None:
        super().__init__(by)
        self._user = user

    def told(self, rest: str) -> BaseException:
        """Exception for the command: an interruption, if the user stopped it, or else an error."""
        return (StoppedEarly if self._user else InputError)(f"stopped by {self}{rest}")


def run(
    words: Sequence[str], log: Path, *, limit_s: float | None = None, look: Callable[[], None] = lambda: None
) -> None:
    """Runs a command until its end; `look` is called now and then. Standard output and error go to `log`.

    It ends with this process, however that ends.
    """
    if shutil.which(words[0]) is None:
        raise InputError(f"{words[0]}: no such launcher")
    begun = time.monotonic()
    with log.open("wb") as file, signals.ends_interrupt():
        process = subprocess.Popen(
            bound(words, signal.SIGTERM),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
        try:
            while (code := _code(process)) is None:
                look()
                if limit_s is not None and time.monotonic() - begun > limit_s:
                    raise Stopped(f"the limit of {limit_s:g} s")
        except KeyboardInterrupt:
            raise Stopped("the user", user=True) from None
        finally:
            _end(process)
    look()
    if code:
        full = " (no space is left on the device)" * (shutil.disk_usage(log.parent).free < FULL_B)
        raise InputError(
            f"'{shlex.join(words[:4])} …' ended with code {code}: {last_words(log)}{full} (all of it: {log})"
        )


def last_words(log: Path) -> str:
    """The line of a program's output that says best why it ended."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    ours = [line for line in lines if "error: " in line]
    return (ours[0] if ours else lines[-1]) if lines else "it said nothing"


def _code(process: subprocess.Popen) -> int | None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        return process.wait(POLL_S)
    return None


def _end(process: subprocess.Popen) -> None:
    """Ends a launcher with all that it has started on this host."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_S)
