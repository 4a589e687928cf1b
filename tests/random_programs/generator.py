"""Makes random programs: a seed gives the same program everywhere."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from . import collectives, communicators, errors, files, one_sided, point_to_point
from .model import Phase, World

PHASES = (
    (4, communicators.make),
    (2, communicators.between_groups),
    (3, point_to_point.blocking),
    (6, point_to_point.nonblocking),
    (3, point_to_point.consumers),
    (2, point_to_point.exchanges),
    (2, point_to_point.partitioned),
    (5, collectives.collective),
    (2, collectives.overlapping),
    (1, collectives.neighbors),
    (3, one_sided.window),
    (2, files.shared_file),
    (1, errors.wrong_calls),
    (1, errors.truncation),
)
"""Every kind of phase, with how often it is chosen."""

REPLAYED = (
    point_to_point.blocking,
    point_to_point.nonblocking,
    point_to_point.consumers,
    collectives.collective,
)
"""Kinds of phases of programs that are recorded: those whose every call a trace can hold."""

RANKS = (2, 3, 4, 5, 6)
BATCHED = 8
"""Programs of one file: a start of MPICH takes longer than what they do."""
PHASES_MOST = 6


@dataclass(frozen=True)
class Program:
    """A program for some ranks."""

    number: int
    ranks: int
    phases: tuple[Phase, ...]

    def without(self, at: int) -> Program:
        """The program without one of its phases, and without those that need what it makes."""
        kept, gone = [], self.phases[at].makes
        for number, phase in enumerate(self.phases):
            if number == at:
                continue
            if phase.needs & gone:
                gone |= phase.makes
            else:
                kept.append(phase)
        return replace(self, phases=tuple(kept))

    def with_phase(self, at: int, phase: Phase) -> Program:
        """The program with another phase in one place."""
        return replace(self, phases=(*self.phases[:at], phase, *self.phases[at + 1 :]))

    def function(self) -> str:
        """Its C function."""
        lines = [f"static void program_{self.number}(void) {{", f"  start_program({self.number});"]
        lines += [f"  {line}" for phase in self.phases for line in phase.lines()]
        return "\n".join([*lines, "  end_program();", "}"])


def program(seed: int, ranks: int | None = None, kinds: tuple = PHASES) -> Program:
    """The program of that seed, for 2 to 6 ranks if their number is not given."""
    random = Random(seed)
    ranks = ranks or random.choice(RANKS)
    world = World(random, ranks)
    weights, makers = zip(*kinds, strict=True)
    chosen = random.choices(makers, weights, k=random.randint(1, PHASES_MOST))
    return Program(seed, ranks, tuple(make(world) for make in chosen))


def source(programs: list[Program]) -> str:
    """A C file that runs programs of the same number of ranks one after the other."""
    functions = "\n\n".join(one.function() for one in programs)
    calls = "\n".join(f"    program_{one.number}();" for one in programs)
    main = (
        "int main(int count, char **words) {\n"
        f"    begin(&count, &words);\n{calls}\n"
        "    fclose(notes);\n    return MPI_Finalize();\n}"
    )
    return f'#include "random.h"\n\n{functions}\n\n{main}\n'
