"""`hopcast calibrate`: from measurements of a machine to a platform file, and how good it is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hopcast.cli.calibrate_all import command as all_steps
from hopcast.cli.calibrate_design import command as design
from hopcast.cli.calibrate_fit import ONE_WAY, UNIT, command as fit
from hopcast.cli.calibrate_measure import command as measure
from hopcast.errors import InputError

if TYPE_CHECKING:
    from hopcast.calibrate.check import Row

_DATA = click.argument("data", nargs=-1, required=True, type=click.Path(path_type=Path))
_CAMPAIGN = click.option("--campaign", metavar="NAME", help="Campaign to take, where DATA hold several.")


class _Calibrate(click.Group):
    """Subcommands; without the name of one, a launcher is all steps: `calibrate [OPTIONS] -- mpiexec …`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Puts `all` before options that a launcher follows."""
        if "--" in args and args[0].startswith("-") and args[0] not in ("-h", "--help"):
            args = ["all", *args]
        return super().parse_args(ctx, args)


@click.group(name="calibrate", cls=_Calibrate, context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Measure a machine, fit platform files to measurements, and compare platforms with measurements.

    `hopcast calibrate [OPTIONS] -- mpiexec …` is `hopcast calibrate all`: design, measurements and fit.
    """


command.add_command(all_steps)
command.add_command(design)
command.add_command(measure)
command.add_command(fit)


@command.command()
@click.argument("platform")
@_DATA
@_CAMPAIGN
@click.option("--within-a-host", is_flag=True, help="Compare with processes of one host.")
@click.option("--breakpoints", default="", metavar="SIZES", help="Sizes at which the table is cut.")
@UNIT
@ONE_WAY
def check(platform: str, data: tuple[Path, ...], **options) -> None:
    """Simulate the ping-pongs and calls of DATA on PLATFORM, and print their relative errors."""
    from hopcast.calibrate import campaigns, quantities, sources
    from hopcast.calibrate.check import check as compare, check_calls
    from hopcast.calibrate.pictures import NAMES
    from hopcast.calibrate.series import by_size

    found = sources.read(data, unit_bytes=options["unit_bytes"], one_way=options["one_way"])
    chosen = campaigns.choose(
        found, options["campaign"], ", ".join(str(part) for part in data)
    ).without_clock()
    if "round_trip" not in chosen.calls:
        raise InputError(f"campaign '{chosen.name}': no ping-pongs to compare with")
    calls = chosen.calls["round_trip"]
    cuts = quantities.sizes(options["breakpoints"], "--breakpoints") if options["breakpoints"] else []
    measured = by_size(calls.sizes, calls.seconds)
    rows = compare(platform, measured, cuts, within_a_host=options["within_a_host"])
    click.echo(f"Ping-pongs of '{chosen.name}' beside {platform}: {len(measured.sizes)} sizes")
    _print_rows(rows if cuts else rows[-1:])
    for kind, name in NAMES.items():
        part = chosen.calls.get(kind)
        if part is None:
            continue
        times = by_size(part.sizes, part.seconds)
        times = times.where(times.seconds > 0)
        rows = check_calls(platform, kind, times, cuts, within_a_host=options["within_a_host"])
        click.echo(f"{name}: {len(times.sizes)} sizes")
        _print_rows(rows if cuts else rows[-1:])


def _print_rows(rows: Sequence[Row]) -> None:
    from hopcast.calibrate import quantities

    for row in rows:
        click.echo(f"  {quantities.between(row.above, row.up_to):<24} {row.accuracy}")


