"""Estimates of a server, of what a run or a study will take, in words."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click

from hopcast import progress
from hopcast.report import units

BEFORE, ONLY, NEVER = "before", "only", "never"
WHEN = (BEFORE, ONLY, NEVER)
"""Times at which an estimate is asked for: before what it is about is submitted, in its place, or never."""


def usual() -> str:
    """The time that is taken where none was given: scripts do not wait for what nobody reads."""
    return BEFORE if sys.stderr.isatty() else NEVER


def say(when: str, ask: Callable[[], str]) -> None:
    """Says the estimate that a server gives: on standard output if it is all that is wanted.

    Raises `InputError` where what it is about cannot run.
    """
    from hopcast.service.client import Busy

    if when == NEVER:
        return
    try:
        with progress.shown(lambda elapsed_s: f"the server estimates it, {units.seconds(elapsed_s, 2)}"):
            text = ask()
    except Busy as error:
        if when == ONLY:
            raise
        text = f"no estimate: {error}"
    click.echo(text, err=when == BEFORE)


def of_run(estimate: dict[str, Any]) -> str:
    """Needs of a run, in lines; `estimate` is as `answers.Estimate`."""
    parts = _sizes(estimate, "")
    parts.append(_time(estimate["seconds"], estimate["is_whole"]))
    return _lines("This run will take", parts, estimate["warnings"])


def of_study(estimate: dict[str, Any]) -> str:
    """Needs of a study, in lines; `estimate` is as `answers.StudyEstimate`."""
    cells, tried = estimate["cells"], len(estimate["tried"])
    parts = [units.things(cells, "cell"), *_sizes(estimate, "at most ")]
    workers = min(estimate["workers"] or 1, cells)
    seconds = None if estimate["seconds"] is None else estimate["seconds"] / workers
    parts.append(f"{_time(seconds, estimate['is_whole'])} with {units.things(workers, 'worker')}")
    begun = "all cells were" if tried == cells else f"{units.things(tried, 'cell')} {_were(tried)}"
    return _lines(f"This study will take, as {begun} begun for it", parts, estimate["warnings"])


def _were(number: int) -> str:
    return "was" if number == 1 else "were"


def _sizes(estimate: dict[str, Any], most: str) -> list[str]:
    """Hosts, ranks and memory; nothing where the set-up took too long to say."""
    if estimate["hosts"] is None:
        return []
    hosts, ranks = units.things(estimate["hosts"], "host"), units.things(estimate["ranks"], "rank")
    return [f"{most}{ranks} on a platform of {hosts}", f"{most}{units.size(estimate['memory_B'])} of memory"]


def _time(seconds: float | None, is_whole: bool) -> str:
    if seconds is None:
        return "a time that is not known"
    return f"{'' if is_whole else 'about '}{units.seconds(seconds, 2)}"


def _lines(begin: str, parts: list[str], warnings: list[str]) -> str:
    return "\n".join([f"{begin}: {', '.join(parts)}", *(f"warning: {one}" for one in warnings)])
