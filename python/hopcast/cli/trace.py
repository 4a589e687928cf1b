"""`hopcast trace`: recorded runs."""

from __future__ import annotations

import click


@click.group(name="trace", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Look into recorded traces."""


@command.command()
@click.argument("path")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def info(path: str, as_json: bool) -> None:
    """Say what the trace at PATH holds: a directory, any file of a set, or a tar archive.

    The whole trace is read, so that damage shows.
    """
    from hopcast.cli import core

    summary = core.trace_summary(path)
    if as_json:
        import json

        click.echo(json.dumps(summary, indent=2, ensure_ascii=False))
    else:
        _show(path, summary)


def _show(path: str, summary: dict) -> None:
    from rich.text import Text

    from hopcast.report import units
    from hopcast.report.screen import console, plain_table, warning

    out = console()
    out.print(Text(f"{path}: {summary['format']}", style="bold"))
    facts = plain_table()
    hosts = f" on {units.things(len(summary['hosts']), 'host')}" if summary["hosts"] else ""
    facts.add_row("size", units.things(summary["ranks"], "rank") + hosts)
    if summary["timed"]:
        facts.add_row("time", f"{units.seconds(summary['longest_rank_s'])}, that of the longest rank")
        share = summary["in_mpi_s"] / summary["wall_s"] if summary["wall_s"] else 0.0
        facts.add_row("in MPI", f"{units.percent(share)} of the ranks' time")
    else:
        facts.add_row("time", "not recorded: the trace says what is computed, not when")
    if not summary["ordered"]:
        facts.add_row("order", "a graph of dependencies")
    messages = f"{units.count(summary['messages'])}, {units.size(summary['bytes'])}, collectives not counted"
    facts.add_row("messages", messages)
    out.print(facts)
    out.print()
    calls = plain_table()
    for call in sorted(summary["calls"], key=lambda call: -call["count"]):
        calls.add_row(call["call"], f"{call['count']:>12,}")
    out.print(calls)
    if summary["not_replayable"]:
        out.print(warning(f"cannot be replayed: {summary['not_replayable']}"))
    for text in summary["warnings"]:
        out.print(warning(text))
