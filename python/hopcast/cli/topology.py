"""`hopcast topology`: a platform's network, counted and measured without simulating anything."""

from __future__ import annotations

from pathlib import Path

import click

from hopcast.cli import overrides


@click.group(name="topology", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Count, measure and draw a network."""


@command.command()
@click.argument("platform")
@overrides.option
@click.option("--seed", type=int, default=1, show_default=True, metavar="N", help="Seed of random routings.")
@click.option("--svg", type=click.Path(path_type=Path), metavar="FILE", help="Draw it into FILE.")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def show(platform: str, overrides: tuple[str, ...], seed: int, svg: Path | None, as_json: bool) -> None:
    """Count, measure and draw the network of PLATFORM, a preset or a file.

    Hosts, routers and links by class; diameter, mean distance, bisection, path diversity; and what the
    platform's routing makes of them on the idle network. Each value says how it was found.
    """
    from hopcast import core

    if svg is not None:
        from hopcast.report.store import write_text

        write_text(svg, core.topology_picture(platform, overrides), flag="--svg", mark="<svg")
    survey = core.topology_survey(platform, overrides, seed)
    if as_json:
        import json

        click.echo(json.dumps(survey, indent=2, ensure_ascii=False))
    else:
        _show(survey)


def _show(survey: dict) -> None:
    from rich.table import Table
    from rich.text import Text

    from hopcast.report.screen import console, plain_table

    out = console()
    out.print(Text(f"{survey['platform']}: {survey['topology']}", style="bold"))
    facts = plain_table()
    for name, value, found in _facts(survey):
        facts.add_row(Text(name), Text(value), Text(found, style="dim"))
    out.print(facts)
    out.print()
    links = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
    for name in ("Links", "number", "bandwidth", "latency"):
        links.add_column(name, justify="left" if name == "Links" else "right")
    for kind in survey["classes"]:
        links.add_row(Text(kind["name"]), f"{kind['links']:,}", _bandwidths(kind), _latencies(kind))
    out.print(links)


def _facts(survey: dict) -> list[tuple[str, str, str]]:
    """Lines of name, value, and how it was found."""
    from hopcast.report import units

    lines = [(name, f"{survey[name]:,}", "") for name in ("hosts", "routers", "links")]
    diameter, mean, bisection = (survey[name] for name in ("diameter_hops", "mean_hops", "bisection_Bps"))
    lines.append(("diameter", f"{diameter['value']:,} hops between routers", diameter["found"]))
    if mean:
        lines.append(("mean distance", f"{units.digits(mean['value'])} hops", mean["found"]))
    if bisection and bisection["value"] is not None:
        share = bisection["value"] / survey["half_of_hosts_Bps"] if survey["half_of_hosts_Bps"] else None
        half = "the smaller half" if bisection["found"].startswith("at most") else "half of the hosts"
        full = "" if share is None else f", {units.percent(share)} of what {half} can send"
        lines.append(("bisection", units.rate(bisection["value"], "B/s") + full, bisection["found"]))
    if ways := survey["path_diversity"]:
        text = f"{units.digits(ways['mean'], 3)} disjoint shortest paths on average, least {ways['least']}"
        lines.append(("path diversity", text, f"{ways['pairs_of_routers']:,} pairs of routers"))
    if routed := survey["routed"]:
        low, mean_s, high = (units.seconds(routed[f"latency_{which}_s"]) for which in ("min", "mean", "max"))
        pairs = f"{routed['pairs_of_hosts']:,} pairs of hosts"
        lines.append(("idle latency", f"{low} to {high}, {mean_s} on average", pairs))
        hops = f"{units.digits(routed['mean_hops'])} hops on average, at most {routed['most_hops']}"
        lines.append(("routes", hops, pairs))
        lines.append(("virtual channels", str(routed["virtual_channels"]), "against deadlock"))
    return lines


def _bandwidths(kind: dict) -> str:
    from hopcast.report import units

    def write(value: float | None) -> str:
        return "infinite" if value is None else units.rate(value, "B/s")

    return _range(write(kind["bandwidth_min_Bps"]), write(kind["bandwidth_max_Bps"]))


def _latencies(kind: dict) -> str:
    from hopcast.report import units

    return _range(units.exact_seconds(kind["latency_min_s"]), units.exact_seconds(kind["latency_max_s"]))


def _range(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"
