"""The screen at the end of a run: the prediction, where the time goes, and whether to trust it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from hopcast import standing
from hopcast.report import calibration, causes, energy, simulator, units
from hopcast.report.collectives import algorithms
from hopcast.report.html import failures, latency_words, ranks_on_hosts, stop, title

if TYPE_CHECKING:
    from hopcast.report.compare import Comparison, Group as ComparedGroup

_STYLES = {
    "compute": ("█", "blue"),
    "late_sender": ("░", "red"),
    "late_receiver": ("░", "magenta"),
    "no_progress": ("░", "bright_red"),
    "imbalance": ("░", "bright_magenta"),
    "contention": ("▓", "bright_yellow"),
    "bandwidth": ("▓", "yellow"),
    "latency": ("▓", "green"),
    "software": ("▒", "cyan"),
    "storage": ("▒", "white"),
    "idle": ("·", "white"),
}
"""Block and colour of each part of the ranks' time."""
_SHOWN = 0.0005
_GAP = "   "
_WIDTH = 100
_LINKS = 5
_CALLS = 6
_OUTAGES = 5
_STUCK = 8
_HOSTS = 5
_COLLECTIVES = 6
_BESIDE = 3
_BEHIND = 3


def show(summary: dict) -> None:
    """Prints the screen."""
    out = console()
    out.print(screen(summary, min(out.width, _WIDTH)))


