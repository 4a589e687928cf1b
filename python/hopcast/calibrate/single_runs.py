"""Runs of measuring programs that begin anew when cut: thresholds, nodecomm, ring, saturation, kernels."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hopcast.calibrate import design, launch, measure
from hopcast.calibrate.machine import Machine
from hopcast.calibrate.measure import Session
from hopcast.errors import InputError

Words = list[str]


@dataclass(frozen=True)
class Wanted:
    """Options of a run."""

    partner: str = "auto"
    background: str = "none"
    design: Path | None = None
    arguments: Sequence[str] = ()
    """Further words for the program."""
    blas: Sequence[str] = ()
    """Flags that link a BLAS, for kernels."""


@dataclass(frozen=True)
class Program:
    """A program, its words, and the files of its results."""

    words: Callable[[Session, Machine, Wanted], Words]
    results: tuple[str, ...]
    says: Callable[[Session, str], str] = lambda session, _: ""
    """Text for the screen, of what the program has printed."""


def run(name: str, session: Session, wanted: Wanted) -> str:
    """Measures with one program; gives what to say about it."""
    program = PROGRAMS[name]
    with measure.opened(session):
        if session.limit_s is not None and name == "nodecomm":
            wanted = Wanted(arguments=("-limit", f"{session.limit_s:g}", *wanted.arguments))
        conditions = ({"blas": shlex.join(wanted.blas)} if name == "kernels" else {}) | {
            "background": wanted.background,
            "partner": wanted.partner,
            "arguments": list(wanted.arguments),
        }
        found = measure.begin(session, name, wanted.design, conditions)
        done = [file for file in program.results if (session.folder / file).exists()]
        if done:
            raise InputError(f"{session.folder}: {done[0]} is there already; take another -o")
        flags = wanted.blas if name == "kernels" else ()
        own = program.words(session, found, wanted)
        built = launch.compile_program(name, session.compiler, session.folder / "programs", flags)
        words = [*session.launcher, str(built), *own]
        log = session.folder / "output.txt"
        try:
            limit_s = None if name == "nodecomm" else session.limit_s
            with measure.elapsed(name):
                launch.run([*words, *wanted.arguments], log, limit_s=limit_s)
        except (launch.Stopped, InputError) as error:
            for file in program.results:
                if (session.folder / file).exists():
                    shutil.move(session.folder / file, session.folder / f"{file}.part")
            if isinstance(error, launch.Stopped):
                raise error.told(f": the results of {name} are not complete") from None
            raise
        said = program.says(session, log.read_text(errors="replace"))
        missing = [file for file in program.results if not (session.folder / file).exists()]
        if missing:
            raise InputError(
                f"{name} has ended without {missing[0]}: {launch.last_words(log)} (all of it: {log})"
            )
    return said + f"Results  {', '.join(str(session.folder / file) for file in program.results)}"


def _thresholds(session: Session, found: Machine, wanted: Wanted) -> Words:
    rank, _ = found.partner(wanted.partner)
    return ["--out", str(session.folder.resolve()), "--partner", str(rank)]


def _limits(session: Session, printed: str) -> str:
    return "".join(
        f"{line}\n" for line in printed.splitlines() if re.match(r"(asynchronous|detached|no sync)", line)
    )


def _nodecomm(session: Session, _found: Machine, wanted: Wanted) -> Words:
    overlaps = {"-o", "-o2"} & set(wanted.arguments)
    return [] if overlaps else ["-csv", str((session.folder / "nodecomm.csv").resolve())]


_NODECOMM_LINE = re.compile(r"Pingpong for|master: |partner:|\d+\t")


def _nodecomm_text(session: Session, printed: str) -> str:
    """Keeps the program's text without what launcher and libraries have said in between."""
    lines = [line for line in printed.splitlines() if _NODECOMM_LINE.match(line)]
    (session.folder / "nodecomm.txt").write_text("".join(f"{line}\n" for line in lines))
    over = [line for line in printed.splitlines() if line.startswith("nodecomm: the limit")]
    return "".join(f"{line.rstrip()}\n" for line in lines + over)


def _ring(session: Session, found: Machine, wanted: Wanted) -> Words:
    if len(found.hosts) < 2:
        raise InputError("the launcher starts 1 rank, and a ring needs two: -n 2")
    if wanted.design is None:
        raise InputError("--program ring needs --design: from 'hopcast calibrate design --kinds Ring'")
    design.read_network(wanted.design, (design.RING,))
    kept = session.folder / "design.csv"
    return [
        "--design",
        str(kept.resolve()),
        "--out",
        str(session.folder.resolve()),
        "--background",
        wanted.background,
    ]


def _saturation(session: Session, _found: Machine, _wanted: Wanted) -> Words:
    return ["--out", str(session.folder.resolve())]


def _kernels(session: Session, _found: Machine, wanted: Wanted) -> Words:
    if wanted.design is None:
        raise InputError("--program kernels needs --design: from 'hopcast calibrate design --kernels …'")
    design.read_kernels(wanted.design)
    kept = session.folder / "design.csv"
    return ["--design", str(kept.resolve()), "--out", str(session.folder.resolve())]


PROGRAMS = {
    "kernels": Program(_kernels, ("kernels.csv",)),
    "thresholds": Program(_thresholds, ("thresholds.csv", "thresholds.xml"), _limits),
    "nodecomm": Program(_nodecomm, ("nodecomm.txt",), _nodecomm_text),
    "ring": Program(_ring, ("ring.csv",)),
    "saturation": Program(
        _saturation,
        ("load_send.csv", "load_sendrecv_same.csv", "load_sendrecv_diff.csv", "load_alltoall.csv"),
    ),
}
