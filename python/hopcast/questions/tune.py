"""Algorithms of collectives that suit a platform: each size and number of ranks by successive halving.

The time of an algorithm is the mean makespan of runs of the collective's pattern with several seeds, which
differ where the platform has noise or random routes; the budget of a round is their number. Of algorithms
that are within a tolerance of the quickest, that of the smaller size before stays, so that a table does not
flicker. A choice holds from the geometric mean of the size below it and its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hopcast.errors import InputError, ProgramFailure
from hopcast.questions import halving, libraries
from hopcast.questions.libraries import Choice

Timer = Callable[[str, int, int, str | None, int], float]
"""Time of (collective, ranks, size, algorithm, number of the seed) [s]; without an algorithm, as the library
chooses.

It raises `InputError` or `ProgramFailure` for an algorithm that does not fit the ranks, which is then left
out.
"""
BARRIER = "barrier"
TOLERANCE = 0.01
"""Relative difference of times up to which the choice of the smaller size stays."""


@dataclass(frozen=True)
class Tuned:
    """The best algorithm of a collective for a size and a number of ranks."""

    collective: str
    ranks: int
    size_B: int
    algorithm: str
    seconds: float
    default_s: float
    """Time with the algorithm that the library chooses by itself."""
    rounds: tuple[dict[str, float], ...]
    """Times of the algorithms of each round of the competition [s]."""

    @property
    def gain(self) -> float:
        """Share of the library's time that is saved."""
        return 1 - self.seconds / self.default_s if self.default_s else 0.0


def tuned(
    collective: str, ranks: int, sizes: Sequence[int], library: str, time: Timer, most: int = 4
) -> list[Tuned]:
    """Best algorithms by size, ascending; of a collective without data, one.

    most: largest number of seeds.
    """
    names = algorithms(library, collective)
    found: list[Tuned] = []
    for size in sizes[:1] if collective == BARRIER else sizes:
        found.append(
            _best(collective, ranks, size, names, time, most, found[-1].algorithm if found else None)
        )
    return found


def algorithms(library: str, collective: str) -> Sequence[str]:
    """Algorithms that compete. Raises `InputError` for a collective of which the library reads no choice."""
    names = libraries.algorithms(library, collective)
    if not names:
        known = [name for name in libraries.OPENMPI if libraries.algorithms(library, name)]
        raise InputError(f"collective '{collective}': no table of {library}; known: {', '.join(known)}")
    return names


def _best(
    collective: str, ranks: int, size: int, names: Sequence[str], time: Timer, most: int, before: str | None
) -> Tuned:
    time(collective, ranks, size, None, 0)  # raises what no algorithm would change
    fitting = [name for name in names if _fits(time, collective, ranks, size, name)]
    if not fitting:
        raise InputError(f"collective '{collective}' on {ranks} ranks: none of {', '.join(names)} fits")

    def mean(name: str | None, seeds: int) -> float:
        return sum(time(collective, ranks, size, name, seed) for seed in range(seeds)) / seeds

    winner = halving.best(fitting, mean, most=most)
    algorithm, seconds = winner.candidate, mean(winner.candidate, most)
    if before in fitting and before != algorithm and mean(before, most) <= seconds * (1 + TOLERANCE):
        algorithm, seconds = str(before), mean(before, most)
    return Tuned(collective, ranks, size, algorithm, seconds, mean(None, most), tuple(winner.rounds))


def choices(found: Sequence[Tuned]) -> list[Choice]:
    """Choices from sizes on, one for each change of the algorithm."""
    made: list[Choice] = []
    for number, one in enumerate(found):
        before = found[number - 1] if number else None
        if before is None or (before.collective, before.ranks) != (one.collective, one.ranks):
            made.append(Choice(one.collective, one.ranks, 0, one.algorithm))
        elif before.algorithm != one.algorithm:
            border = max(before.size_B + 1, round((before.size_B * one.size_B) ** 0.5))
            made.append(Choice(one.collective, one.ranks, border, one.algorithm))
    return made


def sizes(first: int, last: int, factor: float) -> list[int]:
    """Sizes from the first to the last, each `factor` times the one before."""
    if not 1 <= first <= last or factor <= 1:
        raise InputError(
            f"sizes from {first} B to {last} B by a factor of {factor:g}: rising ones from 1 B on are wanted"
        )
    found, value = [first], float(first)
    while (value := value * factor) <= last * (1 + 1e-9):
        found.append(round(value))
    return found


def _fits(time: Timer, collective: str, ranks: int, size: int, name: str) -> bool:
    try:
        time(collective, ranks, size, name, 0)
    except (InputError, ProgramFailure):
        return False
    return True
