"""`hopcast calibrate -- mpiexec …`: design, measurements and fit in one go."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from hopcast.cli.calibrate_options import BACKGROUND, FLOP_RATE, HOSTS, MPICC, NOISE, PROCESSES
from hopcast.errors import InputError

_PARTNERS = {"network": "other-host", "loopback": "same-host"}
"""Folders of measurements, and the rank that answers rank 0."""


@click.command(
    name="all", context_settings={"help_option_names": ["-h", "--help"], "allow_interspersed_args": False}
)
@click.argument("launcher", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option(
    "-o",
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("calibrated"),
    show_default=True,
    metavar="DIR",
    help="Directory of everything, which the hosts of the ranks see, too.",
)
@FLOP_RATE
@click.option("--sizes", default=1000, show_default=True, help="Sizes of messages.")
@click.option("--to", "longest", default="1MB", show_default=True, help="Longest message.")
@click.option("--repetitions", default=50, show_default=True, help="Measurements of each size and kind.")
@click.option("--polls", default=100, show_default=True, help="Measurements of Iprobe and of Test.")
@click.option("--seed", default=1, show_default=True, help="Of the design.")
@click.option("--eager-limit", metavar="SIZE", help="Longest eager message. Default: measured.")
@click.option("--link-bandwidth", metavar="RATE", help="Nominal, of a NIC's link.")
@click.option("--name", help="Of the platform. Default: that of DIR.")
@HOSTS
@PROCESSES
@NOISE
@BACKGROUND
@click.option(
    "--limit",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Stop each measurement after this time; the same command goes on from there.",
)
@MPICC
def command(launcher: tuple[str, ...], out: Path, **options) -> None:
    """Design, measure and fit: hopcast calibrate -- mpiexec -n 2 …

    Measures between two hosts of LAUNCHER, within a host where it starts two ranks on one, and the protocols'
    thresholds; writes DIR/NAME.toml, and a page beside it. What is done already is not done again.
    """
    from hopcast.calibrate import launch, quantities

    if launcher[0].startswith("-"):
        raise InputError(f"unknown option '{launcher[0]}' before the launcher; --help names the known ones")
    # Before hours of measuring.
    for option in ("eager_limit", "link_bandwidth"):
        if options[option] is not None:
            read = quantities.size if option == "eager_limit" else quantities.rate
            read(options[option], f"--{option.replace('_', '-')}")
    compiler = shlex.split(options["mpicc"]) if options["mpicc"] else launch.compiler_of(launcher)
    design = _design(out, options)
    folders = _measure(out, launcher, compiler, design, options)
    limits = [_threshold(out, folder.name, launcher, compiler, options) for folder in folders]
    limits[0] = options["eager_limit"] or limits[0]
    _fit(folders, out, limits, _library(folders[0]), options)


def _design(out: Path, options: dict) -> Path:
    from hopcast.calibrate import design, quantities

    longest = round(quantities.size(options["longest"], "--to"))
    sizes = design.Sizes(1, longest, options["sizes"], min(10, options["sizes"]))
    kinds = design.NETWORK_KINDS
    rows = design.network(sizes, options["repetitions"], kinds, options["polls"], options["seed"])
    place = out / "design.csv"
    out.mkdir(parents=True, exist_ok=True)
    if place.exists():
        if design.read_network(place) != rows:
            raise InputError(f"{place}: begun with another design; take its options, or another -o")
    else:
        design.write(rows, place)
    click.echo(f"Design     {place}: {len(rows):,} measurements")
    return place


def _measure(out: Path, launcher, compiler, design: Path, options: dict) -> list[Path]:
    """Measures between hosts, and within one; gives the folders of results."""
    from hopcast.calibrate import measure
    from hopcast.calibrate.design import read_network
    from hopcast.calibrate.machine import find

    out.mkdir(parents=True, exist_ok=True)
    numbers = [rank["host_number"] for rank in find(compiler, launcher, out).facts["ranks"]]
    if len(numbers) < 2:
        raise InputError("the launcher starts 1 rank, and a message needs two: -n 2")
    there = {"network": len(set(numbers)) > 1, "loopback": numbers.count(numbers[0]) > 1}
    partners = {name: partner for name, partner in _PARTNERS.items() if there[name]}
    (out / "ranks.json").unlink(missing_ok=True)
    (out / "output.txt").unlink(missing_ok=True)
    count = len(read_network(design))
    folders = []
    for name, partner in partners.items():
        session = measure.Session(out / name, launcher, compiler, options["limit"])
        folders.append(session.folder)
        if measure.is_complete(session.folder, count):
            click.echo(f"Measured   {session.folder}: all of its {count:,} measurements are there")
        else:
            said = measure.network(session, design, count, partner, options["background"])
            click.echo(f"Measured   {said}")
    if "network" not in partners:
        click.echo(
            "warning: all ranks are on one host: its memory stands for the network; start ranks on two hosts",
            err=True,
        )
    return folders


def _threshold(out: Path, name: str, launcher, compiler, options: dict) -> str | None:
    """Longest message that needs no receiver, measured; none where the tests find none."""
    import csv

    from hopcast.calibrate import measure, single_runs

    folder = out / f"thresholds_{name}"
    place = folder / "thresholds.csv"
    if not place.exists():
        session = measure.Session(folder, launcher, compiler, options["limit"])
        single_runs.run("thresholds", session, single_runs.Wanted(_PARTNERS[name]))
    with place.open(newline="") as file:
        found = {row["limit"]: float(row["bytes"]) for row in csv.DictReader(file)}
    limit = found.get("asynchronous", -1.0)
    if limit <= 0:
        click.echo(f"warning: {place}: no eager limit was found; name it with --eager-limit", err=True)
        return None
    click.echo(f"Measured   {place}: eager up to {limit:,.0f} B")
    return f"{limit:.0f}B"


def _library(folder: Path) -> str:
    """Library whose rules the platform takes: MPICH's where its kind was measured, else Open MPI's."""
    import json

    from hopcast.calibrate import machine

    version = json.loads((folder / machine.FILE).read_text())["mpi_library"]
    return "openmpi" if "Open MPI" in version else "mpich"


def _fit(folders: list[Path], out: Path, limits: list[str | None], library: str, options: dict) -> None:
    from hopcast.cli.calibrate_fit import fit_files

    name = options["name"] or out.resolve().name
    fit_files(
        folders,
        out / f"{name}.toml",
        {
            **{key: options[key] for key in ("flop_rate", "hosts", "processes", "link_bandwidth", "noise")},
            **{"campaign": None, "memory": None, "breakpoints": "auto", "unit_bytes": 1.0, "one_way": False},
            "eager_limit": limits[0],
            "memory_eager_limit": limits[1] if len(limits) > 1 else None,
            "library": library,
            "name": name,
            "residuals": out / "residuals.csv",
            "modes": out / "modes.csv",
            "report": None,
        },
    )
