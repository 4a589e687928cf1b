"""`hopcast list`: every registry, as the core keeps it."""

from __future__ import annotations

import sys

import click


@click.command(name="list", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("registry", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def command(registry: str | None, as_json: bool) -> None:
    """List what hopcast knows: everything, or one REGISTRY with its parameters.

    Registries: platforms, topologies, routings, models, placements, collectives, patterns, formats, …
    """
    from hopcast.cli import core

    chosen = core.registries() if registry is None else {registry: core.registry(registry)}
    if as_json:
        import json

        click.echo(json.dumps(list(chosen.values()), indent=2, ensure_ascii=False))
    else:
        _show(chosen, details=registry is not None)


def _show(registries: dict[str, dict], details: bool) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False, width=None if sys.stdout.isatty() else 110)
    for name, registry in registries.items():
        console.print(Text(name, style="bold"))
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
        table.add_column(no_wrap=True)
        for entry in registry["entries"]:
            table.add_row(Text(f"  {entry['name']}"), Text(entry["summary"]))
            for parameter in entry["parameters"] if details else ():
                table.add_row("", Text(_described(parameter), style="dim"))
        console.print(table)


def _described(parameter: dict) -> str:
    """A parameter's name, what it takes, its default and its meaning, on one line."""
    silent = {None: "required", "": "optional"}.get(parameter["default"], f"default {parameter['default']}")
    return f"{parameter['name']}: {parameter['takes']} ({silent}). {parameter['summary']}"
