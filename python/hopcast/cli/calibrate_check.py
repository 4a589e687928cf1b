"""`hopcast calibrate check`: a platform beside measurements, which the platform file may then say."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hopcast.cli.calibrate_fit import ONE_WAY, UNIT
from hopcast.errors import InputError

if TYPE_CHECKING:
    from hopcast.calibrate.accuracy import Accuracy
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
@click.option("--block", metavar="NAME", help="Of DATA of pairs at once: the block, where they have several.")
@click.option("--stream", is_flag=True, help="DATA of pairs at once are nodecomm's with -stream.")
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

    DATA are campaigns or tables of two processes, texts of pairs at once, as 'calibrate rates' takes them, or
    results of the programs ring and saturation, which are simulated with their ranks.
    Calls of kernels, such as kernels.csv of 'hopcast calibrate', are compared with the formulas of PLATFORM.
    """
    from hopcast.calibrate import accuracy_record, pair_times, ring_check, saturation_check, tables

    if options["record"]:
        accuracy_record.check_is_file(platform)
    if options["function"] is not None or all(tables.is_table_of_calls(place) for place in data):
        _refuse(options, {**_OF_MESSAGES, **_OF_PAIRS}, "calls of kernels")
        _check_kernels(platform, data, **{key: options[key] for key in ("function", "host_names", "record")})
        return
    _refuse(options, {"host_names": "{}"}, "messages")
    kinds = (pair_times, ring_check, saturation_check)
    if len({next((kind for kind in kinds if kind.is_it(place)), None) for place in data}) > 1:
        raise InputError(
            "DATA of several kinds: compare messages, pairs at once, rings and saturations apart"
        )
    if all(pair_times.is_it(place) for place in data):
        of_messages = {key: default for key, default in _OF_MESSAGES.items() if key != "breakpoints"}
        _refuse(options, of_messages, "pairs at once")
        _check_pairs(platform, data, options)
        return
    _refuse(options, _OF_PAIRS, "one pair of processes")
    for check in (ring_check, saturation_check):
        if all(check.is_it(place) for place in data):
            _refuse(options, _OF_MESSAGES, "programs that are simulated")
            (_check_rings if check is ring_check else _check_saturation)(platform, data, options)
            return
    _check_messages(platform, data, options)


def _check_messages(platform: str, data: Sequence[Path], options: dict) -> None:
    from hopcast.calibrate import accuracy_record, campaigns, machine, poll_check, sources
    from hopcast.calibrate.check import check, check_calls, partner_at
    from hopcast.calibrate.pictures import NAMES
    from hopcast.calibrate.series import by_size

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
    cuts = _cuts(platform, options["breakpoints"], None if partner is None else level or "host")
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
    for checked in poll_check.check_all(platform, chosen, cuts, partner=partner):
        click.echo(f"{checked.name}: {checked.about}")
        _print_rows(checked.rows)
        errors[checked.name] = checked.rows[-1].accuracy
    if options["record"]:
        place = "" if partner is None else " inside hosts" if level in (None, "host") else f" inside {level}"
        named = {f"{what}{place}": errors[what] for what in errors}
        note = f"campaign '{chosen.name}', simulated"
        accuracy_record.record(Path(platform), named, note, machine.day(data))
        click.echo(f"Recorded  {platform}")


def _check_pairs(platform: str, data: Sequence[Path], options: dict) -> None:
    from hopcast.calibrate import accuracy_record, machine, pair_check, pair_times, rate_report

    runs = [part for place in data for part in pair_times.read(place)]
    chosen = rate_report.choose(runs, options["block"], len(data))
    for finding in chosen.findings:
        click.echo(f"warning: {finding}", err=True)
    cuts = _cuts(platform, options["breakpoints"], None)
    click.echo(f"Pairs of {chosen.name} beside {platform}: {chosen.conversion}")
    errors = {}
    for checked in pair_check.check_all(platform, chosen, cuts, stream=options["stream"]):
        click.echo(f"{checked.name}: {checked.rows[-1].accuracy.count} times")
        _print_rows(checked.rows)
        errors[checked.name] = checked.rows[-1].accuracy
    if options["record"]:
        accuracy_record.record(Path(platform), errors, f"{chosen.name}, simulated", machine.day(data))
        click.echo(f"Recorded  {platform}")


def _check_rings(platform: str, data: Sequence[Path], options: dict) -> None:
    from hopcast.calibrate import ring_check

    cuts = {True: _cuts(platform, None, None), False: _cuts(platform, None, "host")}
    errors: dict[str, list[Accuracy]] = {}
    for place in data:
        ring, load = ring_check.read(place), ring_check.background(place)
        click.echo(f"Ring of {len(ring.hosts)} ranks, background {load}, {place} beside {platform}")
        if load in ("kernel", "both"):
            click.echo(
                "warning: products of matrices between polls take no simulated time: what they cost has to "
                "be in the platform's times",
                err=True,
            )
        for checked in ring_check.check_all(platform, ring, load, cuts):
            click.echo(f"{checked.name}: {checked.sizes} sizes")
            _print_rows(checked.rows)
            errors.setdefault(checked.name, []).append(checked.rows[-1].accuracy)
    _record_worst(platform, errors, data, options)


def _check_saturation(platform: str, data: Sequence[Path], options: dict) -> None:
    from hopcast.calibrate import saturation_check

    errors: dict[str, list[Accuracy]] = {}
    for place in data:
        if saturation_check.has_other_all_to_all(place):
            click.echo(
                f"warning: {place}: without {saturation_check.FACTS}, load_alltoall.csv is taken for that of "
                "SimGrid's program, which sends all bytes to each rank and not a share: it is left out",
                err=True,
            )
        for checked in saturation_check.check_all(platform, place):
            click.echo(f"{checked.name} of {checked.measured.size:,} B, {place} beside {platform}")
            for line in checked.lines():
                click.echo(f"  {line}")
            click.echo(f"  {'all loads':<24} {checked.accuracy}")
            errors.setdefault(checked.name, []).append(checked.accuracy)
    _record_worst(platform, errors, data, options)


def _record_worst(platform: str, errors: dict, data: Sequence[Path], options: dict) -> None:
    """Records errors by kind, where that is wanted: of several DATA the largest."""
    from hopcast.calibrate import accuracy_record, machine

    if options["record"]:
        found = {name: accuracy_record.worst(parts) for name, parts in errors.items()}
        note = f"{', '.join(place.name for place in data)}, simulated"
        accuracy_record.record(Path(platform), found, note, machine.day(data))
        click.echo(f"Recorded  {platform}")


def _cuts(platform: str, given: str | None, level: str | None) -> list[float]:
    """Sizes at which tables are cut: those given, or the ends of the platform's regimes."""
    from hopcast.calibrate import quantities
    from hopcast.calibrate.check import regimes_of

    return regimes_of(platform, level) if given is None else quantities.sizes(given, "--breakpoints")


_OF_PAIRS = {"block": None, "stream": False}
"""Options of pairs at once, with their defaults."""
_OF_MESSAGES = {
    "campaign": None,
    "within_a_host": False,
    "level": None,
    "breakpoints": None,
    "unit_bytes": 1,
    "one_way": False,
}
"""Options of messages between two processes, with their defaults."""


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
