"""Options of a run, as the core's table has them: see `sim::request`."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from hopcast import _core
from hopcast.errors import InputError


@dataclass(frozen=True)
class Option:
    """One option of a run."""

    name: str
    """Key in requests and keyword of `hopcast.run`."""
    text: str
    """Meaning, in sentences."""
    takes: Mapping[str, Any]
    """Kind of its values, with their range or choices."""
    default: Any
    """Value of a run that does not say it; None where there is no fixed one."""
    otherwise: str | None
    """Words about a run that does not say it, where there is no fixed value."""
    short: str | None
    """Short flag of the command line."""
    metavar: str
    """Name of its value in the help of the command line."""
    registry: str | None
    """Registry of the names that it takes."""
    workloads: tuple[str, ...]
    """Kinds of workload that take it."""
    of_jobs: bool
    """True if each of several jobs may have its own."""

    @property
    def flag(self) -> str:
        """The option as the command line writes it."""
        return self.short or f"--{self.name.replace('_', '-')}"

    @property
    def unset(self) -> Any:
        """Value of a run that does not say it, as a report lists it."""
        return False if self.takes["kind"] == "switch" else self.default

    @property
    def default_words(self) -> str | None:
        """Words about a run that does not say it; None where that needs none."""
        return self.otherwise or (None if self.default is None else str(self.default))

    @property
    def help(self) -> str:
        """Meaning and default."""
        words = self.default_words
        return self.text if words is None else f"{self.text} [default: {words}]"


@cache
def table() -> dict[str, Option]:
    """All options by name, in the order of the table."""
    entries = json.loads(_core.run_options())
    return {entry["name"]: Option(**entry | {"workloads": tuple(entry["workloads"])}) for entry in entries}


def of_jobs() -> dict[str, Option]:
    """Options that each of several jobs may have for itself."""
    return {name: option for name, option in table().items() if option.of_jobs}


def of_replay() -> tuple[str, ...]:
    """Options that say how a recorded trace is replayed."""
    return tuple(name for name, option in of_jobs().items() if "function" not in option.workloads)


def given(keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Keywords as a request holds them, without those that are None or leave a switch off.

    Raises `TypeError` for one that is no option.
    """
    for name in keywords:
        if name not in table():
            near = difflib.get_close_matches(name, table(), 1)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            raise TypeError(f"unknown option '{name}'{hint} known: {', '.join(table())}")
    plain = {name: _plain(table()[name], value) for name, value in keywords.items()}
    return {name: value for name, value in plain.items() if value is not None}


def _plain(option: Option, value: Any) -> Any:
    """A value as JSON has it."""
    kind = option.takes["kind"]
    if kind == "folder" and value == "":
        raise InputError(f"{option.name}: the name of the folder is empty")
    if kind == "names" and isinstance(value, str):
        value = [name.strip() for name in value.split(",") if name.strip()]
    if (kind == "switch" and value is False) or (kind in ("names", "overrides") and not value):
        return None
    return plain(value)


def plain(value: Any) -> Any:
    """A value with paths as texts, tuples and arrays as lists, and numbers of NumPy as numbers."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, (list, tuple, range)):
        return [plain(item) for item in value]
    if isinstance(value, float) and value - value != 0:  # infinite, or no number: JSON has neither
        return str(value)
    return value
