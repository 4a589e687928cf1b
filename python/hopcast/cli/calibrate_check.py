"""`hopcast calibrate check`: a platform beside measurements, which the platform file may then say."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hopcast.cli.calibrate_fit import ONE_WAY, UNIT
from hopcast.errors import InputError

if TYPE_CHECKING:
    from hopcast.calibrate.check import Row


@click.command(name="check", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("platform")
@click.argument("data", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--campaign", metavar="NAME", help="Campaign to take, where DATA hold several.")
@click.option("--within-a-host", is_flag=True, help="Compare with processes of one host: slots 0 and 1.")
@click.option(
    "--level",
    metavar="NAME",
    help="Compare with processes of one host that are together at this level of it, or at none: host.",
)
@click.option(
    "--breakpoints",
    metavar="SIZES",
    help="Sizes at which the table is cut. Default: ends of the platform's regimes.",
)
@click.option(
    "--function",
    metavar="NAME",
    help="Kernel whose calls DATA are, where no column says it; or the only one to compare.",
)
@click.option(
    "--host-names",
    default="{}",
    metavar="PATTERN",
    help='Hosts of calls of kernels by their column node, such as "dahu-{}". Default: numbers from 0.',
)
@click.option(
    "--record",
    is_flag=True,
    help="Write the errors over all sizes into the file PLATFORM: its runs say them.",
)
@UNIT
@ONE_WAY
def command(platform: str, data: tuple[Path, ...], **options) -> None:
    """Simulate the ping-pongs and calls of DATA on PLATFORM, and print their relative errors.

    Calls of kernels, such as kernels.csv of 'hopcast calibrate', are compared with the formulas of PLATFORM.
    """
    from hopcast.calibrate import accuracy_record, campaigns, machine, quantities, sources, tables
    from hopcast.calibrate.check import check, check_calls, partner_at, regimes_of
    from hopcast.calibrate.pictures import NAMES
    from hopcast.calibrate.series import by_size

    if options["record"]:
        accuracy_record.check_is_file(platform)
    if options["function"] is not None or all(tables.is_table_of_calls(place) for place in data):
        _refuse(options, _OF_MESSAGES, "calls of kernels")
        _check_kernels(platform, data, **{key: options[key] for key in ("function", "host_names", "record")})
        return
    _refuse(options, {"host_names": "{}"}, "messages")
    found = sources.read(data, unit_bytes=options["unit_bytes"], one_way=options["one_way"])
    chosen = campaigns.choose(
        found, options["campaign"], ", ".join(str(part) for part in data)
    ).without_clock()
    if "round_trip" not in chosen.calls:
        raise InputError(f"campaign '{chosen.name}': no ping-pongs to compare with")
    calls = chosen.calls["round_trip"]
    level = options["level"]
    partner = 1 if options["within_a_host"] else None
    if level is not None:
        partner = partner_at(platform, level)
    if chosen.within_a_host and partner is None:
        click.echo(
            f"warning: campaign '{chosen.name}' was measured within a host, and is compared with messages "
            "between hosts; --within-a-host compares with those of one",
            err=True,
        )
    if options["breakpoints"] is None:
        cuts = regimes_of(platform, None if partner is None else level or "host")
    else:
        cuts = quantities.sizes(options["breakpoints"], "--breakpoints")
    measured = by_size(calls.sizes, calls.seconds)
    rows = check(platform, measured, cuts, partner=partner)
    click.echo(f"Ping-pongs of '{chosen.name}' beside {platform}: {len(measured.sizes)} sizes")
    _print_rows(rows)
    errors = {"ping-pong": rows[-1].accuracy}
    for kind, name in NAMES.items():
        part = chosen.calls.get(kind)
        if part is None:
            continue
        times = by_size(part.sizes, part.seconds)
        times = times.where(times.seconds > 0)
        rows = check_calls(platform, kind, times, cuts, partner=partner)
        click.echo(f"{name}: {len(times.sizes)} sizes")
        _print_rows(rows)
        errors[name.split(" ")[0]] = rows[-1].accuracy
    if options["record"]:
        place = "" if partner is None else " inside hosts" if level in (None, "host") else f" inside {level}"
        named = {f"{what}{place}": errors[what] for what in errors}
        note = f"campaign '{chosen.name}', simulated"
        accuracy_record.record(Path(platform), named, note, machine.day(data))
        click.echo(f"Recorded  {platform}")


_OF_MESSAGES = {
    "campaign": None,
    "within_a_host": False,
    "level": None,
    "breakpoints": None,
    "unit_bytes": 1,
    "one_way": False,
}
"""Options that mean nothing for calls of kernels, with their defaults."""


def _refuse(options: dict, defaults: dict, what: str) -> None:
    """Refuses options that would be ignored."""
    given = [name for name, default in defaults.items() if options[name] != default]
    if given:
        raise InputError(f"--{given[0].replace('_', '-')}: means nothing for {what}")


def _check_kernels(
    platform: str, data: Sequence[Path], *, function: str | None, host_names: str, record: bool
) -> None:
    from hopcast.calibrate import accuracy_record, kernel_check, machine

    errors = {}
    for place in data:
        click.echo(f"Calls of {place} beside {platform}: mean times of their sizes")
        for row in kernel_check.check(platform, place, function, host_names):
            name = f"{row.function} on {row.place}" if row.place else row.function
            click.echo(f"  {name:<24} {row.accuracy.count} sizes: {row.accuracy}")
            if not row.place:
                errors[row.function] = row.accuracy
    if record:
        note = f"calls of {', '.join(place.name for place in data)}"
        accuracy_record.record(Path(platform), errors, note, machine.day(data))
        click.echo(f"Recorded  {platform}")


def _print_rows(rows: Sequence[Row]) -> None:
    """Lines of regimes, and of all sizes; of one regime, that line alone."""
    from hopcast.calibrate import quantities

    for row in rows if len(rows) > 2 else rows[-1:]:
        click.echo(f"  {quantities.between(row.above, row.up_to):<24} {row.accuracy}")
