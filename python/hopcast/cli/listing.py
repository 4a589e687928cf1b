"""`hopcast list`: every registry, as the core keeps it."""

from __future__ import annotations

import click

_EXAMPLES = "hopcast list topologies"


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("registry", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.option("--markdown", "pages", type=click.Path(), metavar="DIR", help="Write one reference page per entry into DIR.")
def command(registry: str | None, as_json: bool, pages: str | None) -> None:
    """List what hopcast knows, of one REGISTRY or of all.

    Registries: topologies, routings, models, collectives, patterns, platforms, formats, …
    """
    from hopcast.cli import core
    from hopcast.errors import InputError

    registries = core.registries()
    if registry is not None and registry not in registries:
        raise InputError(f"unknown registry '{registry}'; known: {', '.join(registries)}")
    chosen = registries if registry is None else {registry: registries[registry]}
    if pages is not None:
        from hopcast.cli.reference import write_pages

        click.echo(f"{write_pages(chosen, pages)} pages in {pages}")
    elif as_json:
        import json

        click.echo(json.dumps(chosen, indent=2, ensure_ascii=False))
    else:
        _show(chosen, details=registry is not None)


def _show(registries: dict[str, list[dict]], details: bool) -> None:
    """Names and summaries; of a single registry the parameters, too."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    for name, entries in registries.items():
        console.print(Text(f"{name}", style="bold"))
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
        table.add_column(no_wrap=True)
        for entry in entries:
            table.add_row(Text(f"  {entry['name']}"), Text(entry["summary"]))
            if details:
                for parameter in entry["parameters"]:
                    table.add_row("", Text(f"{parameter['name']} = {described(parameter)}", style="dim"))
        console.print(table)


def described(parameter: dict) -> str:
    """What a parameter takes, its default and its meaning, on one line."""
    default = parameter["default"]
    silent = "required" if default is None else "optional" if default == "" else f"default {default}"
    return f"{parameter['kind']} ({silent}): {parameter['summary']}"
