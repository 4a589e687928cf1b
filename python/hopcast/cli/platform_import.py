"""`hopcast platform import`: a platform file from descriptions that the administrator of a cluster has."""

from __future__ import annotations

from pathlib import Path

import click

from hopcast.cli import platform_output
from hopcast.errors import InputError


@click.command(name="import")
@click.argument("sources", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Platform file to write.",
)
@click.option("--name", help="Of the platform. Default: that of FILE.")
@click.option("--link-bandwidth", metavar="RATE", help="Of links whose rate no source says.")
@click.option("--link-latency", metavar="TIME", help="Of a link between switches, and the switch behind it.")
@click.option("--nic-latency", metavar="TIME", help="Of a host's link. Default: measured, else assumed.")
@click.option("--flop-rate", metavar="RATE", help='Of one process, such as "10 Gflop/s".')
@click.option("--processes", type=click.IntRange(1, 65535), help="Of a host. Default: cores of lstopo's XML.")
@click.option("--library", type=click.Choice(["mpich", "openmpi"]), help="Whose algorithms of collectives.")
@click.option("--uplinks", type=click.IntRange(1, 1024), help="Cables up from a switch of Slurm's files.")
@click.option("--topology", metavar="NAME", help="Of topology.yaml, which may have several.")
@click.option("--hosts-per-router", type=click.IntRange(1, 64), help="Hosts on a router of an Aries map.")
@click.option("--eager-limit", metavar="SIZE", help="Longest eager message, for measurements among SOURCES.")
def command(sources: tuple[Path, ...], out: Path, **options) -> None:
    """Write a platform file from SOURCES: the network's graph, a host's description, measurements.

    Networks: ibnetdiscover text, netloc's nodes.ndat, Omni-Path topology XML, Slurm's topology.conf and
    topology.yaml, maps of Cray networks. Hosts: XML of lstopo. Measurements: a file of `hopcast calibrate
    fit`, or the data that it reads. All at once: a platform of SimGrid with SMPI's costs. Each is known by
    its contents. See the guide, importing.md.
    """
    from hopcast.importing import measured, platform_text, sources as readers
    from hopcast.importing.platform_text import Given, Import

    for place in sources:
        if place.resolve() in [
            out.with_suffix(ending).resolve() for ending in (out.suffix, ".edges", ".hosts")
        ]:
            raise InputError(f"{place}: a source would be overwritten: take another -o")
    found = readers.read(
        sources,
        uplinks=options["uplinks"],
        hosts_of_router=options["hosts_per_router"],
        topology=options["topology"],
    )
    if found.data:
        found.measured = measured.fit(
            found.data,
            options["library"] or "openmpi",
            options["eager_limit"],
        )
    _refuse_idle_options(found, options)
    if found.smpi is not None:
        _smpi(found.smpi, out, options)
        return
    keys = ("link_bandwidth", "link_latency", "nic_latency", "flop_rate", "processes", "library")
    made = Import(
        Given(options["name"] or out.stem, **{key: options[key] for key in keys}),
        tuple(place.name for place in sources),
        found.network,
        found.node_map,
        measured=found.measured,
    )
    if found.data and options["library"] is None:
        made.assumed.append("Open MPI's algorithms of collectives (--library)")
    made.host = found.host(made.findings)
    texts = platform_text.files(made, out)
    platform_output.write(texts, out)
    _show(made, list(texts))


def _smpi(source, out: Path, options: dict) -> None:
    """Writes the platform of a file of SimGrid."""
    from hopcast.importing import smpi_text
    from hopcast.importing.platform_text import Given

    smpi, place = source
    keys = ("flop_rate", "processes", "library")
    given = Given(options["name"] or out.stem, **{key: options[key] for key in keys})
    made = smpi_text.make(smpi, given, place, out)
    platform_output.write(made.files, out)
    cluster = smpi.cluster
    click.echo(
        f"Network    SimGrid: {len(cluster.hosts):,} hosts of {cluster.cores} cores, {cluster.kind.lower()}"
    )
    click.echo(f"Costs      SMPI: {len(smpi.ranges)} ranges of sizes, {len(smpi.memory)} within a host")
    _remarks(made, out, list(made.files))


def _refuse_idle_options(found, options: dict) -> None:
    """Refuses options that nothing among the sources would read."""
    origin = "" if found.network is None else found.network.origin
    idle = {
        "uplinks": "Slurm" not in origin and "a topology.conf or topology.yaml",
        "topology": "topology.yaml" not in origin and found.flat is None and "a topology.yaml",
        "hosts_per_router": "Aries" not in origin and "a map of Aries links",
        "eager_limit": not found.data and "measurements that are still to be fitted",
        "library": not found.data
        and found.measured is not None
        and "no fitted platform file, which names its own",
    }
    if found.smpi is not None:
        own = "a source that does not say it, as a platform of SimGrid does,"
        idle |= dict.fromkeys(("link_bandwidth", "link_latency", "nic_latency"), own)
    for name, wanted in idle.items():
        if wanted and options[name] is not None:
            raise InputError(f"--{name.replace('_', '-')} needs {wanted} among the sources")


def _show(made, places: list[Path]) -> None:
    from hopcast.importing import platform_text

    if made.network is not None:
        at_hosts, between = platform_text.rates(made.network)
        click.echo(
            f"Network    {made.network.origin}: {len(made.network.hosts):,} hosts, "
            f"{len(made.network.routers):,} switches, {sum(between.values()):,} cables between them"
        )
        for name, counts in (("hosts", at_hosts), ("switches", between)):
            for value, count in sorted(counts.items(), key=lambda row: (row[0] is None, row[0] or 0)):
                text = "as given" if value is None else platform_text.rate(value)
                click.echo(f"  {count:>9,} cables, {name}, {text}")
    else:
        click.echo(f"Network    map of {len(made.node_map.hosts):,} hosts, extents {made.node_map.sizes}")
    if made.host is not None:
        host = made.host
        click.echo(
            f"Host       {host.cores} cores, {host.sockets} sockets, {host.numa_nodes} NUMA nodes; "
            f"{', '.join(host.caches) or 'no caches'}"
        )
    if made.measured is not None:
        click.echo(f"Measured   {made.measured.source}")
    _remarks(made, places[-1], places)


def _remarks(made, out: Path, places: list[Path]) -> None:
    for text in made.findings:
        click.echo(f"warning: {text}", err=True)
    for text in made.assumed:
        click.echo(f"assumed: {text}", err=True)
    click.echo(f"Platform   {out}")
    for place in places:
        if place != out:
            click.echo(f"Beside it  {place}")
