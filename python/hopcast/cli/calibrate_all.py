"""`hopcast calibrate -- mpiexec …`: design, measurements and fit in one go."""

from __future__ import annotations

from pathlib import Path

import click

from hopcast.cli.calibrate_options import BACKGROUND, BLAS, HOSTS, MPICC, NOISE
from hopcast.errors import InputError

_PARTNERS = {"network": "other-host", "loopback": "same-host"}
"""Folders of measurements of messages, and the rank that answers rank 0."""
_SHARED_B = (4_000_000, 64_000_000)
"""Bounds of the longest messages that many pairs send at once: start-ups are little beside them."""


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
@click.option(
    "--flop-rate", metavar="RATE", help='Of one process, such as "10 Gflop/s". Default: that of dgemm.'
)
@click.option("--kernels", metavar="NAMES", help="Routines of BLAS to measure, too: dgemm,dtrsm,…")
@click.option("--product", default=1e9, show_default=True, help="Of kernels: largest M N K.")
@BLAS
@click.option("--sizes", default=1000, show_default=True, help="Sizes of messages.")
@click.option("--to", "longest", default="1MB", show_default=True, help="Longest message.")
@click.option("--repetitions", default=50, show_default=True, help="Measurements of each size and kind.")
@click.option("--polls", default=100, show_default=True, help="Measurements of Iprobe and of Test.")
@click.option("--seed", default=1, show_default=True, help="Of the design.")
@click.option("--eager-limit", metavar="SIZE", help="Longest eager message. Default: measured.")
@click.option("--link-bandwidth", metavar="RATE", help="Nominal, of a NIC's link.")
@click.option("--name", help="Of the platform. Default: that of DIR.")
@HOSTS
@click.option(
    "--processes",
    type=click.IntRange(1),
    help="Processes of a host. Default: as many as LAUNCHER starts on one, 2 at least.",
)
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
    thresholds; where ranks are bound to cores, also within the caches, NUMA domains and sockets that several
    of them share; and 1, 2, … pairs at once in each. Writes DIR/NAME.toml, and a page beside it. What is done
    already is not done again.
    """
    from hopcast.calibrate import host_parts, launch, quantities

    if launcher[0].startswith("-"):
        raise InputError(f"unknown option '{launcher[0]}' before the launcher; --help names the known ones")
    # Before hours of measuring.
    for option in ("eager_limit", "link_bandwidth"):
        if options[option] is not None:
            read = quantities.size if option == "eager_limit" else quantities.rate
            read(options[option], f"--{option.replace('_', '-')}")
    names = _names_of_kernels(options)
    compiler = launch.split(options["mpicc"], "--mpicc") or launch.compiler_of(launcher)
    launch.split(options["blas"], "--blas")
    design = _design(out, options)
    fits = _kernels(out, launcher, compiler, names, options)
    facts = _ranks(out, launcher, compiler)
    parts, findings = host_parts.find(facts)
    for finding in findings:
        click.echo(f"warning: {finding}", err=True)
    options["processes"] = _processes(facts, parts, options["processes"])
    folders = _measure(out, launcher, compiler, design, facts, parts, options)
    both = {name: _threshold(out, name, launcher, compiler, options) for name in _PARTNERS if name in folders}
    # The platform has one limit of detached sends, that of the first: between hosts where there are several.
    first = next(iter(both.values()), None)
    options["detached_limit"] = first[1] if first else None
    limits = {name: limit[0] if limit else None for name, limit in both.items()}
    if options["eager_limit"]:
        limits[next(iter(limits))] = options["eager_limit"]
    together = [part for part in (host_parts.between(facts), *parts) if part and len(part.pairs) > 1]
    shared = [(part.name, _share(out, part, launcher, compiler, options)) for part in together]
    place = _fit(folders, out, limits, parts, shared, options)
    if fits:
        from hopcast.calibrate import host_kernels

        host_kernels.add(place, fits)


def _names_of_kernels(options: dict) -> list[str]:
    """Routines that are measured, one of which gives the rate of a process where that is not given."""
    from hopcast.calibrate import design, host_kernels

    names = [name.strip() for name in (options["kernels"] or "").split(",") if name.strip()]
    for name in names:
        if name not in design.KERNELS:
            raise InputError(f"--kernels: unknown routine '{name}'; known: {', '.join(design.KERNELS)}")
    if options["flop_rate"] is None and host_kernels.RATE_OF not in names:
        host_kernels.flop_rate({})
    return names


def _kernels(out: Path, launcher, compiler, names: list[str], options: dict):
    """Fits of the kernels that are wanted, and the rate of a process where it is not given."""
    from hopcast.calibrate import host_kernels, kernel_entries, launch, measure

    if not names:
        return {}
    blas = launch.split(options["blas"], "--blas")
    wanted = host_kernels.Wanted(
        names, options["product"], min(4, options["repetitions"]), options["seed"], blas
    )
    session = measure.Session(out / "kernels", launcher, compiler, options["limit"])
    fits = host_kernels.measure(session, wanted)
    click.echo(f"Measured   {session.folder}/kernels.csv: calls of {', '.join(names)} by all ranks at once")
    for name, found in fits.items():
        for line in kernel_entries.lines(found):
            click.echo(line)
        for finding in found.findings:
            click.echo(f"warning: {name}: {finding}", err=True)
    options["flop_rate"] = options["flop_rate"] or host_kernels.flop_rate(fits)
    return fits


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


def _ranks(out: Path, launcher, compiler) -> list[dict]:
    """Facts of all ranks of the launcher."""
    from hopcast.calibrate.machine import find

    out.mkdir(parents=True, exist_ok=True)
    ranks = find(compiler, launcher, out).facts["ranks"]
    (out / "ranks.json").unlink(missing_ok=True)
    (out / "output.txt").unlink(missing_ok=True)
    if len(ranks) < 2:
        raise InputError("the launcher starts 1 rank, and a message needs two: -n 2")
    return ranks


def _processes(ranks: list[dict], parts, wanted: int | None) -> int:
    """Process slots of a host, which its levels divide."""
    here = sum(rank["host_number"] == ranks[0]["host_number"] for rank in ranks)
    processes = max(2, here) if wanted is None else wanted
    for part in parts[:-1]:
        if processes % part.processes or processes == part.processes:
            raise InputError(
                f"--processes {processes}: groups of {part.processes} ranks share one '{part.name}' of a "
                f"host: take a multiple of {part.processes}, such as {here}"
            )
    return processes


def _measure(out: Path, launcher, compiler, design: Path, ranks, parts, options: dict) -> dict[str, Path]:
    """Measures between hosts, and within each part of one; gives the folders of results by name."""
    from hopcast.calibrate import measure
    from hopcast.calibrate.design import read_network

    between = len({rank["host_number"] for rank in ranks}) > 1
    partners = {"network": _PARTNERS["network"]} if between else {}
    if parts:
        partners["loopback"] = str(parts[-1].partner) if len(parts) > 1 else _PARTNERS["loopback"]
    partners |= {part.name: str(part.partner) for part in parts[:-1]}
    count = len(read_network(design))
    folders = {}
    for name, partner in partners.items():
        folders[name] = out / (name if name in _PARTNERS else f"level_{name}")
        session = measure.Session(folders[name], launcher, compiler, options["limit"])
        if measure.is_complete(session.folder, count):
            click.echo(f"Measured   {session.folder}: all of its {count:,} measurements are there")
        else:
            said = measure.network(session, design, count, partner, options["background"])
            click.echo(f"Measured   {said}")
    if not between:
        click.echo(
            "warning: all ranks are on one host: its memory stands for the network; start ranks on two hosts",
            err=True,
        )
    return folders


def _share(out: Path, part, launcher, compiler, options: dict) -> Path:
    """Measures 1, 2, … pairs of a part at once, of long messages; gives nodecomm's text."""
    from hopcast.calibrate import measure, quantities, single_runs
    from hopcast.calibrate.host_parts import PAIRS_MOST
    from hopcast.calibrate.pair_times import INT_BYTES

    folder = out / f"sharing_{part.name}"
    place = folder / "nodecomm.txt"
    if not place.exists():
        least, most = _SHARED_B
        longest = min(max(quantities.size(options["longest"], "--to"), least), most)
        sizes = ",".join(str(round(longest * share / INT_BYTES)) for share in (0.25, 0.5, 1))
        words = ["-stream", "-sizes", sizes, "-ntest", "10", "-ntestlong", "10"]
        pairs = part.pairs[:PAIRS_MOST]
        masters, partners = (",".join(map(str, side)) for side in zip(*pairs, strict=True))
        session = measure.Session(folder, launcher, compiler, options["limit"])
        wanted = single_runs.Wanted(arguments=(*words, "-masters", masters, "-partners", partners))
        single_runs.run("nodecomm", session, wanted)
    count = min(len(part.pairs), PAIRS_MOST)
    click.echo(f"Measured   {place}: 1 to {count} pairs of one {part.name} at once")
    return place


