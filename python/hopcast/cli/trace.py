"""`hopcast trace`: recorded runs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from pathlib import Path


class _Traces(click.Group):
    """Subcommands, or after `--` the command that is recorded."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" not in args:
            return super().parse_args(ctx, args)
        at = args.index("--")
        if any(word in self.commands for word in args[:at]):
            return super().parse_args(ctx, args)
        return self.parse_args(ctx, ["record", *args])

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_usage(ctx.command_path, "[OPTIONS] -- MPIRUN … PROGRAM …")
        formatter.write_usage(ctx.command_path, "COMMAND …", prefix="       ")


@click.group(name="trace", cls=_Traces, context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Record a run of an MPI program, or look into recorded runs.

    `hopcast trace -- mpirun -n 64 ./app` runs the command after `--` as it is, with a recorder preloaded into
    the program: each MPI call, and the time between calls. `hopcast trace record --help` shows its options.
    """


@command.command()
@click.argument("path")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def info(path: str, as_json: bool) -> None:
    """Say what the trace at PATH holds: a directory, any file of a set, or a tar archive.

    The whole trace is read, so that damage shows.
    """
    from hopcast import core

    summary = core.trace_summary(path)
    if as_json:
        import json

        click.echo(json.dumps(summary, indent=2, ensure_ascii=False))
    else:
        _show(path, summary)


def _show(path: str, summary: dict) -> None:
    from rich.text import Text

    from hopcast.report import units
    from hopcast.report.screen import console, plain_table, warning

    out = console()
    out.print(Text(f"{path}: {summary['format']}", style="bold"))
    facts = plain_table()
    hosts = f" on {units.things(len(summary['hosts']), 'host')}" if summary["hosts"] else ""
    size = units.things(summary["ranks"], "rank")
    if alone := summary["alone"]:
        size = f"rank {alone['rank']} of {alone['ranks']:,} alone"
    facts.add_row("size", size + hosts)
    if summary["timed"]:
        by_processor = summary["format"] == "hct" and not summary["common_time"]
        of = "the processor's for the busiest rank" if by_processor else "that of the longest rank"
        facts.add_row("time", f"{units.seconds(summary['longest_rank_s'])}, {of}")
        if summary["starts_apart_s"]:
            apart = units.seconds(summary["starts_apart_s"])
            facts.add_row("starts", f"up to {apart} apart on a host, which a replay leaves out")
        share = summary["in_mpi_s"] / summary["wall_s"] if summary["wall_s"] else 0.0
        facts.add_row("in MPI", f"{units.percent(share)} of the ranks' time")
    else:
        facts.add_row("time", "not recorded: the trace says what is computed, not when")
    if summary["polls"]:
        waited = units.seconds(summary["waited_s"])
        facts.add_row("polls", f"{units.count(summary['polls'])} that found nothing, {waited} of waiting")
    if summary["counts"]:
        counted = ", ".join(f"{one['total']:,} {one['unit']}" for one in summary["counts"])
        facts.add_row("between calls", counted)
    if not summary["ordered"]:
        facts.add_row("order", "a graph of dependencies")
    messages = f"{units.count(summary['messages'])}, {units.size(summary['bytes'])}, collectives not counted"
    facts.add_row("messages", messages)
    out.print(facts)
    out.print()
    calls = plain_table()
    for call in sorted(summary["calls"], key=lambda call: -call["count"]):
        calls.add_row(call["call"], f"{call['count']:>12,}")
    out.print(calls)
    if summary["not_replayable"]:
        out.print(warning(f"cannot be replayed: {summary['not_replayable']}"))
    for text in summary["warnings"]:
        out.print(warning(text))


@command.command()
@click.argument("path")
@click.option(
    "--rank",
    "ranks",
    type=click.IntRange(min=0),
    multiple=True,
    help="Of this rank only; any number of times.",
)
@click.option(
    "--clocks/--no-clocks", default=True, show_default=True, help="With the logical clock of each call."
)
@click.option("--json", "as_json", is_flag=True, help="A JSON object for each call, one to a line.")
def dump(path: str, ranks: tuple[int, ...], clocks: bool, as_json: bool) -> None:
    """List the calls of the trace at PATH, rank by rank.

    Logical clocks are Lamport's: a call that received a message has a later one than the call that sent it.
    Of schedules (GOAL, Chakra, BigSim) what is listed are the events of each rank, and after which others
    each may begin.
    """
    import sys

    from hopcast import core

    core.trace_dump(path, list(ranks), clocks, as_json, sys.stdout.write)


@command.command()
@click.argument("path")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def lint(path: str, as_json: bool) -> int:
    """Say what is wrong with the trace at PATH, and what a replay makes of it.

    Unmatched sends and receives, collectives that do not go together, ranks that wait for each other,
    messages that are received before they are sent: each with rank, call and cause. Schedules (GOAL, Chakra,
    BigSim) are followed as a replay would, on a machine whose messages take no time. The exit status is 1 if
    a replay would fail.
    """
    import json

    from hopcast import core

    found = core.trace_lint(path)
    if as_json:
        click.echo(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        _show_findings(path, found)
    fails = any("a replay ends" in one["replay"] for one in found["findings"])
    return int(fails or found["not_replayable"] is not None)


def _show_findings(path: str, found: dict) -> None:
    from rich.text import Text

    from hopcast.report import units
    from hopcast.report.screen import console, warning

    out = console()
    out.print(Text(f"{path}: {found['format']}, {units.things(found['ranks'], 'rank')}", style="bold"))
    if found["not_replayable"]:
        out.print(warning(f"cannot be replayed: {found['not_replayable']}"))
    for one in found["findings"]:
        out.print(warning(f"{one['kind']}, {one['count']:,} times: {one['replay']}"))
        for first in one["first"]:
            out.print(Text(f"  {_place(first, found['ordered'])}: {first['cause']}"))
    if found["only_time"]:
        calls = ", ".join(f"{call['call']} ({call['count']:,})" for call in found["only_time"])
        out.print(warning(f"of these calls a replay keeps the recorded time, and moves no data: {calls}"))
    for text in found["warnings"]:
        out.print(warning(text))
    if not (found["findings"] or found["not_replayable"] or found["only_time"] or found["warnings"]):
        out.print("nothing is wrong")


def _place(finding: dict, ordered: bool) -> str:
    """Place of a finding: in a graph its number is that of a node, for which the trace may have a name."""
    number = finding["number"]
    numbered = "" if number is None else f"{'call' if ordered else 'event'} #{number} "
    name = f" ({finding['name']})" if finding.get("name") else ""
    where = f"{numbered}{finding['call']}".rstrip() + name
    return f"rank {finding['rank']}" + (f", {where}" if where else "")


_flop_rate = click.option(
    "--flop-rate",
    metavar="RATE",
    help="How fast ranks compute, such as '1 Gflop/s': of a trace that has operations instead of times "
    "(SimGrid's).",
)


@command.command()
@click.argument("path")
@click.option("-o", "--out", type=click.Path(), required=True, help="What to write: a folder, NAME.hct.")
@click.option("--one-file", is_flag=True, help="Write one file, a tar archive of the folder.")
@_flop_rate
@click.option(
    "--times",
    type=click.Choice(["exact", "tallied"]),
    help="The time of each call, or for each place of a loop how often which times happened. Default: as "
    "recorded.",
)
def convert(path: str, out: str, one_file: bool, times: str | None, flop_rate: str | None) -> None:
    """Write the trace at PATH in hopcast's own format, .hct."""
    from hopcast.record.files import converted
    from hopcast.report import units

    tallied = None if times is None else times == "tallied"
    written, size = converted(path, out, one_file, tallied, flop_rate)
    click.echo(
        f"{units.things(written['ranks'], 'rank')}, {written['calls']:,} calls in {out} ({units.size(size)})"
    )


class _Sizes(click.ParamType):
    """`10x10x10`, or one number."""

    name = "sizes"

    def convert(self, value, param, ctx) -> list[int]:
        words = value.split("x") if isinstance(value, str) else value
        if not all(isinstance(word, int) or (word.isdecimal() and len(word) <= 10) for word in words):
            self.fail(f"'{value}' is neither a number of ranks, such as 1000, nor a grid, such as 10x10x10")
        return [min(int(word), 2**32 - 1) for word in words]


@command.command()
@click.argument("path")
@click.option("-o", "--out", type=click.Path(), required=True, help="What to write: a folder, NAME.hct.")
@click.option(
    "--to",
    type=_Sizes(),
    required=True,
    metavar="RANKS|GRID",
    help="So many ranks, such as 1000, or so many along each dimension, such as 10x10x10.",
)
@click.option(
    "--grid",
    type=_Sizes(),
    metavar="GRID",
    help="How the recorded ranks stand, such as 3x3x3. Default: as the program has asked MPI_Cart_create "
    "for, or in a row.",
)
@click.option("--one-file", is_flag=True, help="Write one file, a tar archive of the folder.")
@_flop_rate
def scale(
    path: str, out: str, to: list[int], grid: list[int] | None, one_file: bool, flop_rate: str | None
) -> None:
    """Grow a regular trace to more ranks.

    Regular are stencils, rings and collectives of all ranks: what a rank does depends only on whether it
    stands at an end of the grid, and where its partners stand from it. Each new rank does what a recorded
    rank of its place did, in the same times: the work of a rank stays what it was. What is not regular is
    refused.
    """
    from hopcast.record.files import scaled
    from hopcast.report import units

    written, size = scaled(path, out, one_file, grid, to, flop_rate)
    grids = " to ".join(" x ".join(map(str, written[side])) for side in ("from", "to"))
    ranks = units.things(written["ranks"], "rank")
    click.echo(f"{grids}: {ranks}, {written['calls']:,} calls in {out} ({units.size(size)})")


class _Meetings(click.ParamType):
    """`10:20`."""

    name = "meetings"

    def convert(self, value, param, ctx) -> tuple[int, int]:
        words = value.split(":") if isinstance(value, str) else value
        if len(words) != 2 or not all(str(word).isdecimal() and len(str(word)) <= 18 for word in words):
            self.fail(f"'{value}' is not two numbers of meetings, such as 10:20")
        return int(words[0]), int(words[1])


class _Ranks(click.ParamType):
    """`0-15`, `0,4,8`, or both."""

    name = "ranks"

    def convert(self, value, param, ctx) -> list[tuple[int, int]]:
        if not isinstance(value, str):
            return value
        spans = []
        for word in value.split(","):
            first, _, last = word.partition("-")
            ends = [first, last if "-" in word else first]
            if not all(end.isdecimal() and len(end) <= 9 for end in ends) or int(ends[0]) > int(ends[1]):
                self.fail(f"'{value}' is not a list of ranks, such as 0-15 or 0,4,8")
            spans.append((int(ends[0]), int(ends[1])))
        return spans


@command.command()
@click.argument("path")
@click.option("-o", "--out", type=click.Path(), required=True, help="What to write: a folder, NAME.hct.")
@click.option("--from", "start", metavar="TIME", help="Calls that begin at this time or later, such as 1.5s.")
@click.option("--to", "end", metavar="TIME", help="Calls that begin before this time.")
@click.option(
    "--meetings",
    type=_Meetings(),
    metavar="A:B",
    help="Calls after the A-th call in which all ranks wait for each other (barrier, allreduce, …), up to "
    "and with the B-th: iterations A to B of a loop with one.",
)
@click.option("--ranks", type=_Ranks(), metavar="RANKS", help="Of these ranks only: 0-15, or 0,4,8.")
@click.option(
    "--outside",
    type=click.Choice(["refuse", "drop"]),
    help="What becomes of messages with ranks that are not kept. Default: refuse.",
)
@click.option("--one-file", is_flag=True, help="Write one file, a tar archive of the folder.")
@_flop_rate
def slice(path: str, out: str, one_file: bool, **part) -> None:
    """Write a part of the trace at PATH: a window of its time, some of its iterations, or some of its ranks.

    What is written replays: a message into the window, or out of it, goes from or to nobody
    (MPI_PROC_NULL), and a collective that is not in it on all ranks does nothing. Communicators and
    persistent requests that were made before are made at the begin. Ranks that are kept have collectives
    among themselves; messages with others are refused, or dropped: such calls take their recorded time.
    """
    from hopcast.record.files import sliced
    from hopcast.report import units

    written, size = sliced(path, out, one_file, **part)
    ranks = units.things(written["ranks"], "rank")
    click.echo(
        f"{ranks}, {written['calls']:,} calls in {out} ({units.size(size)}), "
        f"from {units.seconds(written['begin_s'])} on"
    )
    cut = [
        f"{units.things(written['cut'][key], thing)} {which}"
        for key, thing, which in _CUT
        if written["cut"][key]
    ]
    if cut:
        click.echo(f"cut: {', '.join(cut)}")
    if written["cut"]["restricted"]:
        click.echo(f"among the kept ranks only: {units.things(written['cut']['restricted'], 'collective')}")


_CUT = (
    ("sends", "message", "received after it or before it"),
    ("receives", "message", "sent before it or after it"),
    ("collectives", "collective", "that some ranks did outside"),
    ("outside", "operation", "with ranks that are not kept"),
)
"""Things that a slice may cut, in the words of messages."""


@command.command(context_settings={"allow_interspersed_args": False})
@click.option(
    "-o", "--out", type=click.Path(), help="The folder to write. Default: PROGRAM.hct, or PROGRAM-2.hct, …"
)
@click.option(
    "--mpicc",
    default=lambda: os.environ.get("MPICC", "mpicc"),
    show_default="mpicc, or $MPICC",
    help="The compiler of the MPI library that the program uses; the recorder is compiled with it, once.",
)
@click.option(
    "--clock",
    type=click.Choice(["wall", "cpu"]),
    default="wall",
    show_default=True,
    help="What is computed between calls is measured in physical time, or in the time that the processor "
    "worked for the rank: for more ranks than there are cores, where others take turns with it.",
)
@click.option(
    "--times",
    type=click.Choice(["exact", "tallied"]),
    default="exact",
    show_default=True,
    help="Keep the time of each call, or for each place of a loop how often which times happened: small for "
    "any number of iterations.",
)
@click.option(
    "--count",
    metavar="NAMES",
    default="",
    help="Count what the rank does between calls, besides time, names with commas: instructions, cycles, "
    "flops (floating-point operations), page_faults, context_switches. What this machine cannot count is "
    "refused before anything runs.",
)
@click.option(
    "--block",
    default="5s",
    show_default=True,
    metavar="TIME",
    help="What a rank has recorded is written after this time, such as 500ms: what is lost if it is killed.",
)
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="MPIRUN … PROGRAM …")
def record(out: str | None, words: tuple[str, ...], **how) -> int:
    """Run an MPI program and record it.

    The exit status is the command's.
    """
    from pathlib import Path

    from hopcast import core
    from hopcast.errors import InputError
    from hopcast.record.run import record
    from hopcast.report import units

    block_s = core.seconds("--block", how["block"])
    if block_s < _SHORTEST_BLOCK_S:
        raise InputError(f"--block: {how['block']} is too short: at least 1ms")
    folder = Path(out) if out else _free(f"{Path(_program(words)).stem}.hct")
    tallied = how["times"] == "tallied"
    counts, mpicc = how["count"], how["mpicc"]
    recorded = record(list(words), folder, mpicc, how["clock"], tallied, block_s, counts)
    if not recorded.ranks:
        click.echo(
            f"hopcast: nothing was recorded, so there is no {folder}: no process of the command came through "
            f"MPI_Init with the recorder (an MPI other than that of {mpicc}? --mpicc names its compiler; or "
            "a launcher that does not pass LD_PRELOAD on; or a host that cannot count, which has said so), "
            "or all ended at once after it",
            err=True,
        )
        return recorded.status or 1
    size = units.size(recorded.bytes)
    click.echo(f"hopcast: {units.things(recorded.ranks, 'rank')} recorded in {folder} ({size})", err=True)
    for text in recorded.warnings:
        click.echo(f"hopcast: {text}", err=True)
    return recorded.status


_SHORTEST_BLOCK_S = 1e-3


def _program(words: tuple[str, ...]) -> str:
    """The program among the words of a command: the last one that is a file to be run, or else the last."""
    files = [word for word in words[1:] if os.path.isfile(word) and os.access(word, os.X_OK)]
    return (files or [words[-1]])[0]


def _free(name: str) -> Path:
    """A folder of this name, or with the first number that none has yet."""
    from pathlib import Path

    path = Path(name)
    number = 2
    while path.exists():
        path = Path(f"{Path(name).stem}-{number}.hct")
        number += 1
    return path
