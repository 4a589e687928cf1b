"""Output of the commands that run a simulation: on the screen and in files."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hopcast.cli import exits
from hopcast.signals import without_end, writing

if TYPE_CHECKING:
    from hopcast.core_run import Progress
    from hopcast.outcome import Report
    from hopcast.processes import Peers
    from hopcast.progress import ProgressLine
    from hopcast.request import RunRequest


_OF_THE_PLATFORM = ("the platform '", "memory: the work names the bytes")
"""Beginnings of warnings about what a platform leaves out, which are the same in every run on it."""


def flags(command: Callable) -> Callable:
    """Gives a command the flags `--json` and `--quiet`."""
    text = "Print report.json on standard output instead of the screen."
    command = click.option(
        "--quiet",
        is_flag=True,
        help="No progress, and one line instead of the screen; warnings about the run on standard error.",
    )(command)
    return click.option("--json", "as_json", is_flag=True, help=text)(command)


def check_files(*files: Path | None) -> None:
    """Refuses places of files that cannot be written, before anything runs."""
    from hopcast.errors import InputError

    for file in files:
        if file is not None and not file.absolute().parent.is_dir():
            raise InputError(f"{file}: cannot be written: there is no folder {file.parent}")


def simulate(
    request: RunRequest,
    peers: Peers | None,
    out: Path | None,
    as_json: bool,
    quiet: bool,
    watcher: Progress | None = None,
) -> Report | None:
    """Runs a request with progress on standard error; None in a process that does not report.

    watcher: is told of the progress, too.
    """
    from hopcast.api import simulate
    from hopcast.progress import ProgressLine
    from hopcast.report import simulator
    from hopcast.report.parts import Parts
    from hopcast.report.store import check_target

    start_s, memory_B = simulator.age(), simulator.Moment.now().memory_B
    reports = peers is None or peers.rank == 0
    if out is not None and reports:
        check_target(out)
    progress = ProgressLine(enabled=reports and not quiet)
    try:
        with _printed(request, as_json, reports):
            parts = Parts.of(request, out, peers.rank if peers else 0)
            report = simulate(request, _both(progress, watcher), peers, parts)
            if report is not None:
                simulator.add_start(report.summary, start_s, memory_B)
            if report is not None and request.options.get("what_if") and peers is None:
                from hopcast import what_if

                what_if.simulated(request, report)
    finally:
        progress.close()
    return report


@contextmanager
def _printed(request: RunRequest, as_json: bool, reports: bool) -> Iterator[None]:
    """Directs what a rank program prints: not into the JSON, and errors in silent processes to the user."""
    error = sys.stderr
    if not reports and request.workload["kind"] == "function":
        error = sys.__stderr__ or error
    with redirect_stderr(error), redirect_stdout(error if as_json else sys.stdout):
        yield


def _both(progress: ProgressLine, watcher: Progress | None) -> Progress:
    """Tells the line of progress, and whoever else watches."""
    if watcher is None:
        return progress

    def both(simulated_s: float, events: int, share: float | None) -> None:
        progress(simulated_s, events, share)
        watcher(simulated_s, events, share)

    return both


def finish(report: Report, out: Path | None, as_json: bool, quiet: bool) -> int:
    """Prints what the run left, then writes it: a full disk must not cost the screen. Gives the exit code."""
    if out is not None:
        from hopcast.report import arrow

        arrow.leave_pandas()
    stopped = report.summary["stopped"]
    if not stopped or stopped["by"] != "interrupt":
        with writing():
            return _finish(report, out, as_json, quiet)
    with without_end():
        _finish(report, out, as_json, quiet)
    return exits.INTERRUPTED


def _finish(report: Report, out: Path | None, as_json: bool, quiet: bool) -> int:
    from hopcast.report import units
    from hopcast.report.store import to_json

    summary = report.summary
    if as_json:
        click.echo(to_json(summary), nl=False)
    elif quiet:
        line = f"{units.seconds(summary['makespan_s'])}  outcome {summary['outcome_hash']}"
        if summary["failure"]:
            line += f"  failed: {summary['failure']['text'].partition(chr(10))[0]}"
        elif summary["partial"]:
            line += "  partial"
        click.echo(line)
        for warning in summary["warnings"]:
            if not warning.startswith(_OF_THE_PLATFORM):
                click.echo(f"warning: {warning}", err=True)
    else:
        from hopcast.report.screen import show

        show(summary)
    if summary["failure"] and "traceback" in summary["failure"]:
        click.echo(summary["failure"]["traceback"], nl=False, err=True)
    if out is not None:
        page = report.save(out)
        if not (as_json or quiet):
            click.echo(f"Report  {page}")
    return exits.PROGRAM_FAILED if summary["failure"] else exits.DONE
