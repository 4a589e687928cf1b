"""`hopcast place`: rank maps for a workload on a platform."""

from __future__ import annotations

from pathlib import Path

import click

from hopcast.cli import arguments, options, outputs
from hopcast.cli.request_of import request_of
from hopcast.errors import InputError

FILE = click.Path(dir_okay=False, path_type=Path)


@click.command(cls=arguments.RunCommand, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("platform", shell_complete=options.complete_platform)
@click.argument("workload", shell_complete=options.complete_workload)
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
@click.option("-o", "--map", "place", type=FILE, metavar="FILE", help="Write the map for --placement.")
@click.option("--rankfile", type=FILE, metavar="FILE", help="Write it for mpiexec --rankfile of Open MPI.")
@click.option(
    "--hostfile", type=FILE, metavar="FILE", help="Write it for mpiexec -f of MPICH, and $SLURM_HOSTFILE."
)
@click.option(
    "--host-names", default="{}", show_default=True, metavar="PATTERN", help='Names of hosts: "n{}".'
)
@click.option(
    "--first", "first_host", default=0, show_default=True, help="Number of the first host in its name."
)
@options.add_all
def command(platform, workload, args, place, rankfile, hostfile, host_names, first_host, **flags) -> None:
    """Find places for the ranks of WORKLOAD on PLATFORM: METIS cuts the graph of who talks with whom into
    hosts, and what talks much is mapped to hosts that are near each other.

    The maps are simulated beside those of --placement, linear and cyclic; files hold the quickest of all. All
    options of 'hopcast run' hold, but for --out, and those that end a run early or that only its own report
    shows.
    """
    from hopcast.questions import place as places
    from hopcast.report import units

    if flags.get("out") is not None:
        raise InputError("place: --out is of one run")
    options.check_several(flags, "place")
    outputs.check_files(place, rankfile, hostfile)
    if "{}" not in host_names:
        raise InputError(f"--host-names: '{host_names}' has no {{}} for the number")
    request = request_of(platform, workload, args, flags, None)
    if request.workload["kind"] == "jobs":
        raise InputError(f"place: {workload} has several jobs; place each of them by itself")
    compared = places.compare(request, seed=request.option("seed"))
    tried = compared.tried
    asked = next(one for one in tried if one.name == compared.asked)
    click.echo(f"{'placement':>12} {'time':>12} {'':>8} {'between hosts':>14} {'mean distance':>14}")
    for one in tried:
        change = one.makespan_s / asked.makespan_s - 1 if asked.makespan_s else 0.0
        said = "" if one is asked else f"{100 * change:+.1f} %"
        far = "–" if one.distance_s is None else units.seconds(one.distance_s)
        click.echo(
            f"{one.name:>12} {units.seconds(one.makespan_s):>12} {said:>8} {units.size(one.between_B):>14} "
            f"{far:>14}"
        )
    if compared.note:
        click.echo(f"note: {compared.note}", err=True)
    best = tried[0]
    click.echo(
        f"Makespan  {units.seconds(asked.makespan_s)} before ({asked.name}), "
        f"{units.seconds(best.makespan_s)} after ({best.name})"
    )
    texts = {
        place: places.placement_file(best.hosts),
        rankfile: places.rank_file(best.hosts, host_names, first_host),
        hostfile: places.host_list(best.hosts, host_names, first_host),
    }
    for file, text in texts.items():
        if file is not None:
            try:
                file.write_text(text)
            except OSError as error:
                raise InputError(f"{file}: cannot be written: {error.strerror}") from None
            click.echo(f"{best.name}: {file}")
