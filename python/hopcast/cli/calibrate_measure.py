"""`hopcast calibrate measure`: measuring programs under a real MPI, or under `hopcast run`."""

from __future__ import annotations

from pathlib import Path

import click

from hopcast.cli.calibrate_options import BACKGROUND, BLAS, MPICC
from hopcast.errors import InputError

PROGRAMS = ("network", "thresholds", "nodecomm", "ring", "saturation", "kernels")


@click.command(
    name="measure", context_settings={"help_option_names": ["-h", "--help"], "allow_interspersed_args": False}
)
@click.argument("launcher", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option(
    "-o",
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("measured"),
    show_default=True,
    metavar="DIR",
    help="Directory of results, which the hosts of the ranks see, too.",
)
@click.option("--program", type=click.Choice(PROGRAMS), default="network", show_default=True)
@click.option(
    "--design",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="From 'calibrate design'. Default: its list of 1,000 sizes up to 1 MB.",
)
@click.option(
    "--partner",
    default="auto",
    show_default=True,
    metavar="auto|other-host|same-host|RANK",
    help="Rank that answers rank 0; auto: on another host, if there is one.",
)
@BACKGROUND
@click.option(
    "--limit",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Stop after this time; the same command goes on from there.",
)
@MPICC
@BLAS
@click.option("--arguments", metavar="WORDS", default="", help="Further words for the program, in quotes.")
def command(launcher: tuple[str, ...], out: Path, **options) -> None:
    """Measure the machine that LAUNCHER starts processes on: hopcast calibrate measure -- mpiexec -n 2 …

    \b
    network     times of MPI calls between two ranks, in the order of a design
    thresholds  lengths at which the MPI library changes its protocol
    nodecomm    ping-pongs of 1 to all ranks of a host at once
    ring        a message that passes all ranks, while those that wait make a load
    saturation  more and more pairs of hosts that exchange 4 MB at once
    kernels     calls of BLAS by all ranks at once, in the order of a design

    The programs are compiled by the MPI library's own compiler. A run of network that was cut goes on where
    it stopped when the same command is given again.
    """
    from hopcast.calibrate import launch, measure, single_runs

    if launcher[0].startswith("-"):
        raise InputError(f"unknown option '{launcher[0]}' before the launcher; --help names the known ones")
    mpicc, blas, words = (launch.split(options[name], f"--{name}") for name in ("mpicc", "blas", "arguments"))
    session = measure.Session(out, launcher, mpicc or launch.compiler_of(launcher), options["limit"])
    if options["program"] == "network":
        if words:
            raise InputError(f"--arguments '{options['arguments']}': network takes none")
        click.echo(_network(session, options))
        return
    wanted = single_runs.Wanted(options["partner"], options["background"], options["design"], words, blas)
    click.echo(single_runs.run(options["program"], session, wanted))


def _network(session, options: dict) -> str:
    from hopcast.calibrate import design, measure

    place = options["design"]
    if place is None:
        place = session.folder / "design.csv"
        if not place.exists():
            session.folder.mkdir(parents=True, exist_ok=True)
            rows = design.network(design.Sizes(1, 1_000_000, 1000, 10), 50, design.NETWORK_KINDS, 100, seed=1)
            design.write(rows, place)
    count = len(design.read_network(place))
    return measure.network(session, place, count, options["partner"], options["background"])