class _Output(Console):
    """Leaves a broken pipe to the command line."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def console() -> Console:
    """Standard output; as wide as its terminal, or `_WIDTH` where it is none."""
    return _Output(highlight=False, width=None if sys.stdout.isatty() else _WIDTH)


def show_comparison(comparison: Comparison) -> None:
    """Prints reports side by side."""
    out = console()
    out.print(Text(comparison.title, style="bold"))
    for number, letter in enumerate(comparison.letters):
        out.print(Text(f"{letter}  {comparison.made(number)}", style="dim"), soft_wrap=True)
    out.print()
    others = ", ".join(comparison.letters[1:])
    takes = "takes" if len(comparison.sides) == 2 else "take"
    out.print(Text(f"{others} {takes} {comparison.verdict_ratio} the time of A. {comparison.verdict}"))
    for group in comparison.groups:
        for begin in range(1, len(comparison.sides), _BESIDE):
            out.print()
            out.print(_beside(comparison, group, range(begin, min(begin + _BESIDE, len(comparison.sides)))))


def _beside(comparison: Comparison, group: ComparedGroup, others: range) -> Table:
    """A table of the first report and some others."""
    shown = (0, *others)
    measured = bool(group.rows[0].ratios)
    pair = measured and len(comparison.sides) == 2
    names = [comparison.letters[number] for number in shown]
    table = _table(group.title, *names, *(("difference", "B to A") if pair else ()), wrap=not measured)
    for row in group.rows:
        cells = [row.cells[number] for number in shown]
        if pair:
            cells += (row.differences[0], row.ratios[0])
        elif measured:
            cells[1:] = [
                f"{cell} ({row.ratios[number - 1]})" for cell, number in zip(cells[1:], others, strict=True)
            ]
        table.add_row(Text(row.name), *map(Text, cells))
    return table


def screen(summary: dict, width: int) -> RenderableType:
    """The screen for a terminal of `width` columns."""
    blocks: list[RenderableType] = [_head(summary)]
    if summary.get("failure"):
        blocks += ["", _failure(summary["failure"])]
    if summary.get("stopped"):
        blocks += ["", _stopped(summary)]
    blocks += ["", *_time(summary, width)]
    if spent := energy.sentence(summary):
        blocks.append(Text(spent))
    if summary.get("computing"):
        blocks.append(Text(summary["computing"]["sentence"], style="dim"))
    if summary.get("jobs"):
        blocks += ["", _jobs(summary["jobs"])]
    if summary.get("busiest_links"):
        blocks += ["", _links(summary["busiest_links"][:_LINKS], units.transfers(summary["model"]))]
    elif (summary.get("node_memory") or {}).get("messages"):
        blocks += ["", _memory(summary)]
    if summary.get("faults"):
        blocks += ["", *_faults(summary["faults"])]
    if summary.get("calls"):
        blocks += ["", _calls(summary["calls"])]
    if summary.get("collectives"):
        blocks += ["", _collectives(summary["collectives"])]
    blocks += ["", *_speed(summary)]
    if simulator.KEY in summary:
        blocks += ["", *_simulator(summary[simulator.KEY])]
    blocks += [warning(text) for text in summary["warnings"]]
    return Group(*blocks)


def _head(summary: dict) -> Text:
    line = Text(title(summary), style="bold")
    hosts = ranks_on_hosts(summary)
    rest = f"{hosts} · model {summary['model']} · placement {summary['placement']} · seed {summary['seed']}"
    line.append(f"\n{rest}", style="not bold dim")
    known = calibration.sentence(summary)
    return line if known is None else line.append(f"\n{known}", style="not bold dim")


def _failure(failure: dict) -> Text:
    text = Text("The simulated program failed\n", style="bold red")
    text.append(failure["text"], style="not bold")
    ranks = failure.get("ranks") or []
    return text.append(_standing(standing.grouped(ranks, _STUCK)[:_STUCK], len(ranks)))


def _stopped(summary: dict) -> Text:
    text = Text("A partial result: ", style="bold yellow").append(stop(summary) or "", style="not bold")
    unfinished = summary["ranks"] - summary["ranks_finished"]
    return text.append(_standing(summary["stopped"]["behind"][:_BEHIND], unfinished))


def _standing(ranks: list[dict], of: int) -> Text:
    """Some ranks `of` so many, with the calls in which they stand."""
    text = Text()
    for rank in ranks:
        waits = f"\n    waits for {rank['waits_for']}" if rank["waits_for"] else ""
        stands = standing.words(rank, units.seconds(rank["since_s"]))
        text.append(f"\n  {stands}{waits}", style="default not bold")
    left = of - sum(rank.get("count", 1) for rank in ranks)
    if left:
        text.append(f"\n  … and {units.things(left, 'more rank')}", style="default not bold")
    return text


def _time(summary: dict, width: int) -> list[RenderableType]:
    words = "Predicted time"
    if summary.get("failure") or summary.get("partial"):
        words = "Simulated until"
    lines: list[RenderableType] = [
        Text.assemble(f"{words}  ", (units.seconds(summary["makespan_s"]), "bold"))
    ]
    shares = [part for part in causes.split(summary) if part[2] >= _SHOWN]
    if shares:
        bar, parts = Text(), []
        for name, words, share in shares:
            block, colour = _STYLES[name]
            bar.append(block * round(share * (width - 2)), style=colour)
            parts.append(Text.assemble((f"{block} ", colour), f"{units.percent(share)} {words}"))
        lines += [bar, *_side_by_side(parts, width)]
    if summary.get("limit"):
        lines.append(Text(causes.sentence(summary["limit"])))
    if summary.get("what_if"):
        lines.append(_what_if(summary["what_if"]))
    return lines


def _side_by_side(entries: list[Text], width: int) -> list[Text]:
    """Lines of at most `width` columns that break between entries only."""
    lines: list[list[Text]] = [[]]
    for entry in entries:
        used = sum(before.cell_len + len(_GAP) for before in lines[-1])
        if lines[-1] and used + entry.cell_len > width:
            lines.append([])
        lines[-1].append(entry)
    return [Text(_GAP).join(line) for line in lines]


def _what_if(tried: list[dict]) -> Table:
    from hopcast.what_if import words

    table = _table("What if, simulated", "takes", "of the time")
    for row in words(tried):
        table.add_row(*map(Text, row))
    return table


def plain_table() -> Table:
    """A table without heads; its first column keeps its width."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    return table


def _table(*columns: str, wrap: bool = False) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
    for number, name in enumerate(columns):
        table.add_column(name, justify="left" if number == 0 else "right", no_wrap=number > 0 and not wrap)
    return table


def _jobs(jobs: list[dict]) -> Table:
    compared = any("slowdown" in job for job in jobs)
    table = _table("Jobs", "ranks", "hosts", "start", "takes", *(("alone", "slowdown") if compared else ()))
    for job in jobs:
        row = [units.count(job["ranks"]), units.count(job["hosts_used"]), units.seconds(job["start_s"], 3)]
        row.append(units.seconds(job["makespan_s"]) if job["makespan_s"] is not None else "not done")
        if compared:
            row += (
                (units.seconds(job["alone_s"]), f"{job['slowdown']:.2f}")
                if job.get("slowdown")
                else ("—", "—")
            )
        table.add_row(Text(job["name"]), *row)
    return table


