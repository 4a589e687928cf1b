"""Flags of a run, made of the table of options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click
from click.shell_completion import CompletionItem

from hopcast import options
from hopcast.errors import InputError

_SECTIONS = {
    "Options": lambda kinds: "function" in kinds,
    "Options of recorded traces": lambda kinds: kinds[0] == "trace",
    "Options of several jobs": lambda kinds: kinds == ("jobs",),
    "Options of compiled and mpi4py programs": lambda kinds: kinds[0] == "compiled",
}
"""Sections of the help, and which kinds of workload their options have: the first that fits."""


_OF_ONE_RUN = (
    "stop_at",
    "records",
    "statistics",
    "messages",
    "matrix_periods",
    "debug_rank",
    "what_if",
    "profile_simulator",
)
"""Options that end a run early, or that only its own report or screen shows."""


def check_several(given: Mapping[str, Any], who: str) -> None:
    """Refuses options of one run for `who` makes several and compares their times."""
    for name in _OF_ONE_RUN:
        if given.get(name) not in (None, "none", options.table()[name].unset):
            raise InputError(f"{who}: --{name.replace('_', '-')} is of one run; leave it out")


class _Whole(click.IntRange):
    """A whole number, called so in messages."""

    name = "whole number"


def add_all(command: Callable) -> Callable:
    """Gives a command the flag of each option of a run."""
    for option in reversed(options.table().values()):
        command = _flag(option)(command)
    return command


def _flag(option: options.Option) -> Callable:
    takes, spelled = option.takes, f"--{option.name.replace('_', '-')}"
    names = [name for name in (option.short, None if option.short else spelled, option.name) if name]
    if option.short == "-n":
        names.insert(1, "-np")  # as with mpiexec
    how: dict[str, Any] = {"help": option.help, "default": None}
    if option.metavar:
        how["metavar"] = option.metavar
    if option.registry:
        how["shell_complete"] = _completed_by(option.registry, files=takes["kind"] == "placement")
    kind = takes["kind"]
    if kind == "on-off":
        names[0] = f"{spelled}/--no-{spelled[2:]}"
    elif kind == "switch":
        how["is_flag"] = True
    elif kind == "overrides":
        how["multiple"] = True
    elif kind == "whole":
        unlimited = takes["most"] >= 2**32 - 1 and takes["least"] > 0
        how["type"] = _Whole(takes["least"], None if unlimited else takes["most"])
    elif kind == "number":
        how["type"] = click.FloatRange(takes["least"])
    elif kind == "choice":
        how["type"] = click.Choice(takes["choices"])
    elif kind == "folder":
        how["type"] = click.Path()
    return click.option(*names, **how)


def _completed_by(registry: str, files: bool) -> Callable:
    """Completion by the names of a registry, and by files."""

    def complete(_context: click.Context, _parameter: click.Parameter, begin: str) -> list[CompletionItem]:
        from hopcast import core

        entries = core.registry(registry)["entries"]
        found = [
            CompletionItem(entry["name"], help=entry["summary"])
            for entry in entries
            if entry["name"].startswith(begin)
        ]
        return found or ([CompletionItem(begin, type="file")] if files else [])

    return complete


def complete_platform(context: click.Context, parameter: click.Parameter, begin: str) -> list[CompletionItem]:
    """Completion of a platform: presets, and files."""
    return _completed_by("platforms", files=True)(context, parameter, begin)


def complete_workload(context: click.Context, parameter: click.Parameter, begin: str) -> list[CompletionItem]:
    """Completion of a workload: patterns, and files."""
    return _completed_by("patterns", files=True)(context, parameter, begin)


def write_help(command: click.Command, context: click.Context, formatter: click.HelpFormatter) -> None:
    """Writes the help of all flags in sections: those of the command itself first."""
    rows: dict[str, list[tuple[str, str]]] = {section: [] for section in _SECTIONS}
    for parameter in command.get_params(context):
        row = parameter.get_help_record(context)
        if row is None or isinstance(parameter, click.Argument):
            continue
        option = options.table().get(parameter.name)
        kinds = ("function",) if option is None else option.workloads
        rows[next(section for section, fits in _SECTIONS.items() if fits(kinds))].append(row)
    for section, records in rows.items():
        if records:
            with formatter.section(section):
                formatter.write_dl(records)
