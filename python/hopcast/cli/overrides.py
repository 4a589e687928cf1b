"""The flag `--set section.key=value`."""

from __future__ import annotations

import click

option = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="SECTION.KEY=VALUE",
    help="Override one value of the platform; may be repeated.",
)
"""The flag itself, for every command that reads a platform."""
