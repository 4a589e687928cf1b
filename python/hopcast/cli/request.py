"""`hopcast request`: the format of requests of runs."""

from __future__ import annotations

import click


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Show the format of requests of runs ('hopcast run --request FILE')."""


@command.command()
def schema() -> None:
    """Print the JSON schema of requests, for editors and for programs that write them."""
    from hopcast import core

    click.echo(core.request_schema())