def _threshold(out: Path, name: str, launcher, compiler, options: dict) -> tuple[str, str] | None:
    """Longest eager and longest detached message, measured; none where the tests find none."""
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
    detached = max(limit, found.get("detached", 0.0))
    more = f", detached up to {detached:,.0f} B" if detached > limit else ""
    click.echo(f"Measured   {place}: eager up to {limit:,.0f} B{more}")
    return f"{limit:.0f}B", f"{detached:.0f}B"


def _library(folder: Path) -> str:
    """Library whose rules the platform takes: MPICH's where its kind was measured, else Open MPI's."""
    import json

    from hopcast.calibrate import machine

    version = json.loads((folder / machine.FILE).read_text())["mpi_library"]
    return "openmpi" if "Open MPI" in version else "mpich"


def _fit(folders: dict[str, Path], out: Path, limits: dict, parts, shared, options: dict) -> Path:
    from hopcast.cli.calibrate_fit import fit_files

    name = options["name"] or out.resolve().name
    places = list(folders.values())
    levels = [(part.name, part.processes, f"level_{part.name}/loopback") for part in parts[:-1]]
    eager = list(limits.values())
    fit_files(
        places,
        out / f"{name}.toml",
        {
            **{key: options[key] for key in ("flop_rate", "hosts", "processes", "link_bandwidth", "noise")},
            **{"campaign": None, "joined": False, "breakpoints": "auto", "unit_bytes": 1.0, "one_way": False},
            "memory": "loopback/loopback" if levels else None,
            "levels": levels,
            "sharing": [one for one in shared if len(limits) > 1 or one[0] == "nic"],
            "eager_limit": eager[0],
            "detached_limit": options["detached_limit"],
            "memory_eager_limit": eager[1] if len(eager) > 1 else None,
            "library": _library(places[0]),
            "name": name,
            "residuals": out / "residuals.csv",
            "modes": out / "modes.csv",
            "report": None,
        },
    )
    return out / f"{name}.toml"
