"""What a comparison gives: a value beside a published one, and how far apart they are and may be."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
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
    """Where the published value comes from, or why the two differ."""

    @property
    def error(self) -> float:
        """Relative distance from the published value; from the nearer end of a range if outside of it."""
        if not isinstance(self.published, Range):
            return apart(self.ours, self.published)
        low, high = self.published.low, self.published.high
        if low is not None and self.ours < low:
            return apart(self.ours, low)
        if high is not None and self.ours > high:
            return apart(self.ours, high)
        return 0.0

    @property
    def holds(self) -> bool | None:
        """Whether the error is as small as it must be; None where nothing is claimed."""
        return None if self.allowed is None else abs(self.error) <= self.allowed

    def cells(self) -> list[str]:
        """What stands in a row of a table."""
        published = self.published if isinstance(self.published, Range) else f"{self.published:.6g}"
        verdict = {None: "–", True: "yes", False: "NO"}[self.holds]
        unit = f" {self.unit}" if self.unit else ""
        return [
            self.what,
            f"{published}{unit}",
            f"{self.ours:.6g}{unit}",
            error_text(self.error),
            verdict,
            self.why,
        ]


def apart(ours: float, published: float) -> float:
    """The relative distance; from nothing, anything else is infinitely far."""
    if published == 0:
        return 0.0 if ours == 0 else math.inf
    return ours / published - 1


HEAD = ["what", "published", "hopcast", "error", "holds", "source, explanation"]


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
