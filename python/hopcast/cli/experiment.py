"""`hopcast experiment`: a list of pieces, run on machines or simulated, kept in an archive."""

from __future__ import annotations

import tempfile
import traceback
from pathlib import Path

import click

from hopcast.cli import exits
from hopcast.errors import InputError

LINES_MOST = 12
"""Most pieces that failed which the screen lists."""


@click.group(name="experiment", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Run experiments on machines, or simulated, and compare the two."""


@command.command(name="list")
def list_() -> int:
    """List the experiments that come with hopcast, and the places where they run."""
    from hopcast.experiment import builtin, places

    click.echo("Experiments, besides a file NAME.py of your own:")
    for name, kind in builtin.EXPERIMENTS.items():
        click.echo(f"  {name:12} {(kind.__doc__ or '').partition(chr(10))[0]}")
    click.echo("Places (--on):")
    for name, place in places.KINDS.items():
        where = f"{name}:{place.where}" if place.where else name
        where = f"{name}[:{place.where}]" if place.can_stand_alone else where
        click.echo(f"  {where:20} {place.summary}")
    return exits.DONE


@command.command()
@click.argument("experiment")
@click.option(
    "--pieces", "count", type=click.IntRange(1), default=100, show_default=True, help="Number of pieces."
)
@click.option(
    "--seed", type=click.IntRange(0), default=1, show_default=True, help="Seed of values and order."
)
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), required=True, metavar="FILE", help="CSV file to write."
)
def generate(experiment: str, count: int, seed: int, out: Path) -> int:
    """Write a random experiment file for EXPERIMENT: its pieces, in random order."""
    import random

    from hopcast.experiment import conduct, files

    with tempfile.TemporaryDirectory() as folder:
        kind, _ = conduct.load(experiment, Path(folder))
        generator = random.Random(seed)
        rows = kind.generate(count, generator)
    generator.shuffle(rows)
    try:
        out.write_text(files.to_csv(rows), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{out}: {error.strerror}") from error
    click.echo(f"{len(rows):,} pieces: {out}")
    return exits.DONE


@command.command()
@click.argument("experiment")
@click.option(
    "--on",
    metavar="PLACE",
    help="Where to run: local, ssh:HOSTS, agent:COMMAND:HOSTS, allocation, simulated:PLATFORM; in a job of "
    "its own: slurm:OPTIONS or oar:OPTIONS. [default: local; of an archive, its own place]",
)
@click.option(
    "--pieces",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Experiment file: CSV, one piece a line.",
)
@click.option(
    "--install", type=click.Path(path_type=Path), metavar="FILE", help="Install file: parameters in YAML."
)
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), metavar="FILE", help="Archive. [default: EXPERIMENT.zip]"
)
def run(experiment: str, on: str | None, pieces: Path | None, install: Path | None, out: Path | None) -> int:
    """Run EXPERIMENT, and write its archive.

    EXPERIMENT is a name ('hopcast experiment list'), a file NAME.py that defines one class of
    hopcast.experiment.Experiment, or an archive, which is repeated. Pieces that have their result in the
    archive's folder FILE.d are not run again: the same command goes on with what was stopped or killed.
    """
    from hopcast.experiment import batch, conduct
    from hopcast.experiment.nodes import CommandFailed, NodeDied

    target = out or Path(Path(experiment.partition(":")[0]).stem + ".zip")
    if on and on.partition(":")[0] in batch.SYSTEMS:
        return batch.submit_experiment(on, experiment, pieces, install, target)
    with tempfile.TemporaryDirectory() as folder:
        kind, found = conduct.load(experiment, Path(folder))
        platform = None
        if found is not None:
            pieces, install = pieces or found.pieces, install or found.install
            # A place that is named anew has the platform that it names.
            platform, on = None if on else found.platform, on or found.place
        state = target.with_name(target.name + ".d")
        try:
            made = kind(on or "local", pieces, install, state, platform=platform)
        except NodeDied as error:
            raise InputError(str(error)) from error
        try:
            conduct.conduct(made, target)
        except InputError:
            raise
        except CommandFailed as error:
            click.echo(f"{error.command.stderr or error.command.stdout}error: {error}", err=True)
            click.echo(f"the experiment failed; its archive: {target}", err=True)
            return exits.PROGRAM_FAILED
        except Exception:
            traceback.print_exc()
            click.echo(f"the experiment failed; its archive: {target}", err=True)
            return exits.PROGRAM_FAILED
    by_piece = {row["piece"]: row for row in made.rows()}
    states = [row["state"] for row in by_piece.values()]
    for row in (
        [] if made.ended else [row for row in by_piece.values() if row["state"] != "done"][:LINES_MOST]
    ):
        click.echo(f"piece {row['piece']} {row['state']}: {row['why']}", err=True)
    for note in made.notes:
        click.echo(f"warning: {note}", err=True)
    click.echo(
        f"{', '.join(f'{states.count(state):,} {state}' for state in dict.fromkeys(states))}: {target}"
    )
    if made.ended:
        click.echo(f"stopped by {made.ended}; the same command goes on", err=True)
        return exits.INTERRUPTED
    return exits.DONE if set(states) <= {"done"} else exits.PROGRAM_FAILED


@command.command()
@click.argument("real", type=click.Path(path_type=Path))
@click.argument("simulated", type=click.Path(path_type=Path))
@click.option("--response", metavar="COLUMN", help="Column of results. [default: the first with numbers]")
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), metavar="FILE", help="Page with a picture, HTML."
)
@click.option(
    "--record",
    metavar="PLATFORM",
    help="Put the errors into this platform file, in place of those of the same experiment: its runs say "
    "them, and `--replicates` draws the error of the model from them.",
)
def compare(real: Path, simulated: Path, response: str | None, out: Path | None, record: str | None) -> int:
    """Set the archives REAL and SIMULATED of one experiment side by side, point by point."""
    from hopcast.calibrate import accuracy_record
    from hopcast.experiment import compare as comparing, model_errors
    from hopcast.report import html, store

    of_record = []
    if record is not None:
        accuracy_record.check_is_file(record)
        of_record = model_errors.check(Path(record), real, simulated)
    found = comparing.compare(real, simulated, response)
    lines = comparing.lines(found)
    for line in lines:
        click.echo(line)
    for finding in [*found.findings, *of_record]:
        click.echo(f"warning: {finding}", err=True)
    if out is not None:
        title = f"{real.stem} and {simulated.stem}"
        page = html.experiment_page(title, lines, list(found.findings), comparing.picture(found))
        store.write_text(out, page, "-o", '<meta name="generator" content="hopcast">')
        click.echo(f"Page   {out}")
    if record is not None:
        model_errors.record(Path(record), found, real, simulated)
        click.echo(f"Recorded  {record}")
    return exits.DONE
