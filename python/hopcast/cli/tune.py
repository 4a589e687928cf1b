"""`hopcast tune`: algorithms of collectives that suit a platform, as tables of MPI libraries."""

from __future__ import annotations

import csv
import json
from functools import cache
from pathlib import Path

import click

from hopcast import text_file
from hopcast.cli import options, outputs
from hopcast.errors import InputError

FILE = click.Path(dir_okay=False, path_type=Path)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("platform", shell_complete=options.complete_platform)
@click.option("-n", "ranks", required=True, metavar="RANKS,…", help="Numbers of ranks.")
@click.option(
    "--library", type=click.Choice(["openmpi", "mpich"]), required=True, help="MPI library to tune."
)
@click.option("--collectives", default="allreduce,bcast,reduce,allgather,alltoall", show_default=True)
@click.option(
    "--from", "first", default="8B", show_default=True, help="Least size: of a vector, or of a block."
)
@click.option("--to", "last", default="4MiB", show_default=True, help="Largest size.")
@click.option("--factor", default=4.0, show_default=True, help="Between neighbouring sizes.")
@click.option(
    "--seeds",
    default=4,
    show_default=True,
    type=click.IntRange(1),
    help="Most runs of an algorithm, by seed.",
)
@click.option("--ppn", type=click.IntRange(1), help="Ranks on each host.")
@click.option("--model", help="Network model.")
@click.option("--placement", help="Ranks to hosts.")
@click.option("--seed", type=click.IntRange(0), help="The first one.")
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Another value of the platform; repeatable.",
)
@click.option("-o", "--out", type=FILE, metavar="FILE", help="Write the library's table.")
@click.option(
    "--base", type=FILE, metavar="FILE", help="MPICH's own coll_selection.json, for all other collectives."
)
@click.option("--table", type=FILE, metavar="FILE", help="Write the times, CSV.")
def command(platform, ranks, library, collectives, first, last, factor, out, base, table, **given) -> None:
    """Find the quickest algorithms of collectives on PLATFORM, by ranks and size, as a table for an MPI
    library.

    Algorithms compete by successive halving: the better half runs again, with twice as many seeds. Open MPI
    reads the table with --mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_dynamic_rules_filename FILE,
    MPICH with MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE=FILE.
    """
    from hopcast.calibrate import quantities
    from hopcast.questions import selection_files, tune
    from hopcast.report import units

    outputs.check_files(out, table)
    if base is not None and library != "mpich":
        raise InputError("--base: a file of MPICH; --library says another")
    counts = _numbers(ranks)
    names = [name.strip() for name in collectives.split(",") if name.strip()]
    if not names:
        raise InputError(f"--collectives: '{collectives}' names none; write some, such as allreduce,bcast")
    for name in names:
        tune.algorithms(library, name)
    sizes = tune.sizes(round(quantities.size(first, "--from")), round(quantities.size(last, "--to")), factor)
    read = None if base is None else _read(base)
    time = _timer(platform, library, given)
    found = []
    click.echo(
        f"{'collective':>12} {'ranks':>7} {'size':>10}  {'algorithm':<36} {'time':>10}  beside {library}'s "
        "choice"
    )
    for collective in names:
        for count in counts:
            some = tune.tuned(collective, count, sizes, library, time, given["seeds"])
            found += some
            for one in some:
                gain = f"{-100 * one.gain:+.1f} %" if abs(one.gain) >= 5e-4 else "the same"
                click.echo(
                    f"{collective:>12} {count:>7,} {units.size(one.size_B):>10}  {one.algorithm:<36} "
                    f"{units.seconds(one.seconds):>10}  {gain}"
                )
    chosen = tune.choices(found)
    if table is not None:
        _write_table(found, table)
        click.echo(f"Table  {table}")
    if out is not None:
        if library == "openmpi":
            text = selection_files.openmpi(chosen, _segment(platform, given["overrides"]))
        else:
            text = selection_files.mpich(chosen, read)
            if read is None:
                click.echo(
                    "warning: MPICH takes all choices from the file; those of other collectives are one "
                    "algorithm each, "
                    "for all sizes: give the library's coll_selection.json as --base",
                    err=True,
                )
        _write(out, text)
        click.echo(f"Rules  {out}: {units.things(len(chosen), 'choice')}")


def _timer(platform: str, library: str, given: dict):
    from hopcast.api import run
    from hopcast.overrides import pairs_of
    from hopcast.questions.tune import BARRIER

    own = {name: given[name] for name in ("ppn", "model", "placement") if given[name] is not None}
    first = given["seed"] or 1
    values = dict(pairs_of(given["overrides"]))
    if "mpi.library" in values:
        raise InputError(f"--set mpi.library: the library is that of --library, {library}; leave it out")
    values["mpi.library"] = library

    @cache
    def time(collective: str, ranks: int, size: int, algorithm: str | None, number: int) -> float:
        words = [] if collective == BARRIER else ["--bytes", f"{size} B"]
        words += [] if algorithm is None else ["--algorithm", algorithm]
        return run(platform, collective, ranks, args=words, set=values, seed=first + number, **own).makespan_s

    return time


def _numbers(text: str) -> list[int]:
    try:
        found = sorted({int(word) for word in text.split(",")})
    except ValueError:
        raise InputError(f"-n: '{text}' is no list of numbers such as 64,256") from None
    if found[0] < 2:
        raise InputError(f"-n: '{text}': a collective has at least two ranks")
    return found


def _segment(platform: str, overrides: tuple[str, ...]) -> int:
    from hopcast import core
    from hopcast.calibrate import quantities
    from hopcast.toml import tomllib

    values = tomllib.loads(core.platform_text(platform, overrides, True))
    return round(quantities.size(values["mpi"]["segment"], "mpi.segment"))


def _read(place: Path) -> dict:
    try:
        found = json.loads(text_file.read(place))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InputError(f"{place}: {getattr(error, 'strerror', None) or error}") from None
    if not isinstance(found, dict) or not any(key.startswith("collective=") for key in found):
        raise InputError(f"{place}: no choices of MPICH: an object with keys 'collective=…' is wanted")
    return found


def _write_table(found, place: Path) -> None:
    lines = [("collective", "ranks", "bytes", "algorithm", "seconds", "default_seconds")]
    lines += [
        (one.collective, one.ranks, one.size_B, one.algorithm, one.seconds, one.default_s) for one in found
    ]
    try:
        with place.open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(lines)
    except OSError as error:
        raise InputError(f"{place}: cannot be written: {error.strerror}") from None


def _write(place: Path, text: str) -> None:
    try:
        place.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{place}: cannot be written: {error.strerror}") from None
