"""Random programs under MPICH and under hopcast; for more of them, `python -m random_programs.compare`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import real_mpi

from random_programs import compare
from random_programs.collectives import collective
from random_programs.generator import BATCHED, REPLAYED, Program, program, source
from random_programs.model import Phase
from random_programs.regular import REGULAR

pytestmark = real_mpi.needs_mpich

SEEDS = {2: (1000, 1100, 1200), 3: (2000, 2100, 2200), 4: (3000, 3100), 5: (4000,), 6: (5000,)}
"""The first seed of each batch, by ranks: about a minute. MPICH's ranks poll: many take long on few cores."""


@pytest.mark.parametrize(
    ("ranks", "seed"), [(ranks, seed) for ranks, seeds in SEEDS.items() for seed in seeds]
)
def test_answers_are_those_of_mpich(ranks: int, seed: int, tmp_path: Path) -> None:
    programs = [program(number, ranks) for number in range(seed, seed + BATCHED)]
    theirs = compare.run(
        compare.compile_(source(programs), tmp_path, compare.MPICH), ranks, tmp_path, compare.MPICH
    )
    assert theirs[0] == "", "MPICH itself fails on what the generator made"
    found = compare.check(programs, tmp_path)
    assert not found, "\n".join(
        f"seed {one.program.number}: {one.why}\n{source([one.program])}" for one in found
    )


def hopcast(*words: object) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "hopcast", *map(str, words)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{words}\n{done.stdout}{done.stderr}"
    return done.stdout


def outcome(*words: object) -> dict:
    return json.loads(hopcast("run", "crossbar", "--json", *words))


def record(text: str, ranks: int, folder: Path) -> Path:
    """The recording of a program under MPICH, without findings."""
    theirs, trace = compare.compile_(text, folder, compare.MPICH), folder / "recorded.hct"
    (folder / "notes").mkdir(exist_ok=True)
    launch = real_mpi.launch("mpich", ranks, theirs, folder / "notes")
    hopcast("trace", "record", "-o", trace, "--mpicc", "mpicc.mpich", "--", *launch)
    assert "warning" not in hopcast("trace", "lint", trace)
    return trace


def live(text: str, ranks: int, folder: Path) -> dict:
    ours = compare.compile_(text, folder, compare.HOPCAST)
    return outcome("-n", ranks, "--compute", "none", ours, folder / "notes")


@pytest.mark.parametrize(("ranks", "seed"), [(2, 1), (3, 7), (4, 13)])
def test_a_recording_sends_what_the_program_sends(ranks: int, seed: int, tmp_path: Path) -> None:
    kinds = tuple((1, kind) for kind in REPLAYED)
    text = source([program(number, ranks, kinds) for number in range(seed, seed + 6)])
    trace = record(text, ranks, tmp_path)
    replayed, simulated = outcome(trace), live(text, ranks, tmp_path)
    assert (replayed["messages"], replayed["bytes"]) == (simulated["messages"], simulated["bytes"])
    hopcast("trace", "convert", trace, "-o", tmp_path / "converted.hct")
    assert outcome(tmp_path / "converted.hct")["outcome_hash"] == replayed["outcome_hash"]


@pytest.mark.parametrize(("seed", "ranks", "more"), [(1, 5, 10), (2, 6, 9), (3, 5, 7)])
def test_a_scaled_recording_sends_what_the_program_sends_on_more_ranks(
    seed: int, ranks: int, more: int, tmp_path: Path
) -> None:
    text = source([program(seed, ranks, REGULAR)])
    hopcast("trace", "scale", record(text, ranks, tmp_path), "--to", more, "-o", tmp_path / "scaled.hct")
    scaled, simulated = outcome(tmp_path / "scaled.hct"), live(text, more, tmp_path)
    assert (scaled["messages"], scaled["bytes"]) == (simulated["messages"], simulated["bytes"])


def test_a_seed_gives_the_same_program() -> None:
    assert source([program(5)]) == source([program(5)]) != source([program(6)])


def test_what_differs_is_shrunk_to_what_the_difference_needs() -> None:
    def phase(title: str, parts: int = 0, needs: int = 0, makes: frozenset[int] = frozenset()) -> Phase:
        lines = tuple((f"part {number}",) for number in range(parts))
        return Phase(title, (), (), lines, frozenset({needs}), makes)

    made = phase("makes 1", makes=frozenset({1}))
    whole = Program(1, 2, (phase("a"), made, phase("uses 1", 3, needs=1), phase("b", 2)))

    def differs(one: Program) -> bool:
        return any(phase.title == "uses 1" and ("part 2",) in phase.parts for phase in one.phases)

    small = compare.shrink(whole, differs)
    assert [one.title for one in small.phases] == ["makes 1", "uses 1"]
    assert small.phases[1].parts == (("part 2",),)


def test_a_wrong_answer_is_found(tmp_path: Path) -> None:
    rank_of_library = '#ifdef MPICH_VERSION\n note("library", 1);\n#else\n note("library", 2);\n#endif'
    wrong = Phase("differs", (rank_of_library,))
    harmless = program(11, 2, ((1, collective),)).phases
    (found,) = compare.check([Program(11, 2, (*harmless, wrong))], tmp_path)
    assert [phase.title for phase in found.program.phases] == ["differs"] and "library" in found.why
