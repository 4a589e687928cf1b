"""`hopcast calibrate`: from measurements of a machine to a platform file, and how good it is."""

from __future__ import annotations

from pathlib import Path

import click

from hopcast import signals
from hopcast.cli import platform_output
from hopcast.cli.calibrate_all import command as all_steps
from hopcast.cli.calibrate_calls import command as calls
from hopcast.cli.calibrate_check import command as check
from hopcast.cli.calibrate_design import command as design
from hopcast.cli.calibrate_fit import command as fit
from hopcast.cli.calibrate_measure import command as measure
from hopcast.cli.calibrate_options import HOSTS, NOISES
from hopcast.errors import InputError

_DATA = click.argument("data", nargs=-1, required=True, type=click.Path(path_type=Path))


class _Calibrate(click.Group):
    """Subcommands; without the name of one, a launcher is all steps: `calibrate [OPTIONS] -- mpiexec …`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Puts `all` before options that a launcher follows."""
        if "--" in args and args[0].startswith("-") and args[0] not in ("-h", "--help"):
            args = ["all", *args]
        return super().parse_args(ctx, args)


@click.group(name="calibrate", cls=_Calibrate, context_settings={"help_option_names": ["-h", "--help"]})
@click.pass_context
def command(context: click.Context) -> None:
    """Measure a machine, fit platform files to measurements, and compare platforms with measurements.

    `hopcast calibrate [OPTIONS] -- mpiexec …` is `hopcast calibrate all`: design, measurements and fit.
    """
    context.with_resource(signals.ends_interrupt())


command.add_command(all_steps)
command.add_command(calls)
command.add_command(check)
command.add_command(design)
command.add_command(measure)
command.add_command(fit)


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
    "--models",
    "--model",
    default="postal,max-rate,extended,modified",
    show_default=True,
    metavar="LAWS",
    help="To fit.",
)
@click.option("--block", metavar="NAME", help="Block of the data to take, where it has several.")
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Platform file to write; without --flop-rate regimes for one.",
)
@click.option(
    "--flop-rate", metavar="RATE", help='Of one process, such as "10 Gflop/s": for a whole platform.'
)
@HOSTS
@click.option(
    "--processes", type=click.IntRange(1), help="Processes of a host. Default: as many as DATA have."
)
@click.option("--name", help="Of the platform. Default: that of FILE.")
def rates(data: tuple[Path, ...], regimes: str, models: str, block: str | None, **options) -> None:
    """Fit the laws of k processes that share a NIC to DATA: nodecomm's text, or max-rate outputs.

    Several DATA are runs of the same; ARCHIVE::PATH is a file of an archive. Errors "held back" are those at
    even k of a fit to odd k.
    """
    from hopcast.calibrate import pair_times, quantities, rate_platform, rate_report

    runs = [part for place in data for part in pair_times.read(place)]
    chosen = rate_report.choose(runs, block, len(data))
    ends = None if regimes == "auto" else quantities.sizes(regimes, "--regimes")
    fits = rate_report.fit_regimes(chosen, ends, models.split(","))
    click.echo(f"{chosen.name}: up to {chosen.pairs.max():.0f} pairs; {chosen.conversion}")
    for line in rate_report.lines(fits):
        click.echo(line)
    for finding in dict.fromkeys(chosen.findings + rate_report.findings(fits)):
        click.echo(f"warning: {finding}", err=True)
    out, flop_rate = options["out"], options["flop_rate"]
    if out is not None and flop_rate is not None:
        machine = rate_platform.Machine(
            options["name"] or out.stem, flop_rate, options["hosts"], options["processes"]
        )
        platform_output.write({out: rate_platform.text(chosen, fits, machine)}, out)
        click.echo(f"Platform {out}")
    elif out is not None:
        try:
            out.write_text(rate_report.toml(chosen, fits))
        except OSError as error:
            raise InputError(f"{out}: cannot be written: {error.strerror}") from None
        click.echo(f"Regimes  {out}")
        click.echo("Regimes alone: with --flop-rate it is a whole platform", err=True)


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
    "--noise",
    type=click.Choice(NOISES),
    default="auto",
    show_default=True,
    help="Distribution of calls: modes (N′), or a deviation (N-2). auto: modes where several show.",
)
@click.option(
    "--host-names",
    metavar="PATTERN",
    help='Hosts by the first column of --by: "dahu-{}"; a second one is their socket: a table.',
)
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), metavar="FILE", help="Entries of a platform, TOML."
)
@click.option(
    "--record",
    metavar="PLATFORM",
    help="Write the errors at sizes held back into this file: its runs say them.",
)
def kernels(calls: Path, function: str, **options) -> None:
    """Fit the time of a function to CALLS, a CSV file with a line for each call: arguments and duration."""
    from hopcast.calibrate import accuracy_record, kernel_calls, kernel_entries

    if options["record"] is not None:
        accuracy_record.check_is_file(options["record"])
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
        for line in kernel_entries.lines(found):
            click.echo(line)
        for finding in found.findings:
            click.echo(f"warning: {found.group or 'all calls'}: {finding}", err=True)
    if options["record"] is not None:
        errors = accuracy_record.worst([found.held_back[found.model.name][1] for found in fits])
        note = "every other size, held back from a fit" + (", the worst group" if len(fits) > 1 else "")
        accuracy_record.record(Path(options["record"]), {function: errors}, note, None)
        click.echo(f"Recorded  {options['record']}")
    if options["out"] is None:
        return
    texts = _entries(fits, by, function, options)
    try:
        for place, text in texts.items():
            place.write_text(text)
    except OSError as error:
        raise InputError(f"{options['out']}: cannot be written: {error.strerror}") from None
    click.echo(f"Kernels  {', '.join(str(place) for place in texts)}")


def _entries(fits, by: list[str], function: str, options: dict) -> dict[Path, str]:
    """Files of entries: of all calls, of each host, or with a table of each socket of each host."""
    from hopcast.calibrate import kernel_entries

    pattern, out, noise = options["host_names"], options["out"], options["noise"]
    if len(fits) > 1 and (pattern is None or len(by) not in (1, 2)):
        raise InputError(
            f"{len(fits)} groups, and a platform has one entry for a function, or one for hosts: name hosts "
            "of one or two columns of --by with --host-names, or choose one group with --where"
        )
    keys = [[part.rpartition(" ")[2] for part in found.group.split(", ")] for found in fits]
    if pattern is not None and len(by) == 2:
        if options["declaration"] is not None:
            raise InputError("--by of two columns makes a table, which --declaration has no place in")
        shape = "half-normal" if noise == kernel_entries.AUTO else noise
        if shape == kernel_entries.MODES:
            raise InputError("--noise modes: a table has deviations alone; take half-normal or normal")
        places = [(pattern.replace("{}", host), socket) for host, socket in keys]
        table = out.with_suffix(".csv")
        entry = kernel_entries.table_entry(fits, function, table.name, shape)
        return {out: entry, table: kernel_entries.table(fits, places, shape)}
    names = [None if pattern is None else pattern.replace("{}", key[0]) for key in keys]
    entries = [
        kernel_entries.toml(found, function, noise=noise, declaration=options["declaration"], hosts=name)
        for found, name in zip(fits, names, strict=True)
    ]
    return {out: "\n".join(entries)}
