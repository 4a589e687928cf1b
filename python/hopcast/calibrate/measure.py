"""Runs of measuring programs under a real MPI: with progress, and going on where a run was cut.

Results stand in a directory: `machine.json` (what was measured, and under which conditions), `design.csv`,
`NAME_KIND.csv`, `journal.csv`. A line of the journal says up to where all files were complete at a time: a
run that goes on truncates them to its last one.
"""

from __future__ import annotations

import csv
import fcntl
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hopcast import text_file
from hopcast.calibrate import launch, machine, whole_file
from hopcast.calibrate.design import NETWORK_KINDS
from hopcast.errors import InputError

_JOURNAL_LINE = re.compile(r"\d+,\d+(\.\d+)?(e[-+]\d+)?(,\d+)+\n", re.ASCII)
BACKGROUNDS = ("none", "kernel", "probe", "both")
"""Load of the ranks that do not measure: they sleep, multiply matrices, poll for messages, or do both."""


@dataclass(frozen=True)
class Session:
    """A directory of results, and how programs are compiled and started."""

    folder: Path
    launcher: Sequence[str]
    compiler: Sequence[str]
    limit_s: float | None = None


@dataclass(frozen=True)
class Reached:
    """Measurements that a directory holds."""

    measurements: int
    seconds: float
    """Time of the last one."""


@contextmanager
def opened(session: Session) -> Iterator[None]:
    """Makes the directory, and keeps others from it meanwhile."""
    session.folder.mkdir(parents=True, exist_ok=True)
    with (session.folder / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(f"{session.folder}: another measurement writes there now") from None
        yield


def begin(session: Session, program: str, design: Path | None, conditions: dict) -> machine.Machine:
    """Finds the machine, and checks that the directory holds nothing of another one."""
    if design is not None:
        _keep_design(session, design)
    found = machine.find(session.compiler, session.launcher, session.folder)
    found.check_clock()
    machine.record(found, session.folder, session.launcher, program, conditions)
    return found


def _keep_design(session: Session, design: Path) -> None:
    kept = session.folder / "design.csv"
    if not kept.exists():
        try:
            text_file.refuse_named_pipe(design)
            text = design.read_bytes().decode()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{design}: {getattr(error, 'strerror', None) or error}") from None
        whole_file.write(kept, text)
    elif kept.read_bytes() != design.read_bytes():
        raise InputError(f"{session.folder}: begun with another design than {design}; take another -o")


def reached(folder: Path, files: Sequence[str]) -> Reached:
    """Measurements that are complete; cuts off what a run that was ended has written behind them.

    Files of kinds that a design does not have are removed.
    """
    try:
        lines = (folder / "journal.csv").read_text().splitlines(keepends=True)
    except FileNotFoundError:
        lines = []
    complete = [line for line in lines if _JOURNAL_LINE.fullmatch(line) and line.count(",") == len(files) + 1]
    if not complete:
        for name in files:
            (folder / name).unlink(missing_ok=True)
        (folder / "journal.csv").unlink(missing_ok=True)
        return Reached(0, 0.0)
    (folder / "journal.csv").write_text("".join(complete))
    measurements, seconds, *lengths = complete[-1].split(",")
    for name, length in zip(files, map(int, lengths), strict=True):
        if not length:
            (folder / name).unlink(missing_ok=True)
            continue
        if not (folder / name).exists() or (folder / name).stat().st_size < length:
            raise InputError(f"{folder / name}: shorter than the journal says; take another -o")
        with (folder / name).open("r+b") as file:
            file.truncate(length)
    return Reached(int(measurements), float(seconds))


def is_complete(folder: Path, count: int) -> bool:
    """True if a directory holds all measurements of its design."""
    try:
        lines = (folder / "journal.csv").read_text().splitlines()
    except FileNotFoundError:
        return False
    return bool(lines) and lines[-1].partition(",")[0] == str(count)


def network(session: Session, design: Path, count: int, partner: str, background: str) -> str:
    """Measures what a design lists; gives a line about it."""
    with opened(session):
        found = begin(session, "network", design, {"background": background, "partner": partner})
        rank, within = found.partner(partner)
        if background != "none" and len(found.hosts) < 3:
            raise InputError(
                f"--background {background}: the load is made by ranks that do not measure: start more than 2"
            )
        name = "loopback" if within else "network"
        files = [f"{name}_{kind}.csv" for kind in NETWORK_KINDS]
        before = reached(session.folder, files)
        if before.measurements >= count:
            raise InputError(f"{session.folder}: all of its {count:,} measurements are done; take another -o")
        program = launch.compile_program("network", session.compiler, session.folder / "programs")
        arguments = {
            "--design": (session.folder / "design.csv").resolve(),
            "--out": session.folder.resolve(),
            "--name": name,
            "--partner": rank,
            "--from": before.measurements,
            "--seconds-before": before.seconds,
            "--background": background,
        }
        words = [*session.launcher, str(program), *(str(word) for pair in arguments.items() for word in pair)]
        took = _run_to_the_end(session, words, files, before, count)
        hosts = (
            f"{found.hosts[0]} and {found.hosts[rank]}"
            if not within
            else f"two processes of {found.hosts[0]}"
        )
        went_on = f", going on after {before.measurements:,}" if before.measurements else ""
        load = "" if background == "none" else f"; {_load(session.folder)}"
        return (
            f"{count:,} measurements between {hosts} in {took:.3g} s{went_on}: {session.folder}/{name}_*.csv"
            + load
        )


def _load(folder: Path) -> str:
    """Work of the ranks that did not measure, as they have counted it."""
    with (folder / "load.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    ranks = len({row["rank"] for row in rows})
    kernels, polls = (sum(int(row[what]) for row in rows) for what in ("kernels", "polls"))
    return f"load of {ranks} rank{'s' * (ranks > 1)}: {kernels:,} products of matrices, {polls:,} polls"


def _run_to_the_end(
    session: Session, words: list[str], files: Sequence[str], before: Reached, count: int
) -> float:
    begun = time.monotonic()
    with _progress(session.folder, before.measurements, count) as look:
        try:
            launch.run(words, session.folder / "output.txt", limit_s=session.limit_s, look=look)
        except launch.Stopped as stopped:
            done = reached(session.folder, files).measurements
            raise stopped.told(
                f" after {done:,} of {count:,} measurements; the same command goes on"
            ) from None
        except InputError as error:
            done = reached(session.folder, files).measurements
            raise InputError(
                f"{error}; {done:,} of {count:,} measurements are done, the same command goes on"
            ) from None
    done = reached(session.folder, files).measurements
    if done < count:
        raise InputError(
            f"the run was cut after {done:,} of {count:,} measurements; the same command goes on from there"
        )
    return time.monotonic() - begun


@contextmanager
def elapsed(program: str):
    """A line on a terminal with the name of a program that does not say how far it is, and the time."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as line:
        line.add_task(f"measuring: {program}", total=None)
        yield


@contextmanager
def _progress(folder: Path, before: int, count: int):
    """A bar on a terminal: measurements that the journal tells of, and the time that the others will take."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("measured"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=count, completed=before)

        def look() -> None:
            try:
                last = (folder / "journal.csv").read_text().splitlines()[-1].partition(",")[0]
            except (FileNotFoundError, IndexError):
                return
            if last.isdigit():
                bar.update(task, completed=int(last))

        yield look
