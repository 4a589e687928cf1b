"""`report.html`: one self-contained page, with everything that it shows inside it."""

from __future__ import annotations

import re
import shlex
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from markupsafe import Markup

from hopcast import what_if
from hopcast.report import calibration, causes, energy, timeline_view, units
from hopcast.report.collectives import algorithms
from hopcast.report.settings import given_options, made_by
from hopcast.report.store import Result
from hopcast.standing import grouped

if TYPE_CHECKING:
    from jinja2 import Environment

    from hopcast.report.compare import Comparison

_STUCK_SHOWN = 200


def page(result: Result) -> str:
    """The report of one run."""
    from hopcast.report.pictures import PICTURES

    pictures = [picture for draw in PICTURES if (picture := draw(result)) is not None]
    return (
        _environment()
        .get_template("report.html")
        .render(
            summary=result.summary,
            title=title(result.summary),
            parts=parts(result.summary),
            limit=result.summary.get("limit") and causes.sentence(result.summary["limit"]),
            what_if=what_if.words(result.summary.get("what_if") or []),
            facts=facts(result.summary),
            compared=any("slowdown" in job for job in result.summary.get("jobs") or ()),
            whole_s=result.summary["makespan_s"] or 1.0,
            pictures=pictures,
            timeline=timeline_view.data(result),
            timeline_words=timeline_view.words(result, timeline_view.PAGE_MOST, "timeline.json"),
            stop=stop(result.summary),
            stuck=_stuck(result.summary),
            made=made_by(result.summary),
            command=shlex.join(made_by(result.summary).get("command") or []),
            options=given_options(result.summary),
            collectives=algorithms(result.summary.get("collectives") or []),
            memory=(result.summary.get("node_memory") or {}).get("busiest") or [],
        )
    )


def prepare() -> None:
    """Loads now all that `page` needs."""
    from hopcast.report import pictures

    assert pictures.PICTURES
    _environment().get_template("report.html")


def _stuck(summary: dict) -> list[dict]:
    """The ranks of a failure, as many as are shown."""
    ranks = (summary.get("failure") or {}).get("ranks") or []
    return grouped(ranks, _STUCK_SHOWN)[:_STUCK_SHOWN]


def notebook(summary: dict) -> str:
    """The short form of a report that a notebook shows."""
    return (
        _environment()
        .get_template("notebook.html")
        .render(
            summary=summary,
            title=title(summary),
            parts=parts(summary),
            facts=facts(summary),
            stop=stop(summary),
            limit=summary.get("limit") and causes.sentence(summary["limit"]),
            colours=_colours(),
        )
    )


@cache
def _colours() -> dict[str, str]:
    """The page's light colours by name, for a notebook, which has no style sheet of ours."""
    sheet = files("hopcast.report").joinpath("pages").joinpath("style.css").read_text(encoding="utf-8")
    light, _, _ = sheet.partition("@media")
    return dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", light))


def comparison_page(comparison: Comparison) -> str:
    """Reports side by side."""
    from hopcast.report.compare import DIFFERS, bars

    return (
        _environment()
        .get_template("compare.html")
        .render(
            comparison=comparison,
            bars=Markup(bars(comparison)),
            differs=DIFFERS,
        )
    )


def calibration_page(page: object) -> str:
    """Page about a fit; its contents are a `hopcast.calibrate.report.Page`."""
    return _environment().get_template("calibration.html").render(page=page)


def sheet_page(page: object) -> str:
    """Page of results that are no run; its contents are a `hopcast.report.sheet.Sheet`."""
    return _environment().get_template("sheet.html").render(page=page)


def study_page(page: object) -> str:
    """Page about a study; its contents are a `hopcast.study.page.Page`."""
    return _environment().get_template("study.html").render(page=page)


def experiment_page(title: str, lines: list[str], findings: list[str], picture: object) -> str:
    """Page about a real and a simulated archive; `picture` is a `Picture`."""
    template = _environment().get_template("experiment.html")
    return template.render(title=title, lines=lines, findings=findings, picture=picture)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("hopcast.report", "pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        rate=lambda value: units.rate(value, "B/s"),
        seconds=units.seconds,
        size=units.size,
        number=units.count,
        percent=units.percent,
        drawing=Markup,
    )
    return environment


def title(summary: dict) -> str:
    """Title of the page: the workload and the platform."""
    return f"{summary['workload']} on {summary['platform']}"


