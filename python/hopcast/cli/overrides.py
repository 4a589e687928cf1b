"""The flag `--set section.key=value`."""

from __future__ import annotations

from collections.abc import Iterable

import click

from hopcast.errors import InputError


def pairs_of(flags: Iterable[str]) -> list[tuple[str, str]]:
    """Key and value of each flag."""
    return [_pair(flag) for flag in flags]


def _pair(flag: str) -> tuple[str, str]:
    key, equals, value = flag.partition("=")
    if not equals or not key.strip():
        raise InputError(f"--set {flag}: write section.key=value, such as --set nic.bandwidth='12.5 GB/s'")
    return key.strip(), value.strip()


option = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="SECTION.KEY=VALUE",
    help="Override one value of the platform; may be repeated.",
)
"""The flag itself, for every command that reads a platform."""
