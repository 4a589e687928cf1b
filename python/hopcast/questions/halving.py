"""Successive halving: the better half of the candidates is measured again, with twice the budget, until one
is left.

Source: Jamieson, Talwalkar, "Non-stochastic best arm identification and hyperparameter optimization", AISTATS
2016.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Candidate = TypeVar("Candidate")


@dataclass(frozen=True)
class Winner(Generic[Candidate]):
    """The candidate that was left, and what was measured on the way."""

    candidate: Candidate
    cost: float
    rounds: tuple[dict[Candidate, float], ...]
    """Costs of the candidates of each round."""


def best(
    candidates: Sequence[Candidate],
    measure: Callable[[Candidate, int], float],
    *,
    first: int = 1,
    most: int = 64,
) -> Winner[Candidate]:
    """The candidate of least cost; `measure(candidate, budget)` gets a budget of `first`, then twice that, up
    to `most`.

    Of equal costs, the earlier candidate is better.
    """
    left, budget = list(candidates), first
    rounds: list[dict[Candidate, float]] = []
    while True:
        costs = {candidate: measure(candidate, budget) for candidate in left}
        rounds.append(costs)
        ordered = sorted(left, key=lambda one: costs[one])
        left = ordered[: max(1, len(ordered) // 2)]
        if len(left) == 1:
            return Winner(left[0], costs[left[0]], tuple(rounds))
        budget = min(2 * budget, most)
