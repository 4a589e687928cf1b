"""`hopcast cluster`: generative models of a cluster's processors."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import click

from hopcast.errors import InputError
from hopcast.overrides import check_keys

SETTINGS = {"help_option_names": ["-h", "--help"]}
MODEL_OUT = click.option(
    "-o",
    "--out",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Model to write, TOML.",
)


@click.group(name="cluster", context_settings=SETTINGS)
def command() -> None:
    """Fit how the processors of a cluster differ, and draw clusters like it."""


@command.command(name="fit", context_settings=SETTINGS)
@click.argument("data", nargs=-1, required=True, type=click.Path(dir_okay=False, path_type=Path))
@MODEL_OUT
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    metavar="NAME=HOST,…",
    help="Hosts that are a kind of their own; repeatable.",
)
@click.option(
    "--leave-out", multiple=True, metavar="HOST[/SOCKET]", help="Host or processor not to fit; repeatable."
)
@click.option("--terms", metavar="TERM,…", help='Default: "M*N*K,1,deviation M*N*K".')
@click.option(
    "--report",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Page about the fit, HTML.",
)
def fit_command(data, out, kinds, leave_out, terms, report) -> None:
    """Fit a model to DATA: CSV files with host, socket and coefficients, a row for each processor and day."""
    from hopcast.cluster import fit, model

    found = fit.read(data, tuple(terms.split(",")) if terms else model.TERMS)
    kept = [
        host not in leave_out and f"{host}/{socket}" not in leave_out for host, socket in found.processors
    ]
    present = {host for host, _ in found.processors} | {"/".join(one) for one in found.processors}
    if missing := [name for name in leave_out if name not in present]:
        raise InputError(f"--leave-out: no '{missing[0]}' in {found.source}")
    if not any(kept):
        raise InputError("--leave-out: nothing is left to fit")
    used = found.where(kept)
    fitted = fit.fit(used, {name: hosts.split(",") for name, hosts in _pairs(kinds, "--kind")})
    _write(out, model.text(fitted))
    for kind in fitted.kinds:
        _show(fitted, kind)
    click.echo(f"Model      {out}")
    if report is not None:
        from hopcast.cluster import report as page

        page.write(report, fitted, used, [f"Left out of the fit: {name}." for name in leave_out])
        click.echo(f"Report     {report}")


@command.command(name="new", context_settings=SETTINGS)
@MODEL_OUT
@click.option("--flop-rate", required=True, metavar="RATE", help='Of a processor in dgemm: "30 Gflop/s".')
@click.option("--start-up", default="0 s", show_default=True, help='Of a call: "2.4 us".')
@click.option(
    "--heterogeneity",
    default=0.0,
    show_default=True,
    type=click.FloatRange(0, 1),
    help="Relative deviation between processors: 0.02 is 2 %.",
)
@click.option(
    "--variability",
    default=0.0,
    show_default=True,
    type=click.FloatRange(0, 1),
    help="Relative deviation between calls.",
)
@click.option("--sockets", default=1, show_default=True, help="Processors of a host.")
def new_command(out, flop_rate, start_up, heterogeneity, variability, sockets) -> None:
    """Write a model of dgemm from what is known of a cluster, without data."""
    from hopcast.calibrate import quantities
    from hopcast.cluster import generic, model

    for name, value in (("heterogeneity", heterogeneity), ("variability", variability)):
        if not 0 <= value <= 1:  # not a number is no share, either
            raise InputError(f"--{name} {value:g}: from 0 to 1")
    made = generic.of_rates(
        flop_rate=quantities.flop_rate(flop_rate, "--flop-rate"),
        start_up_s=quantities.seconds(start_up, "--start-up"),
        heterogeneity=heterogeneity,
        variability=variability,
        sockets=sockets,
    )
    _write(out, model.text(made))
    click.echo(f"Model      {out}")


@command.command(name="draw", context_settings=SETTINGS)
@click.argument("file", metavar="MODEL", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "-o",
    "--out",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Table to write, CSV.",
)
@click.option("--nodes", required=True, type=click.IntRange(1), help="Hosts to draw.")
@click.option(
    "--day", type=click.IntRange(0), help="Day to draw. Default: processors as in the mean of days."
)
@click.option("--seed", default=1, show_default=True, help="Of the random numbers.")
@click.option("--share", "shares", multiple=True, metavar="KIND=SHARE", help="Share of a kind; repeatable.")
@click.option("--gamma", type=float, help="Deviation of calls over their mean, for all processors.")
@click.option("--mean", "means", multiple=True, metavar="TERM=SECONDS", help="Another mean; repeatable.")
@click.option("--spatial", default=1.0, show_default=True, help="Factor of deviations between processors.")
@click.option("--temporal", default=1.0, show_default=True, help="Factor of deviations between days.")
@click.option("--remove-slowest", default=0, show_default=True, help="Hosts to leave out, the slowest first.")
@click.option(
    "--host-names", default="{}", show_default=True, metavar="PATTERN", help='Names of hosts: "dahu-{}".'
)
@click.option("--first", default=0, show_default=True, help="Number of the first host in its name.")
def draw_command(file, out, nodes, day, seed, shares, gamma, means, spatial, temporal, **options) -> None:
    """Draw the processors of a cluster from MODEL, as a table for a platform's kernel.

    The numbers of a processor depend on the seed, its host and socket, and the day alone.
    """
    from hopcast.cluster import draw, generic, model, table

    changed = generic.changed(
        model.read(file), means=dict(_numbers(means, "--mean")), spatial=spatial, temporal=temporal
    )
    if "{}" not in options["host_names"]:
        raise InputError(f"--host-names: '{options['host_names']}' has no {{}} for the number")
    drawn = draw.draw(
        changed,
        nodes,
        seed=seed,
        day=day,
        shares=dict(_numbers(shares, "--share")),
        gamma=gamma,
        remove_slowest=options["remove_slowest"],
    )
    said = f"Drawn by: hopcast {shlex.join(sys.argv[1:])}\nModel: {changed.source}"
    _write(out, table.text(drawn, said, options["host_names"], options["first"]))
    kinds = {kind.name: 0 for kind in changed.kinds}
    for processor in drawn.processors:
        kinds[processor.kind] += 1
    counted = ", ".join(f"{count:,} {name}" for name, count in kinds.items() if count)
    click.echo(
        f"Drawn      {len(drawn.processors):,} processors ({counted}), {drawn.rejected} draws rejected"
    )
    if drawn.removed:
        click.echo(f"Removed    hosts {', '.join(map(str, drawn.removed))}")
    click.echo(f"Table      {out}")


def _show(fitted, kind) -> None:
    from hopcast.report import units

    click.echo(f"Kind '{kind.name}': {kind.hosts:g} hosts")
    for number, term in enumerate(fitted.terms):
        mean = kind.mean[number]
        space, time = (matrix[number, number] ** 0.5 / abs(mean) for matrix in (kind.spatial, kind.temporal))
        click.echo(
            f"  {term:<20} {units.seconds(mean):>10}    processors ±{units.percent(space)}, days "
            f"±{units.percent(time)}"
        )


def _pairs(texts: tuple[str, ...], option: str) -> list[tuple[str, str]]:
    found = []
    for text in texts:
        name, sign, value = text.rpartition("=")
        if not sign or not name or not value:
            raise InputError(f"{option}: '{text}' is not NAME=VALUE")
        found.append((name, value))
    check_keys(option, [name for name, _ in found])
    return found


def _numbers(texts: tuple[str, ...], option: str) -> list[tuple[str, float]]:
    found = []
    for name, value in _pairs(texts, option):
        try:
            found.append((name, float(value)))
        except ValueError:
            raise InputError(f"{option}: '{value}' of '{name}' is no number") from None
    return found


def _write(place: Path, text: str) -> None:
    try:
        place.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{place}: cannot be written: {error.strerror}") from None
