"""`hopcast calibrate fit`: a platform file and a page about it from measurements between two processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from hopcast.cli import platform_output
from hopcast.cli.calibrate_options import FLOP_RATE, HOSTS, NOISE, PROCESSES
from hopcast.errors import InputError

UNIT = click.option(
    "--unit-bytes", type=float, default=1.0, show_default=True, help="Bytes of one unit of a table's sizes."
)
ONE_WAY = click.option("--one-way", is_flag=True, help="Ping-pongs of a table are halved already.")


@click.command(name="fit", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("data", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Platform file to write.",
)
@click.option("--campaign", metavar="NAME", help="Campaign to take, where DATA hold several.")
@click.option(
    "--joined", is_flag=True, help="DATA are runs of one machine at several times: fit all of them as one."
)
@click.option(
    "--memory", metavar="NAME", help="Campaign within a host. Default: the one with loopback in its name."
)
@click.option(
    "--level",
    "levels",
    nargs=3,
    type=(str, click.IntRange(1), str),
    multiple=True,
    metavar="NAME PROCESSES CAMPAIGN",
    help="Level inside hosts, the innermost first: name, processes of a group, campaign between two of one.",
)
@click.option(
    "--sharing",
    nargs=2,
    type=(str, click.Path(path_type=Path)),
    multiple=True,
    metavar="NAME FILE",
    help="nodecomm's text of 1, 2, … pairs at once in a group of level NAME, in a 'host', or of one 'nic'.",
)
@click.option(
    "--breakpoints",
    default="auto",
    show_default=True,
    metavar="auto|given|SIZES",
    help="Learned, the campaign's, or these.",
)
@click.option("--eager-limit", metavar="SIZE", help="Longest eager message. Default: the campaign's.")
@click.option("--memory-eager-limit", metavar="SIZE", help="The same within a host. Default: its campaign's.")
@click.option(
    "--detached-limit",
    metavar="SIZE",
    help="Longest standard send that waits for no receiver. Default: the campaign's, or by its times.",
)
@click.option("--link-bandwidth", metavar="RATE", help="Nominal, of a NIC's link. Default: the campaign's.")
@FLOP_RATE
@click.option("--name", help="Of the platform. Default: that of FILE.")
@HOSTS
@PROCESSES
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
@NOISE
@click.option(
    "--report",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Page about the fit. Default: beside the platform file, ending in .html.",
)
@UNIT
@ONE_WAY
def command(data: tuple[Path, ...], out: Path, **options) -> None:
    """Fit a platform file to DATA: raw campaigns of SimGrid's calibration, or tables of times by size.

    A campaign is a directory, or an archive as it was published; see the guide, calibrate.md.
    """
    fit_files(data, out, options)


def fit_files(data: Sequence[Path], out: Path, options: dict) -> None:
    """Reads, fits, writes the platform file and the page, and says how good they are."""
    from hopcast.calibrate import (
        accuracy_record,
        conditions,
        modes,
        platform_file,
        quantities,
        report,
        sources,
    )
    from hopcast.calibrate.host_parts import HOST, NIC
    from hopcast.calibrate.network_fit import fit_campaign

    page = options["report"] or out.with_suffix(".html")
    _check_places([out, page, options["residuals"], options["modes"]])
    found = sources.read(data, unit_bytes=options["unit_bytes"], one_way=options["one_way"])
    place = ", ".join(str(part) for part in data)
    chosen, within, levels = _chosen(found, options, place)
    nominal = _bandwidth(chosen, options["link_bandwidth"])
    fitted = fit_campaign(chosen, **_limits(chosen, options), bandwidth_Bps=nominal)
    if within is None and chosen.within_a_host:
        fitted = replace(fitted, findings=(_one_host(chosen), *fitted.findings))
    near = options["memory_eager_limit"]
    near = None if near is None else quantities.size(near, "--memory-eager-limit")
    memory = None if within is None else fit_campaign(within, eager_limit=near)
    machine = platform_file.Machine(
        name=options["name"] or out.stem,
        source=", ".join(part.name for part in data),
        flop_rate=options["flop_rate"],
        hosts=options["hosts"],
        processes=options["processes"],
        bandwidth_Bps=nominal,
        library=options["library"],
    )
    fits = [(chosen, fitted)]
    if within is not None and memory is not None:
        fits.append((within, memory))
    fits += [(part, fit_campaign(part, eager_limit=near)) for *_, part in levels]
    varying = modes.find(fits) if options["noise"] or options["modes"] is not None else []
    noise = modes.noise(varying) if options["noise"] else {}
    told = [part for _, part in fits]
    latencies = {}
    if options["noise"]:
        told = [modes.with_means(*both, varying) for both in fits]
        fits, told, latencies = _with_latency_noise(fits, told, nominal)
    held = report.held_back_of(fits)
    measured = [campaign for campaign, _ in fits]
    inside_of = {part.name: name for name, _, part in levels} | ({within.name: "hosts"} if within else {})
    known = accuracy_record.section(
        conditions.day(measured),
        conditions.load(measured),
        report.recorded(fits, held, inside_of),
        "every other size, held back from a fit",
    )
    names = ([HOST] if memory else []) + [name for name, *_ in levels]
    of_names = dict(zip(names, told[1:], strict=True))
    shared = _shared(options.get("sharing") or (), {NIC: told[0], **of_names})
    inside = [platform_file.Level(name, size, of_names[name], shared.get(name)) for name, size, _ in levels]
    within_hosts = of_names.get(HOST), noise, latencies, inside, shared.get(HOST)
    text = platform_file.text(told[0], machine, *within_hosts, shared.get(NIC))
    platform_output.write({out: f"{text}\n{known}"}, out)
    _show_fit(fits[0][1], platform_file.costs(fitted, nominal)[1])
    for _, part in fits[1:]:
        _show_fit(part, platform_file.costs(part, within_a_host=True)[1])
    _show_more(shared, conditions.differences(found if options["joined"] else measured))
    _write_beside(fits, varying, out, options)
    report.write(page, machine.name, fits, held, data, out)
    click.echo(f"Report     {page}")


def _check_places(places: Sequence[Path | None]) -> None:
    """Refuses results that cannot be written, or would overwrite each other, before anything is fitted."""
    taken: set[Path] = set()
    for place in places:
        if place is None or (place.exists() and not place.is_file() and not place.is_dir()):
            continue
        if place.is_dir():
            raise InputError(f"{place}: cannot be written: is a directory")
        if not place.parent.is_dir():
            raise InputError(f"{place}: cannot be written: no such directory")
        if place.resolve() in taken:
            raise InputError(f"{place}: two results would be written there: name another file")
        taken.add(place.resolve())


def _one_host(campaign) -> str:
    return (
        f"campaign '{campaign.name}' was measured within a host, and there is none between hosts: "
        "a host's memory stands for the network"
    )


def _show_more(shared: dict, differences: Sequence[str]) -> None:
    for name, sharing in shared.items():
        click.echo(f"All pairs of one {name} together: {sharing}")
    for finding in differences:
        click.echo(f"warning: {finding}", err=True)


def _shared(wanted: Sequence[tuple[str, Path]], fits: dict) -> dict:
    """Bandwidths of groups, by the name of the level, or `host`."""
    from hopcast.calibrate import pair_times, platform_file, rate_report, sharing
    from hopcast.calibrate.host_parts import NIC

    found = {}
    for name, place in wanted:
        if name not in fits:
            raise InputError(f"--sharing: unknown level '{name}'; known: {', '.join(fits)}")
        data = rate_report.choose(pair_times.read(place), None, 1)
        limit = fits[name].eager_limit
        above = 0.0 if limit is None else limit
        rates = platform_file.rate_of(fits[name], within_a_host=name != NIC)
        found[name] = sharing.fit(data, rates, above)
    return found


def _write_beside(fits, varying, out: Path, options: dict) -> None:
    """Writes the tables that were asked for, and names them and the platform."""
    from hopcast.calibrate import modes, residuals

    if options["residuals"] is not None:
        residuals.write(options["residuals"], fits)
        click.echo(f"Residuals  {options['residuals']}")
    if options["modes"] is not None:
        modes.write(options["modes"], varying)
        click.echo(f"Modes      {options['modes']}")
    click.echo(f"Platform   {out}")


def _with_latency_noise(fits, told, nominal: float | None):
    """The fits, and those with means, with what the data do not tell of latencies; and the noise of these."""
    from hopcast.calibrate import latency_noise, platform_file

    latencies: dict = {}
    said, means = [], []
    for number, ((campaign, fit), mean) in enumerate(zip(fits, told, strict=True)):
        within = number > 0
        _, costs = platform_file.costs(mean, None if within else nominal, within_a_host=within)
        found, findings = latency_noise.find(campaign, mean, [bool(cost.findings) for cost in costs])
        latencies |= {(fit.campaign, above): noise for above, noise in found.items()}
        said.append((campaign, replace(fit, findings=fit.findings + findings)))
        means.append(replace(mean, findings=fit.findings + findings))
    return said, means, latencies


def _chosen(found, options: dict, place: str):
    """Campaigns between hosts and within one, and the levels inside with theirs."""
    from hopcast.calibrate import campaigns

    if options["joined"]:
        return _joined(found, options)
    levels = [(*level[:2], campaigns.choose(found, level[2], place)) for level in options.get("levels") or ()]
    taken = {options["memory"], *(part.name for *_, part in levels)}
    left = [campaign for campaign in found if campaign.name not in taken]
    chosen = campaigns.choose(found if options["campaign"] else left or found, options["campaign"], place)
    within = _within_a_host(found, options["memory"], [chosen, *(part for *_, part in levels)], place)
    if levels and within is None:
        raise InputError(
            "--level: messages that no level holds were not measured: name their campaign with --memory"
        )
    return chosen, within, levels


def _joined(found, options: dict):
    """The same, of runs of one machine."""
    from hopcast.calibrate import joining

    for option in ("campaign", "memory", "levels"):
        if options.get(option):
            raise InputError(f"--joined takes all of DATA: leave out --{option.removesuffix('s')}")
    between = [campaign for campaign in found if not campaign.within_a_host]
    within = [campaign for campaign in found if campaign.within_a_host]
    if not between:
        between, within = within, []
    return joining.join(between), joining.join(within) if within else None, []


def _within_a_host(found, name: str | None, taken, place: str):
    """The campaign between any two processes of a host; none where several could be it."""
    from hopcast.calibrate import campaigns

    if name is not None:
        return campaigns.choose(found, name, place)
    loops = [campaign for campaign in found if campaign.within_a_host and campaign not in taken]
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
    limits = {
        name: None if options[name] is None else quantities.size(options[name], f"--{name.replace('_', '-')}")
        for name in ("eager_limit", "detached_limit")
    }
    return {"breakpoints": points, **limits}


def _bandwidth(campaign, text: str | None) -> float | None:
    from hopcast.calibrate import quantities

    return campaign.settings.get("bandwidth") if text is None else quantities.rate(text, "--link-bandwidth")


def _show_fit(fit, costs) -> None:
    from hopcast.calibrate import platform_file, quantities

    first, last = (f"{size:,.0f} B" for size in fit.sizes)
    repeated = f"{fit.repetitions} repetitions of a size" if fit.repetitions > 1 else "each size once"
    click.echo(f"Campaign '{fit.campaign}': {first} to {last}, {repeated}")
    click.echo("  one message, half a round trip; errors are those of the fit at its own sizes")
    for regime in fit.regimes:
        line = regime.lines["one_way"]
        click.echo(
            f"  {quantities.between(regime.above, regime.up_to):<24} {1e6 * line.intercept:8.3f} µs + n / "
            f"{1e-9 / line.slope:.4g} GB/s    {regime.accuracy}"
        )
    if fit.runs:
        click.echo(f"  {platform_file.runs(fit)}")
    for finding in fit.findings:
        click.echo(f"warning: {finding}", err=True)
    if cut := sum(bool(cost.findings) for cost in costs):
        click.echo(
            f"warning: in {cut} of {len(costs)} regimes sender and receiver take longer than a whole message "
            "leaves them: shares are cut; the notes in the platform file say how",
            err=True,
        )
