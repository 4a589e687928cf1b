"""Runners: places where pieces run. `--on KIND` or `--on KIND:WHERE` names one.

Each kind is a module with `NAME`, `SUMMARY`, `WHERE` (a word for what follows the colon, or None) and
`made(where, settings)`, which gives a `Runner`.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any, Protocol

from hopcast.errors import InputError
from hopcast.experiment.pieces import Result, Work
from hopcast.experiment.stopping import Stop

_KINDS = ("local", "dask", "slurm", "oar")


class Runner(Protocol):
    """Place where pieces run."""

    def run(
        self, work: Work, tasks: Mapping[str, Mapping[str, Any]], stop: Stop
    ) -> Generator[tuple[str, Result], None, None]:
        """Computes `tasks`, inputs by key, and gives each result as it comes, in any order.

        Once `stop` is asked for, or the generator is closed, it ends whatever still runs.
        """
        ...


@dataclass(frozen=True)
class Settings:
    """Settings that all kinds of runner know."""

    workers: int | None = None
    """Pieces that run at the same time; None for as many as there are cores."""
    limit_s: float | None = None
    """Time after which a piece is ended, and has failed [s]."""


def kinds() -> dict[str, ModuleType]:
    """All kinds by name."""
    modules = [import_module(f"hopcast.experiment.runners.{kind}") for kind in _KINDS]
    return {module.NAME: module for module in modules}


def named(text: str, settings: Settings) -> Runner:
    """The runner that `KIND` or `KIND:WHERE` names."""
    kind, colon, where = text.partition(":")
    if kind not in _KINDS:
        raise InputError(f"--on {text}: unknown runner '{kind}'; known: {', '.join(_KINDS)}")
    module = import_module(f"hopcast.experiment.runners.{kind}")
    if module.WHERE is None and colon:
        raise InputError(f"--on {text}: '{kind}' takes nothing after its name")
    return module.made(where or None, settings)