def _links(links: list[dict], transfers: str) -> Table:
    table = _table("Busiest links", "class", "bytes", transfers, "used")
    for link in links:
        table.add_row(
            Text(units.busy_link(link)),
            Text(str(link["class"])),
            units.size(link["bytes"]),
            units.count(link["transfers"]),
            units.percent(link["utilisation"]),
        )
    return table


def _memory(summary: dict) -> Table:
    """A table of the traffic within nodes, for a run that used no link."""
    table = _table("Through node memory", "messages", "bytes", "mean rate")
    for busy in summary["node_memory"]["busiest"][:_HOSTS]:
        rate = units.rate(busy["bytes"] / summary["makespan_s"], "B/s") if summary["makespan_s"] else "—"
        row = (units.count(busy["messages"]), units.size(busy["bytes"]), rate)
        table.add_row(f"host {busy['host']}", *row)
    return table


def _collectives(uses: list[dict]) -> Table:
    """A table of algorithms with the sizes for which they were chosen; the most called, if there are many."""
    table = _table("Collectives", "algorithm", "ranks", "size", "count")
    lines = algorithms(uses)
    shown = sorted(lines, key=lambda line: -line.count)[:_COLLECTIVES]
    for line in (line for line in lines if line in shown):
        table.add_row(
            line.collective, line.algorithm, f"{line.members:,}", line.sizes, units.count(line.count)
        )
    if len(lines) > len(shown):
        table.add_row(Text(f"… and {len(lines) - len(shown):,} more", style="dim"))
    return table


def _faults(short: dict) -> list[RenderableType]:
    lines: list[RenderableType] = [Text(failures(short))]
    outages = short["outages"][:_OUTAGES]
    if outages:
        table = _table("What failed", "from", "to")
        for outage in outages:
            until = "—" if outage["returned_s"] is None else units.seconds(outage["returned_s"], 3)
            name = Text(f"{outage['kind']} {outage['name']}")
            table.add_row(name, units.seconds(outage["failed_s"], 3), until)
        lines.append(table)
    more = short["links_failed"] + short["routers_failed"] - len(outages)
    if more > 0:
        lines.append(Text(f"… and {more:,} more", style="dim"))
    return lines


def _calls(calls: list[dict]) -> Table:
    table = _table("MPI calls", "count", "mean", "longest", "of the time in MPI", "waiting")
    total = sum(call["total_s"] for call in calls) or 1.0
    calls = sorted(calls, key=lambda call: -call["total_s"])
    for call in calls[:_CALLS]:
        table.add_row(
            Text(call["call"]),
            units.count(call["count"]),
            units.seconds(call["mean_s"], 3),
            units.seconds(call["max_s"], 3),
            units.percent(call["total_s"] / total),
            units.percent(min(1.0, call["waiting_s"] / call["total_s"])) if call["total_s"] else "—",
        )
    return table


def _simulator(profile: dict) -> list[RenderableType]:
    """Time and memory of the simulator itself, by layer."""
    table = _table("The simulator", "layer", "time", "of all", "memory")
    table.columns[1].justify = "left"
    for row in simulator.rows(profile):
        table.add_row(*map(Text, row))
    return [table, Text(simulator.note(profile), style="dim")]


def _speed(summary: dict) -> list[Text]:
    wall = summary["wall_s"]
    pace = ""
    if wall > 0:
        messages, events = (units.count(summary[name] / wall) for name in ("messages", "events"))
        pace = f": {messages} messages/s, {events} events/s"
    done = f"Simulated {units.count(summary['messages'])} messages ({units.size(summary['bytes'])})"
    lost = (("packets_lost", "lost"), ("packets_resent", "resent"), ("packets_duplicate", "duplicate"))
    if any(summary.get(name) for name, _ in lost):
        done += ", packets " + ", ".join(f"{word} {units.count(summary[name])}" for name, word in lost)
    lines = []
    if latency := summary.get("message_latency"):
        lines.append(Text(f"Message latency: {latency_words(latency)}"))
    memory = f"{units.size(summary['peak_rss_B'])} of memory, {units.things(summary['threads'], 'thread')}"
    return [
        *lines,
        Text(f"{done} in {units.seconds(wall, 3)}{pace}", style="dim"),
        Text(f"Outcome {summary['outcome_hash']}, {memory}", style="dim"),
    ]


def warning(text: str) -> Text:
    """A line that means: check this before you trust the number."""
    return Text.assemble(("warning: ", "bold yellow"), text)
