"""`hopcast platform`: platforms, and the format of their files."""

from __future__ import annotations

import click

from hopcast.cli import overrides
from hopcast.cli.platform_import import command as import_command


@click.group(name="platform", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Show platforms and the format of their files, and import those of real machines."""


command.add_command(import_command)


@command.command()
@click.argument("platform")
@overrides.option
@click.option("--resolved", is_flag=True, help="Apply overrides and fill in defaults, marked as such.")
def show(platform: str, overrides: tuple[str, ...], resolved: bool) -> None:
    """Print PLATFORM, a preset or a file, as TOML that can be edited and run.

    Without --resolved it is printed as written, with its comments.
    """
    from hopcast import core

    click.echo(core.platform_text(platform, overrides, resolved or bool(overrides)), nl=False)


@command.command()
def schema() -> None:
    """Print the JSON schema of platform files, for editors."""
    from hopcast import core

    click.echo(core.platform_schema())


@command.command()
def reference() -> None:
    """Print the reference of platform files, in Markdown."""
    from hopcast import core

    click.echo(core.platform_reference(), nl=False)
