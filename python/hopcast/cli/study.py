"""`hopcast study`: many runs, crossed from what a file varies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from hopcast.cli import exits

LINES_MOST = 12
"""Most rows that the screen lists."""


def runner_flags(command: Callable) -> Callable:
    """Gives a command the flags that say where pieces run."""
    command = click.option(
        "--limit",
        metavar="TIME",
        help='End a piece after this time, such as "10 min" or "90 s": it has failed.',
    )(command)
    command = click.option(
        "--workers",
        type=click.IntRange(1),
        help="Pieces that run at the same time. [default: as many as there are cores; 4 jobs]",
    )(command)
    return click.option(
        "--on",
        "place",
        default="local",
        show_default=True,
        metavar="RUNNER",
        help="Place to run on: local; dask, or with the address of a scheduler dask:tcp://HOST:PORT; "
        "slurm:OPTIONS or oar:OPTIONS of jobs.",
    )(command)


@click.command(name="study", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder of the results. [default: FILE without its ending]",
)
@runner_flags
@click.option("--reports", is_flag=True, help="Keep the whole report of each cell, linked from the page.")
@click.option("--list", "only_list", is_flag=True, help="Print the cells, and run nothing.")
@click.option("--quiet", is_flag=True, help="No progress, and no list of results.")
def command(
    file: Path,
    out: Path | None,
    place: str,
    workers: int | None,
    limit: str | None,
    reports: bool,
    only_list: bool,
    quiet: bool,
) -> int:
    """Run the cells of the study in FILE, and write a table and a page about them.

    A cell is an ordinary run. FILE says in TOML the platform, the workload, and what varies. Cells that have
    their result in DIR are not run again: the same command goes on with a study that was stopped or killed.
    """
    from hopcast.experiment import runners
    from hopcast.study import conduct, file as files

    study = files.load(file)
    if only_list:
        for number, settings in enumerate(study.settings()):
            click.echo(f"{number}  {'  '.join(f'{name}={value}' for name, value in settings.items())}")
        return exits.DONE
    runner = runners.named(place, runners.Settings(workers, _seconds(limit)))
    folder = out or Path(file.stem)
    outcome = conduct.conduct(study, runner, folder, reports, quiet)
    if not quiet:
        _list(outcome.rows, [name for name in outcome.rows[0] if name in _names(study)])
    missing = [row for row in outcome.rows if row["state"] != "done"]
    for row in [] if outcome.stopped else missing[:LINES_MOST]:
        click.echo(f"cell {row['cell']} {row['state']}: {row['why']}", err=True)
    click.echo(conduct.summary(outcome))
    click.echo(f"Table  {folder / 'results.parquet'}")
    click.echo(f"Page   {folder / 'study.html'}")
    if outcome.stopped:
        click.echo("stopped; the same command goes on", err=True)
        return exits.INTERRUPTED
    return exits.DONE if outcome.count("done") == len(outcome.rows) else exits.PROGRAM_FAILED


def _names(study) -> list[str]:
    names = [name for factor in study.factors for name in factor.settings(factor.levels[0])]
    return [*names, *study.derived, *study.responses]


def _seconds(text: str | None) -> float | None:
    from hopcast import core

    return None if text is None else core.seconds("--limit", text)


def _list(rows: list[dict], names: list[str]) -> None:
    """Prints the fastest cells."""
    from hopcast.report import units

    done = sorted((row for row in rows if row["state"] == "done"), key=lambda row: row["makespan_s"])
    shown = [["cell", *names, "makespan"]]
    for row in done[:LINES_MOST]:
        texts = [
            units.digits(row[name]) if isinstance(row[name], float) else str(row[name]) for name in names
        ]
        shown.append([str(row["cell"]), *texts, units.seconds(row["makespan_s"])])
    widths = [max(len(line[column]) for line in shown) for column in range(len(shown[0]))]
    for line in shown if done else []:
        click.echo("  ".join(text.rjust(width) for text, width in zip(line, widths, strict=True)))
    if len(done) > LINES_MOST:
        click.echo(f"… {len(done) - LINES_MOST:,} more")
