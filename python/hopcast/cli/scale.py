"""`hopcast scale`: speed-up and efficiency over numbers of ranks."""

from __future__ import annotations

from pathlib import Path

import click

from hopcast.cli import arguments, options, outputs
from hopcast.cli.request_of import request_of
from hopcast.errors import InputError, ProgramFailure


@click.command(cls=arguments.RunCommand, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("platform", shell_complete=options.complete_platform)
@click.argument("workload", shell_complete=options.complete_workload)
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
@click.option("--from", "first", required=True, type=click.IntRange(1), metavar="RANKS", help="Fewest ranks.")
@click.option("--to", "last", required=True, type=click.IntRange(1), metavar="RANKS", help="Most ranks.")
@click.option("--factor", default=2.0, show_default=True, help="Between neighbouring numbers of ranks.")
@click.option("--weak", is_flag=True, help="The work of a rank stays. Default: that of all together.")
@click.option("--efficiency", default=0.7, show_default=True, help="Below it the scaling has broken down.")
@click.option(
    "--page", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write a page, HTML."
)
@click.option(
    "--table", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write a table, CSV."
)
@options.add_all
def command(platform, workload, args, first, last, factor, weak, efficiency, page, table, **flags) -> None:
    """Run WORKLOAD on PLATFORM with rising numbers of ranks, and say how far it scales, and why no further.

    In arguments of the workload, "{...}" is a formula of `ranks`: --compute "{8/ranks}s" is the share of a
    rank of eight seconds, ./app "{1000*ranks}" a size that grows. All options of 'hopcast run' hold, but for
    -n, --out, and those that end a run early or that only its own report shows.
    """
    from hopcast.questions import formulas, scale, scale_page
    from hopcast.report import units

    for name, spelled in (("ranks", "-n"), ("out", "--out")):
        if flags.get(name) is not None:
            raise InputError(
                f"scale: {spelled} is of one run; here --from and --to say the ranks, --page the page"
            )
    options.check_several(flags, "scale")
    outputs.check_files(page, table)
    if not 0 < efficiency <= 1:
        raise InputError(f"--efficiency {efficiency:g}: above 0, at most 1")

    def request(ranks: int):
        def filled(value):
            return formulas.filled(value, ranks) if isinstance(value, str) else value

        given = {name: filled(value) for name, value in flags.items()}
        return request_of(platform, workload, tuple(map(filled, args)), given | {"ranks": ranks}, None)

    counts = scale.numbers(first, last, factor)
    click.echo(f"{'ranks':>10} {'time':>12}")
    points: list[scale.Point] = []
    broken: Exception | None = None
    try:
        for point in scale.measured(request, counts):
            points.append(point)
            click.echo(f"{point.ranks:>10,} {units.seconds(point.makespan_s):>12}")
    except (InputError, ProgramFailure) as error:
        if len(points) < 2:
            raise
        broken = error
    failure = str(broken).partition("\n")[0] if broken else ""
    found = scale.scaling(points, weak=weak, bound=efficiency, failure=failure)
    click.echo(f"\n{'ranks':>10} {'speed-up':>10} {'efficiency':>11}  largest loss")
    for ranks, _, speed_up, share, loss in scale_page.rows(found):
        click.echo(f"{ranks:>10} {speed_up:>10} {share:>11}  {loss}")
    click.echo(f"\n{found.words()}")
    for warning in dict.fromkeys(warning for point in points for warning in point.warnings):
        click.echo(f"warning: {warning}", err=True)
    if table is not None:
        scale_page.write_table(found, table)
        click.echo(f"Table  {table}")
    if page is not None:
        words = " ".join((workload, *args))
        click.echo(f"Page   {scale_page.write_page(found, f'{words} on {platform}', page)}")
    if broken is not None:
        raise broken
