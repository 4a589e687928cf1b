"""Results of comparisons: a value beside a published one, and how far apart they are and may be."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from recordings import Absent
from rich.console import Console
from rich.table import Table

OUT = Path("out/validation")


@dataclass(frozen=True)
class Range:
    """A published lower and upper end; either may be missing."""

    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        if self.low is None:
            return f"at most {self.high:.6g}"
        if self.high is None:
            return f"at least {self.low:.6g}"
        return f"{self.low:.6g} to {self.high:.6g}"


class Kind(Enum):
    """Kind of value that a row compares with, which decides what the row shows."""

    MEASURED = "Predictions beside measurements of real machines"
    FIT = "Fits of measurements, at the sizes that they saw and at those that were held back"
    PUBLISHED = "Beside what other simulations and papers say"
    FORMULA = "Closed forms and bounds"
    OWN = "Checks of hopcast by itself: answers of programs, speed, memory, goals of its own"


@dataclass(frozen=True)
class Result:
    """One value beside its published one."""

    what: str
    published: float | Range
    ours: float
    unit: str = ""
    allowed: float | None = 0.0
    """The largest relative error with which the comparison holds; None where there is no such claim."""
    why: str = ""
    """Source of the published value, or the reason why the two differ."""
    kind: Kind | None = None
    """Kind of the value that it is compared with; that of its script, `KIND`, where None."""
    null: float | None = None
    """The same value on a network of infinite speed, where there is one."""

    @property
    def error(self) -> float:
        """Relative distance from the published value; from the nearer end of a range if outside of it."""
        return self._error_of(self.ours)

    @property
    def null_error(self) -> float | None:
        """The same for the result on a network of infinite speed."""
        return None if self.null is None else self._error_of(self.null)

    @property
    def tests_the_network(self) -> bool:
        """False where an infinite network would pass as well, or come out within a percent of ours."""
        if self.null is None or math.isnan(self.null):
            return True
        passes = self.allowed is not None and abs(self._error_of(self.null)) <= self.allowed
        return not passes and abs(apart(self.null, self.ours)) > 0.01

    def _error_of(self, value: float) -> float:
        if not isinstance(self.published, Range):
            return apart(value, self.published)
        low, high = self.published.low, self.published.high
        if low is not None and value < low:
            return apart(value, low)
        if high is not None and value > high:
            return apart(value, high)
        return 0.0

    @property
    def holds(self) -> bool | None:
        """True if the error is as small as it must be; None where nothing is claimed."""
        return None if self.allowed is None else abs(self.error) <= self.allowed

    def to_json(self) -> dict:
        """The row as JSON can hold it; `from_json` reads it."""
        published = self.published
        if isinstance(published, Range):
            published = {"low": published.low, "high": published.high}
        null = None if self.null is None or math.isnan(self.null) else self.null
        kind = self.kind.name if self.kind else None
        return {**vars(self), "published": published, "kind": kind, "null": null}

    @staticmethod
    def from_json(row: dict) -> Result:
        """The row that `to_json` has written."""
        published = row["published"]
        if isinstance(published, dict):
            published = Range(**published)
        return Result(**{**row, "published": published, "kind": Kind[row["kind"]]})

    def cells(self) -> list[str]:
        """Cells of a row of a table."""
        published = self.published if isinstance(self.published, Range) else f"{self.published:.6g}"
        verdict = {None: "–", True: "yes", False: "NO"}[self.holds]
        unit = f" {self.unit}" if self.unit else ""
        return [
            self.what,
            f"{published}{unit}",
            f"{self.ours:.6g}{unit}",
            error_text(self.error),
            self._null_text(unit),
            verdict,
            self.why,
        ]

    def _null_text(self, unit: str) -> str:
        if self.null is None or math.isnan(self.null):
            return "–"
        same = "" if self.tests_the_network else " (no test of the network)"
        value = 0.0 if abs(self.null) < 1e-9 else self.null  # the rounding of differences of clocks
        return f"{value:.6g}{unit}{same}"


def apart(ours: float, published: float) -> float:
    """The relative distance; from nothing, anything else is infinitely far."""
    if published == 0:
        return 0.0 if ours == 0 else math.inf
    return ours / published - 1


HEAD = ["what", "published", "hopcast", "error", "infinite network", "holds", "source, explanation"]


def error_text(error: float) -> str:
    """A relative error in percent, without a sign where there is none."""
    if abs(error) < 1e-9:
        return "0"
    return f"{100 * error:+.3g} %"


def console() -> Console:
    """Prints tables; wide enough for them where the output is no terminal."""
    screen = Console()
    return screen if screen.is_terminal else Console(width=180)


def show(title: str, head: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    """Prints a table."""
    table = Table(title=title, title_justify="left", title_style="bold")
    for position, column in enumerate(head):
        table.add_column(column, justify="left" if position == 0 or column == HEAD[-1] else "right")
    for row in rows:
        table.add_row(*row)
    console().print(table)


Compare = Callable[[Path, bool], list[Result]]
"""Runs a comparison: `(directory for plots, quick)`."""


def main(compare: Compare, doc: str) -> None:
    """Runs one script from the command line; ends with status 1 where a published bound does not hold."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=OUT, help=f"directory for plots (default: {OUT})")
    parser.add_argument("--quick", action="store_true", help="fewer points, the same claims")
    arguments = parser.parse_args()
    try:
        compared = compare(arguments.out, arguments.quick)
    except Absent as absent:
        print(absent)
        return
    show("Compared", HEAD, [result.cells() for result in compared])
    if any(result.holds is False for result in compared):
        raise SystemExit(1)
