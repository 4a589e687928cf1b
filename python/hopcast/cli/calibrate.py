"""`hopcast calibrate`: from measurements of a machine to a platform file, and how good it is."""

from __future__ import annotations

from pathlib import Path

import click

from hopcast.cli.calibrate_design import command as design
from hopcast.cli.calibrate_measure import command as measure
from hopcast.errors import InputError

_DATA = click.argument("data", nargs=-1, required=True, type=click.Path(path_type=Path))
_CAMPAIGN = click.option("--campaign", metavar="NAME", help="Campaign to take, where DATA hold several.")
_UNIT = click.option(
    "--unit-bytes", type=float, default=1.0, show_default=True, help="Bytes of one unit of a table's sizes."
)
_ONE_WAY = click.option("--one-way", is_flag=True, help="Ping-pongs of a table are halved already.")


@click.group(name="calibrate", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Measure a machine, fit platform files to measurements, and compare platforms with measurements."""


command.add_command(design)
command.add_command(measure)


@command.command()
@_DATA
@click.option(
    "-o",
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Platform file to write.",
)
@_CAMPAIGN
@click.option(
    "--memory", metavar="NAME", help="Campaign within a host. Default: the one with loopback in its name."
)
@click.option(
    "--breakpoints",
    default="auto",
    show_default=True,
    metavar="auto|given|SIZES",
    help="Learned, the campaign's, or these.",
)
@click.option("--eager-limit", metavar="SIZE", help="Longest eager message. Default: the campaign's.")
@click.option("--link-bandwidth", metavar="RATE", help="Nominal, of a NIC's link. Default: the campaign's.")
@click.option("--flop-rate", required=True, metavar="RATE", help='Of one process, such as "10 Gflop/s".')
@click.option("--name", help="Of the platform. Default: that of FILE.")
@click.option("--hosts", type=click.IntRange(2), default=2, show_default=True, help="Hosts on one crossbar.")
@click.option(
    "--processes", type=click.IntRange(1), default=2, show_default=True, help="Processes of a host."
)
@click.option("--library", type=click.Choice(["mpich", "openmpi"]), default="openmpi", show_default=True)
@click.option(
    "--residuals",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Table of measured and fitted times, CSV.",
)
@click.option(
    "--modes",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Table of the modes of single calls by kind and regime, CSV.",
)
@_UNIT
@_ONE_WAY
def fit(data: tuple[Path, ...], out: Path, **options) -> None:
    """Fit a platform file to DATA: raw campaigns of SimGrid's calibration, or tables of times by size.

    A campaign is a directory, or an archive as it was published; see the guide, calibrate.md.
    """
    from hopcast import core
    from hopcast.calibrate import campaigns, modes, platform_file, residuals, sources
    from hopcast.calibrate.network_fit import fit_campaign

    found = sources.read(data, unit_bytes=options["unit_bytes"], one_way=options["one_way"])
    place = ", ".join(str(part) for part in data)
    chosen = campaigns.choose(found, options["campaign"], place)
    within = _within_a_host(found, options["memory"], chosen, place)
    nominal = _bandwidth(chosen, options["link_bandwidth"])
    fitted = fit_campaign(chosen, **_limits(chosen, options), bandwidth_Bps=nominal)
    memory = None if within is None else fit_campaign(within)
    machine = platform_file.Machine(
        name=options["name"] or out.stem,
        source=", ".join(part.name for part in data),
        flop_rate=options["flop_rate"],
        hosts=options["hosts"],
        processes=options["processes"],
        bandwidth_Bps=nominal,
        library=options["library"],
    )
    try:
        out.write_text(platform_file.text(fitted, machine, memory))
    except OSError as error:
        raise InputError(f"{out}: cannot be written: {error.strerror}") from None
    core.platform_text(str(out), (), True)
    for part in (fitted, memory):
        if part is not None:
            _show_fit(part)
    fits = [(chosen, fitted), *([(within, memory)] if within else [])]
    for name, writer in (("residuals", residuals), ("modes", modes)):
        if options[name] is not None:
            writer.write(options[name], fits)
            click.echo(f"{name.capitalize():<10} {options[name]}")
    click.echo(f"Platform   {out}")


@command.command()
@click.argument("platform")
@_DATA
@_CAMPAIGN
@click.option("--within-a-host", is_flag=True, help="Compare with processes of one host.")
@click.option("--breakpoints", default="", metavar="SIZES", help="Sizes at which the table is cut.")
@_UNIT
@_ONE_WAY
def check(platform: str, data: tuple[Path, ...], **options) -> None:
    """Simulate the ping-pongs of DATA on PLATFORM, and print their relative errors."""
    from hopcast.calibrate import campaigns, quantities, sources
    from hopcast.calibrate.check import check as compare
    from hopcast.calibrate.series import by_size

    found = sources.read(data, unit_bytes=options["unit_bytes"], one_way=options["one_way"])
    chosen = campaigns.choose(found, options["campaign"], ", ".join(str(part) for part in data))
    if "round_trip" not in chosen.calls:
        raise InputError(f"campaign '{chosen.name}': no ping-pongs to compare with")
    calls = chosen.calls["round_trip"]
    cuts = quantities.sizes(options["breakpoints"], "--breakpoints") if options["breakpoints"] else []
    measured = by_size(calls.sizes, calls.seconds)
    rows = compare(platform, measured, cuts, within_a_host=options["within_a_host"])
    click.echo(f"Ping-pongs of '{chosen.name}' beside {platform}: {len(measured.sizes)} sizes")
    for row in rows if cuts else rows[-1:]:
        click.echo(f"  {_range(row.above, row.up_to):<24} {row.accuracy}")


def _within_a_host(found, name: str | None, chosen, place: str):
    from hopcast.calibrate import campaigns

    if name is not None:
        return campaigns.choose(found, name, place)
    loops = [campaign for campaign in found if campaign.within_a_host and campaign is not chosen]
    return loops[0] if len(loops) == 1 else None


def _limits(campaign, options) -> dict:
    from hopcast.calibrate import quantities

    text = options["breakpoints"]
    if text == "auto":
        points = None
    elif text == "given":
        if not campaign.breakpoints:
            raise InputError(
                f"campaign '{campaign.name}': no breakpoints came with it; name them, or take auto"
            )
        points = list(campaign.breakpoints)
    else:
        points = quantities.sizes(text, "--breakpoints")
    limit = options["eager_limit"]
    return {
        "breakpoints": points,
        "eager_limit": None if limit is None else quantities.size(limit, "--eager-limit"),
    }


def _bandwidth(campaign, text: str | None) -> float | None:
    from hopcast.calibrate import quantities

    return campaign.settings.get("bandwidth") if text is None else quantities.rate(text, "--link-bandwidth")


def _show_fit(fit) -> None:
    first, last = (f"{size:,.0f} B" for size in fit.sizes)
    repeated = f"{fit.repetitions} repetitions of a size" if fit.repetitions > 1 else "each size once"
    click.echo(f"Campaign '{fit.campaign}': {first} to {last}, {repeated}")
    click.echo("  one message, half a round trip; errors are those of the fit at its own sizes")
    for regime in fit.regimes:
        line = regime.lines["one_way"]
        click.echo(
            f"  {_range(regime.above, regime.up_to):<24} {1e6 * line.intercept:8.3f} µs + n / "
            f"{1e-9 / line.slope:.4g} GB/s    {regime.accuracy}"
        )
    for finding in fit.findings:
        click.echo(f"warning: {finding}", err=True)


def _range(above: float, up_to: float | None) -> str:
    if up_to is None:
        return f"above {above:,.0f} B" if above else "all sizes"
    return f"{above:,.0f} to {up_to:,.0f} B"


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
