"""`hopcast regress`: series of observations, and the test that notices a change."""

from __future__ import annotations

from pathlib import Path

import click

from hopcast.cli.exits import CHANGED
from hopcast.errors import InputError

SETTINGS = {"help_option_names": ["-h", "--help"]}
DATABASE = click.option(
    "--database",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("regress.sqlite"),
    show_default=True,
    help="SQLite.",
)


def test_options(command):
    """Options of the commands that test."""
    options = (
        click.option("--cluster", metavar="NAME", help="Only this cluster. Default: all."),
        click.option(
            "--factor",
            "factors",
            multiple=True,
            metavar="NAME[,NAME…]",
            help="Only this factor, or these together; repeatable. Default: each alone.",
        ),
        click.option(
            "--changes",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="Changelog: date,cluster,node,type,description.",
        ),
        click.option(
            "--outliers",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="Outliers: date,cluster,node,jobid,description.",
        ),
        click.option("--confidence", default=0.9999, show_default=True, help="Of each test."),
        click.option(
            "--window",
            default=5,
            show_default=True,
            type=click.IntRange(2),
            help="Observations judged together, beside each alone.",
        ),
        click.option(
            "--least",
            default=8,
            show_default=True,
            type=click.IntRange(3),
            help="Fewest observations of a reference.",
        ),
        click.option(
            "--keep",
            default=3,
            show_default=True,
            type=click.IntRange(0),
            help="Observations after a change judged by the one before.",
        ),
    )
    for option in reversed((DATABASE, *options)):
        command = option(command)
    return command


@click.group(name="regress", context_settings=SETTINGS)
def command() -> None:
    """Watch series of measurements, and say when one has changed."""


@command.command(name="add", context_settings=SETTINGS)
@click.argument("files", nargs=-1, required=True, type=click.Path(dir_okay=False, path_type=Path))
@DATABASE
@click.option(
    "--cluster",
    default="",
    metavar="NAME",
    help="Of rows without a column of that name. Default: the file's.",
)
@click.option("--time", default="", metavar="COLUMN", help="Default: start_time, time, timestamp or date.")
@click.option(
    "--unit",
    default="",
    metavar="COLUMN,…",
    help="Names of a unit, the node first. Default: node,cpu or the like.",
)
@click.option("--job", default="", metavar="COLUMN", help="Default: jobid, job or commit.")
@click.option(
    "--factor",
    "factors",
    multiple=True,
    metavar="COLUMN",
    help="Values; repeatable. Default: all other numbers.",
)
@click.option("--at", metavar="DATE", help="Time of a results.json, or of calls without theirs.")
def add_command(files, database, cluster, time, unit, job, factors, at) -> None:
    """Add the rows of FILES: CSV, Parquet, archives of experiments (zip), results.json of hopcast's
    validation.

    Calls of dgemm (m, n, k, duration) and monitoring (kind, value) are first put together by unit and job.
    Rows that are added again take the place of the older ones.
    """
    from hopcast.regress import logs, readers, store
    from hopcast.report import units

    columns = readers.Columns(time, tuple(filter(None, unit.split(","))), job, tuple(factors), cluster)
    when = None if at is None else logs.time_of(at, "--at")
    read = [(place, readers.read(place, columns, when)) for place in files]
    with store.opened(database, new=True) as connection:
        for place, observations in read:
            new = store.add(connection, observations)
            click.echo(f"{place.name}: {units.things(len(observations), 'value')}, {new:,} of them new")
            if lost := store.twice(observations):
                click.echo(
                    f"warning: {place.name}: {units.things(lost, 'value')} of the unit, time and job of a "
                    "later row, which alone is kept; --unit and --job name the columns that tell rows apart",
                    err=True,
                )


@command.command(name="test", context_settings=SETTINGS)
@test_options
@click.option(
    "--since", metavar="DATE", help="Test all observations since then. Default: the newest of each unit."
)
@click.option(
    "--false-discoveries",
    type=float,
    metavar="RATE",
    help="Hold their share below this (Benjamini, Hochberg).",
)
@click.option("--exit-code", is_flag=True, help=f"End with code {CHANGED} if there is an alarm.")
@click.pass_context
def test_command(context, database, since, false_discoveries, exit_code, **options) -> None:
    """Test the newest observations, each alone and with those before it, and print what has changed."""
    from hopcast.regress import dashboard, examine, logs
    from hopcast.report import units
    from hopcast.statistics.discoveries import expected_false

    first = None if since is None else logs.time_of(since, "--since")
    examined, settings = _examined(database, options, first)
    findings = examine.judged(examined, first)
    found = examine.alarms(findings, false_discoveries)
    for finding in found:
        unit, name, day, r, change, likelihood, count = dashboard.row(finding)
        windowed = "" if r == "1" else f", mean of {r}"
        click.echo(
            f"{finding.cluster} {unit}: {name} {change} on {day}{windowed} (likelihood {likelihood}, "
            f"{count} before)"
        )
    changed = len({(finding.cluster, finding.walk.series.unit) for finding in found})
    by = f"a confidence of {settings.confidence:.6g}"
    if false_discoveries is not None:
        by = f"a rate of false discoveries of {false_discoveries:g}"
    click.echo(
        f"{units.things(len(found), 'alarm')} of {units.things(changed, 'unit')} in "
        f"{units.things(len(findings), 'test')} at {by}"
    )
    if false_discoveries is None:
        click.echo(
            "False alarms to expect where nothing has changed: "
            f"{expected_false(len(findings), settings.confidence):.2g}"
        )
    if not findings:
        click.echo(f"warning: no unit has {settings.least} observations before its newest one", err=True)
    if found and exit_code:
        context.exit(CHANGED)


@command.command(name="report", context_settings=SETTINGS)
@test_options
@click.option(
    "-o",
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("regress"),
    show_default=True,
    help="Folder.",
)
def report_command(database, out, **options) -> None:
    """Write the dashboard: a page for each cluster and factor, and one that leads to them."""
    from hopcast.regress import dashboard
    from hopcast.report import units

    examined, settings = _examined(database, options)
    first = dashboard.write(out, examined, settings)
    click.echo(f"Dashboard  {first}, and {units.things(len(examined), 'page')} beside it")


def _examined(database: Path, options: dict, since: float | None = float("-inf")):
    from hopcast.regress import examine, logs, store
    from hopcast.regress.walk import Settings

    if not 0 < options["confidence"] < 1:
        raise InputError(f"--confidence {options['confidence']}: between 0 and 1, such as 0.9999")
    settings = Settings(options["confidence"], (1, options["window"]), options["least"], options["keep"])
    changes, outliers = options["changes"], options["outliers"]
    with store.opened(database) as connection:
        examined = examine.examine(
            connection,
            settings,
            cluster=options["cluster"],
            factors=options["factors"],
            changes=logs.changes(changes) if changes else (),
            outliers=logs.outliers(outliers) if outliers else (),
            since=since,
        )
        known = store.nodes(connection)
    for place, read in ((changes, logs.changes), (outliers, logs.outliers)):
        for entry in read(place) if place else ():
            for node in entry.unknown(known):
                click.echo(f"warning: {place}: no series of {entry.cluster} is of node '{node}'", err=True)
    return examined, settings
