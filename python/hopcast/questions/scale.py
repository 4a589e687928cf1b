"""Scaling: speed-up and efficiency over numbers of ranks, and what the loss consists of.

Of a run on p ranks that takes T(p), with p₀ the first number of ranks,

    strong   the whole work stays:       speed-up T(p₀)/T(p)          efficiency p₀ T(p₀)/(p T(p))
    weak     the work of a rank stays:   speed-up p T(p₀)/(p₀ T(p))   efficiency T(p₀)/T(p)

The cost p T(p) (strong) or T(p) (weak) is the sum of what the ranks spend by cause, and of what they wait at
the end for the last one. So the loss is explained without rest: cost(p) - cost(p₀) is the sum of the
differences by cause. The scaling breaks down at the first number of ranks with an efficiency below a bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from hopcast.errors import InputError
from hopcast.report.causes import CAUSES, sentence
from hopcast.request import RunRequest

NAMES = {"compute": "computing", **dict(CAUSES), "end": "done before the last rank"}
"""Parts of a run's cost by name, with their words."""


@dataclass(frozen=True)
class Point:
    """A run."""

    ranks: int
    makespan_s: float
    cost_s: dict[str, float]
    """Time of all ranks together by cause [s]."""
    limit: str
    """Sentence about what limits the run; empty where there is none."""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Step:
    """A run beside the first one."""

    point: Point
    speed_up: float
    efficiency: float
    losses: tuple[tuple[str, float], ...]
    """Causes that take more than in the first run, the largest first: words, and share of this run's cost."""


@dataclass(frozen=True)
class Scaling:
    """Runs in order of ranks."""

    weak: bool
    bound: float
    """Efficiency below which the scaling has broken down."""
    steps: tuple[Step, ...]
    failure: str = ""
    """Reason why there are no runs on more ranks, in a line; empty where there is none."""

    @property
    def breakdown(self) -> Step | None:
        """First run below the bound."""
        return next((step for step in self.steps if step.efficiency < self.bound), None)

    @property
    def best(self) -> Step:
        """Run with the largest speed-up."""
        return max(self.steps, key=lambda step: step.speed_up)

    def words(self) -> str:
        """Sentences about where and why the scaling breaks down, and why there are no more runs."""
        return f"{self._verdict()} The next run failed: {self.failure}" if self.failure else self._verdict()

    def _verdict(self) -> str:
        step = self.breakdown
        if step is None:
            last = self.steps[-1]
            return (
                f"Scales to {last.point.ranks:,} ranks: the efficiency there is {100 * last.efficiency:.0f} "
                "%, not "
                "below "
                f"{100 * self.bound:.0f} %."
            )
        said = f"Breaks down at {step.point.ranks:,} ranks: an efficiency of {100 * step.efficiency:.0f} %."
        if step.losses:
            most = [f"{words} ({100 * share:.0f} % of the ranks' time)" for words, share in step.losses[:2]]
            said += f" Added since {self.steps[0].point.ranks:,} ranks: {' and '.join(most)}."
        return f"{said} {step.point.limit}".strip()


def numbers(first: int, last: int, factor: float) -> list[int]:
    """Numbers of ranks from the first to the last, each `factor` times the one before, rounded; the last is
    there."""
    if not 1 <= first <= last:
        raise InputError(f"ranks from {first} to {last}: from at least 1 on, and rising")
    if factor <= 1:
        raise InputError(f"factor {factor:g} between numbers of ranks: above 1")
    found, value = [first], float(first)
    while (value := value * factor) < last * (1 - 1e-9):
        if round(value) > found[-1]:
            found.append(round(value))
    return found if found[-1] == last else [*found, last]


def measured(request_of: Callable[[int], RunRequest], ranks: Sequence[int]) -> Iterator[Point]:
    """Runs each number of ranks, and gives each point when it is there."""
    from hopcast.api import run

    for count in ranks:
        yield _point(count, run(request_of(count)).summary)


def scaling(points: Sequence[Point], *, weak: bool, bound: float, failure: str = "") -> Scaling:
    """Speed-up, efficiency and losses of runs in order of ranks, and why there are no more."""
    first = points[0]
    base = _cost(first, weak)
    whole = sum(base.values())
    steps = []
    for point in points:
        cost = _cost(point, weak)
        most = sum(cost.values())
        added = {name: cost[name] - base[name] for name in NAMES}
        losses = sorted(
            ((NAMES[name], more / most) for name, more in added.items() if more > 1e-3 * most), key=_last
        )
        efficiency = whole / most if most else 1.0
        speed_up = efficiency * point.ranks / first.ranks
        steps.append(Step(point, speed_up, efficiency, tuple(losses)))
    return Scaling(weak, bound, tuple(steps), failure)


def _last(pair: tuple[str, float]) -> float:
    return -pair[1]


def _cost(point: Point, weak: bool) -> dict[str, float]:
    share = 1 / point.ranks if weak else 1.0
    return {name: point.cost_s[name] * share for name in NAMES}


def _point(ranks: int, summary: dict) -> Point:
    cost = {"compute": summary["time"]["compute_s"]}
    cost |= {name: summary["causes"][f"{name}_s"] for name, _ in CAUSES}
    cost["end"] = max(0.0, ranks * summary["makespan_s"] - sum(cost.values()))
    limit = summary.get("limit")
    return Point(
        ranks, summary["makespan_s"], cost, sentence(limit) if limit else "", tuple(summary["warnings"])
    )
