"""Runs random programs under MPICH and under hopcast and compares what they note; shrinks what differs.

An hour of it, in the folder `tests`:
`python -m random_programs.compare --minutes 60 [--seed N] [--keep DIR]`. A difference is printed as a seed, and
its minimal program is kept.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .generator import BATCHED, RANKS, Program, program, source

HERE = Path(__file__).resolve().parent
SECONDS_MOST = 120
MPICH, HOPCAST = "mpich", "hopcast"


@dataclass(frozen=True)
class Difference:
    """A program whose answers differ, and the difference."""

    program: Program
    why: str


def compile_(text: str, folder: Path, library: str) -> Path:
    """A program of that text for one library; an error of the compiler is one of the generator."""
    file, target = folder / "program.c", folder / f"program-{library}"
    file.write_text(text)
    shutil.copy(HERE / "random.h", folder)
    compiler = ["mpicc.mpich"] if library == MPICH else [sys.executable, "-m", "hopcast", "cc"]
    words = [*compiler, "-O0", "-w", str(file), "-o", str(target)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}\n{done.stderr}")
    return target


def run(target: Path, ranks: int, folder: Path, library: str) -> tuple[str, list[str]]:
    """The end of a run, "" if it ended well, and the notes of each rank."""
    out = folder / f"notes-{library}"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    if library == MPICH:
        words = ["mpiexec.mpich", "-n", str(ranks)]
    else:
        words = [sys.executable, "-m", "hopcast", "run", "crossbar", "-n", str(ranks)]
        words += ["--quiet", "--compute", "none"]
    try:
        done = subprocess.run(
            [*words, str(target), str(out)],
            capture_output=True,
            text=True,
            timeout=SECONDS_MOST,
            check=False,
        )
        ended = "" if done.returncode == 0 else f"exit code {done.returncode}\n{done.stdout}{done.stderr}"
    except subprocess.TimeoutExpired:
        ended = f"did not end in {SECONDS_MOST} s"
    notes = [out / f"rank-{rank}" for rank in range(ranks)]
    return ended, [file.read_text() if file.exists() else "" for file in notes]


def difference(programs: list[Program], folder: Path) -> str | None:
    """The difference between the answers of some programs of equally many ranks.

    None if there is none, or if MPICH fails or does not give the same answers twice.
    """
    text, ranks = source(programs), programs[0].ranks
    theirs = compile_(text, folder, MPICH)
    native_end, native = run(theirs, ranks, folder, MPICH)
    if native_end:
        return None
    ours_end, ours = run(compile_(text, folder, HOPCAST), ranks, folder, HOPCAST)
    if ours_end:
        return f"hopcast: {ours_end}"
    told = _first_difference(native, ours)
    if told and run(theirs, ranks, folder, MPICH) != ("", native):
        return None
    return told


def _first_difference(native: list[str], ours: list[str]) -> str | None:
    for rank, (theirs, mine) in enumerate(zip(native, ours, strict=True)):
        for line, other in zip(theirs.splitlines(), mine.splitlines(), strict=False):
            if line != other:
                return f"rank {rank}: MPICH notes {line}, hopcast {other}"
        if theirs != mine:
            return (
                f"rank {rank}: MPICH notes {len(theirs.splitlines())} lines, hopcast {len(mine.splitlines())}"
            )
    return None


def shrink(one: Program, differs: Callable[[Program], bool]) -> Program:
    """The program without every phase, and every part of a phase, that the difference does not need."""
    shrunk = True
    while shrunk:
        shrunk = False
        for at in reversed(range(len(one.phases))):
            smaller = one.without(at)
            if smaller.phases and differs(smaller):
                one, shrunk = smaller, True
                break
        for at, phase in enumerate(one.phases):
            for part in reversed(range(len(phase.parts))):
                smaller = one.with_phase(at, phase.without(part))
                if len(phase.parts) > 1 and differs(smaller):
                    one, shrunk = smaller, True
                    break
            if shrunk:
                break
    return one


def check(programs: list[Program], folder: Path) -> list[Difference]:
    """The differences of some programs of equally many ranks, each shrunk."""
    if difference(programs, folder) is None:
        return []
    found = []
    for one in programs:
        if difference([one], folder) is not None:
            small = shrink(one, lambda other: difference([other], folder) is not None)
            found.append(Difference(small, difference([small], folder) or "differs only at times"))
    return found or [Difference(programs[0], "differs together with the programs that follow it")]


def batches(seed: int, ranks: int | None = None):
    """Programs without end, some of equally many ranks at a time."""
    while True:
        many = ranks or RANKS[seed // BATCHED % len(RANKS)]
        yield [program(number, many) for number in range(seed, seed + BATCHED)]
        seed += BATCHED


def main() -> None:
    """Compares for some minutes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=60.0, help="how long (default: 60)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the first program (default: 1)")
    parser.add_argument("--ranks", type=int, choices=RANKS, help="ranks of all programs (default: 2 to 6)")
    parser.add_argument("--keep", type=Path, default=Path("out/random"), help="folder of minimal programs")
    arguments = parser.parse_args()
    end, count, found = time.monotonic() + 60 * arguments.minutes, 0, 0
    for programs in batches(arguments.seed, arguments.ranks):
        if time.monotonic() > end:
            break
        with tempfile.TemporaryDirectory() as folder:
            for one in check(programs, Path(folder)):
                found += 1
                arguments.keep.mkdir(parents=True, exist_ok=True)
                file = arguments.keep / f"program-{one.program.number}.c"
                file.write_text(source([one.program]))
                print(
                    f"\nseed {one.program.number}, {one.program.ranks} ranks: {one.why}\n{file}", flush=True
                )
        count += len(programs)
        print(f"\r{count} programs, {found} differ", end="", flush=True)
    print()
    raise SystemExit(1 if found else 0)


if __name__ == "__main__":
    main()
