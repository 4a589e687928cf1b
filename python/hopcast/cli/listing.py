"""`hopcast list`: every registry, as the core keeps it."""

from __future__ import annotations

import click


@click.command(name="list", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("registry", required=False)
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON, with all parameters.")
def command(registry: str | None, name: str | None, as_json: bool) -> None:
    """List what hopcast knows: everything, one REGISTRY, or NAME in it with its parameters.

    Registries: platforms, topologies, routings, models, placements, collectives, patterns, formats, …
    """
    from hopcast import core

    chosen = core.registries() if registry is None else {registry: core.registry(registry)}
    if registry is not None and name is not None:
        chosen = {registry: {**chosen[registry], "entries": [core.entry(registry, name)]}}
    if as_json:
        import json

        click.echo(json.dumps(list(chosen.values()), indent=2, ensure_ascii=False))
    elif registry is not None and name is not None:
        _show_entry(chosen[registry]["noun"], chosen[registry]["entries"][0])
    else:
        _show(chosen)


def _show(registries: dict[str, dict]) -> None:
    """Names and what they are."""
    from rich.text import Text

    from hopcast.report.screen import console, plain_table

    out = console()
    for name, registry in registries.items():
        out.print(Text(name, style="bold"))
        table = plain_table()
        for entry in registry["entries"]:
            table.add_row(Text(f"  {entry['name']}"), Text(entry["summary"]))
        out.print(table)


def _show_entry(noun: str, entry: dict) -> None:
    """One entry with its parameters and its source."""
    from rich.text import Text

    from hopcast.report.screen import console, plain_table

    out = console()
    out.print(Text.assemble((entry["name"], "bold"), f", {noun}: {entry['summary']}"))
    table = plain_table()
    for parameter in entry["parameters"]:
        default = parameter["default"]
        silent = {None: "required", "": "optional"}.get(default, f"default {default}")
        table.add_row(Text(f"  {parameter['name']}"), Text(f"{parameter['takes']} ({silent})"))
        table.add_row("", Text(parameter["summary"], style="dim"))
    out.print(table)
    if entry["source"]:
        out.print(Text(f"Source: {entry['source']}", style="dim"))
