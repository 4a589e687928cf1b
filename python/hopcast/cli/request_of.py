"""The request that the words of a command line write."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hopcast.cli import arguments
from hopcast.errors import InputError
from hopcast.overrides import pairs_of

if TYPE_CHECKING:
    from hopcast.request import RunRequest


def request_of(
    platform: str | None, workload: str | None, args: tuple[str, ...], flags: dict[str, Any], file: str | None
) -> RunRequest:
    """The request that the command line writes, or that of a file, changed by flags."""
    from hopcast.request import RunRequest

    given = {name: value for name, value in flags.items() if value is not None}
    given["set"] = dict(pairs_of(flags["set"]))
    command = ("hopcast", *sys.argv[1:])
    if file is not None:
        if platform is not None:
            raise InputError(f"--request {file}: it says platform and workload; here is '{platform}'")
        if "out" in given:
            given["out"] = str(Path(given["out"]).absolute())
        request = replace(RunRequest.load(file).changed(**given), command=command)
        request.check()
        return request
    if platform is None or workload is None:
        missing = "PLATFORM" if platform is None else "WORKLOAD"
        raise click.UsageError(f"Missing argument '{missing}'.", click.get_current_context())
    if "compute" in given and arguments.is_pattern(workload):
        # Patterns have a parameter of this name.
        args += ("--compute", given.pop("compute"))
    return RunRequest.of(platform, workload, args, command=command, **given)