@command.command()
@_DATA
@click.option(
    "--regimes",
    default="auto",
    show_default=True,
    metavar="auto|SIZES",
    help="Ends of regimes, such as 512B,8KiB.",
)
@click.option(
    "--models", default="postal,max-rate,extended,modified", show_default=True, metavar="LAWS", help="To fit."
)
@click.option("--block", metavar="NAME", help="Block of the data to take, where it has several.")
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), metavar="FILE", help="Regimes for a platform file, TOML."
)
def rates(data: tuple[Path, ...], regimes: str, models: str, block: str | None, out: Path | None) -> None:
    """Fit the laws of k processes that share a NIC to DATA: nodecomm's text, or max-rate outputs.

    Several DATA are runs of the same; ARCHIVE::PATH is a file of an archive. Errors "held back" are those at
    even k of a fit to odd k.
    """
    from hopcast.calibrate import pair_times, quantities, rate_report

    runs = [part for place in data for part in pair_times.read(place)]
    chosen = rate_report.choose(runs, block, len(data))
    ends = None if regimes == "auto" else quantities.sizes(regimes, "--regimes")
    fits = rate_report.fit_regimes(chosen, ends, models.split(","))
    click.echo(f"{chosen.name}: up to {chosen.pairs.max():.0f} pairs; {chosen.conversion}")
    for line in rate_report.lines(fits):
        click.echo(line)
    for finding in dict.fromkeys(chosen.findings + rate_report.findings(fits)):
        click.echo(f"warning: {finding}", err=True)
    if out is not None:
        try:
            out.write_text(rate_report.toml(chosen, fits))
        except OSError as error:
            raise InputError(f"{out}: cannot be written: {error.strerror}") from None
        click.echo(f"Regimes  {out}")


@command.command()
@click.argument("calls", type=click.Path(path_type=Path))
@click.option("--function", required=True, metavar="NAME", help="Function that was called, for the platform.")
@click.option("--arguments", default="m,n,k", show_default=True, metavar="COLUMNS", help="Its arguments.")
@click.option(
    "--declaration", metavar="TEXT", help='Of a function that is no routine of BLAS: "int n, double *a".'
)
@click.option("--by", default="", metavar="COLUMNS", help="Columns whose values are fitted apart: node,cpu.")
@click.option(
    "--where", multiple=True, metavar="COLUMN=VALUE", help="Only calls with this value; repeatable."
)
@click.option(
    "--noise", type=click.Choice(["none", "normal", "half-normal"]), default="half-normal", show_default=True
)
@click.option("--host-names", metavar="PATTERN", help='Hosts by the value of --by: "dahu-{}".')
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), metavar="FILE", help="Entries of a platform, TOML."
)
def kernels(calls: Path, function: str, **options) -> None:
    """Fit the time of a function to CALLS, a CSV file with a line for each call: arguments and duration."""
    from hopcast.calibrate import kernel_calls

    where = {}
    for text in options["where"]:
        column, equals, value = text.partition("=")
        if not equals:
            raise InputError(f"--where: '{text}' is not COLUMN=VALUE")
        where[column] = value
    by = [column for column in options["by"].split(",") if column]
    groups = kernel_calls.read(calls, options["arguments"].split(","), by, where)
    fits = [kernel_calls.fit(name, sizes) for name, sizes in groups.items()]
    for found in fits:
        for line in kernel_calls.lines(found):
            click.echo(line)
        for finding in found.findings:
            click.echo(f"warning: {found.group or 'all calls'}: {finding}", err=True)
    if options["out"] is None:
        return
    pattern = options["host_names"]
    if len(fits) > 1 and (pattern is None or len(by) != 1):
        raise InputError(
            f"{len(fits)} groups, and a platform has one entry for a function, or one for hosts: name hosts "
            "of one column of --by with --host-names, or choose one group with --where"
        )
    names = [
        None if pattern is None else pattern.replace("{}", found.group.split(" ", 1)[1]) for found in fits
    ]
    entries = [
        kernel_calls.toml(
            found, function, noise=options["noise"], declaration=options["declaration"], hosts=name
        )
        for found, name in zip(fits, names, strict=True)
    ]
    try:
        options["out"].write_text("\n".join(entries))
    except OSError as error:
        raise InputError(f"{options['out']}: cannot be written: {error.strerror}") from None
    click.echo(f"Kernels  {options['out']}")