def stop(summary: dict) -> str | None:
    """Sentence about a run that was stopped before its end; None if it was not."""
    stopped = summary.get("stopped")
    if not stopped:
        return None
    words = {
        "stop-at": "as was asked for",
        "interrupt": "by an interrupt",
        "recording": "at the end of a partial recording",
    }
    done = f"{summary['ranks_finished']:,} of {units.things(summary['ranks'], 'rank')} done"
    return f"stopped at {units.seconds(stopped['at_s'])} {words[stopped['by']]}, {done}"


def failures(short: dict) -> str:
    """Sentence about what failed and what it has cost; `short` is what the report says of faults."""
    counts = [(short["links_failed"], "link failure"), (short["routers_failed"], "router failure")]
    failed = [units.things(count, noun) for count, noun in counts if count]
    if not failed:
        return "Nothing failed during the run."
    lost = units.things(short["packets_lost"], "packet")
    again = units.count(short["packets_resent"])
    around = units.things(short["packets_rerouted"], "packet")
    of = units.things(short["messages_rerouted"], "message")
    waits = f"; {units.things(short['waits'], 'wait')} until there was a way" if short["waits"] else ""
    cost = f"{lost} lost by it, {again} sent again; {around} of {of} went around{waits}"
    return f"{' and '.join(failed)}: {cost}."


def parts(summary: dict) -> list[tuple[str, str, float]]:
    """Computing and each cause of time in MPI: (name, what it is, share of the ranks' time)."""
    return causes.split(summary)


def ranks_on_hosts(summary: dict) -> str:
    """Number of ranks and of the platform's hosts that they run on."""
    hosts = f"{summary['hosts_used']:,} of {units.things(summary['hosts'], 'host')}"
    if summary.get("sockets", 1) > 1:
        hosts += f" of {summary['sockets']} sockets"
    return f"{units.things(summary['ranks'], 'rank')} on {hosts}"


def facts(summary: dict) -> list[tuple[str, str]]:
    """Further facts about a run, in the order in which readers ask for them."""
    wall = summary["wall_s"]
    speed = f", {units.count(summary['events'] / wall)} events/s" if wall > 0 else ""
    lines = [
        ("Size", ranks_on_hosts(summary)),
        ("Network model", str(summary["model"])),
        ("Messages", f"{units.count(summary['messages'])}, {units.size(summary['bytes'])}"),
        (
            "Simulated in",
            f"{units.seconds(wall, 3)} (and {units.seconds(summary['setup_s'], 3)} to set up){speed}",
        ),
        ("Peak memory", units.size(summary["peak_rss_B"])),
        ("Threads, processes", f"{summary['threads']}, {summary['processes']}"),
        ("Placement, seed", f"{summary['placement']}, {summary['seed']}"),
        ("Outcome hash", str(summary["outcome_hash"])),
    ]
    if known := calibration.sentence(summary):
        lines.insert(1, ("Calibration", known))
    if summary["packet_hops"]:
        lines.insert(4, ("Packet hops", units.count(summary["packet_hops"])))
    losses = [summary.get(f"packets_{name}", 0) for name in ("lost", "resent", "duplicate")]
    if any(losses):
        lines.insert(5, ("Packets lost, resent, duplicate", ", ".join(map(units.count, losses))))
    if energy.by_cause(summary):
        lines.append(("Energy", energy.amount(summary)))
    if latency := summary.get("message_latency"):
        lines.append(("Message latency", latency_words(latency)))
    memory = summary.get("node_memory")
    if memory and memory["messages"]:
        hosts = f"on {units.things(memory['hosts'], 'host')}"
        sent = f"{units.count(memory['messages'])} messages, {units.size(memory['bytes'])}"
        if "bytes_share" in memory:
            shares = [units.percent(memory[name]) for name in ("messages_share", "bytes_share")]
            sent += f" ({shares[0]} of all messages, {shares[1]} of their bytes)"
        lines.append(("Through node memory", f"{sent}, {hosts}"))
        levels = [
            f"{level['level']} {units.count(level['messages'])} messages, {units.size(level['bytes'])}"
            for level in memory.get("levels", [])
        ]
        if levels:
            lines.append(("By level of a host", "; ".join(levels)))
    kept = summary.get("statistics")
    if kept and kept["messages"]:
        half, late = (units.seconds(kept[f"latency_{share}_s"], 3) for share in ("p50", "p99"))
        lines.append(("In the network", f"half within {half}, 99 of 100 within {late}"))
    return lines


def latency_words(latency: dict) -> str:
    """Message latency in one line."""
    half, late, most = (units.seconds(latency[name], 3) for name in ("p50_s", "p99_s", "max_s"))
    return f"half within {half}, 99 of 100 within {late}, all within {most}"
