"""The command `hopcast`: arguments in, one screen or one JSON document out.

`main` is the entry point. Each subcommand is a module of its own that is read only when it is called,
so that `hopcast --help` stays fast.
"""

from __future__ import annotations

import importlib
import io
import os
import signal
import sys

import click

from hopcast import __version__
from hopcast._core import PROFILE
from hopcast.cli.exits import ReaderGone, guarded
from hopcast.processes import is_silent

_COMMANDS = {
    "run": ("hopcast.cli.run", "Predict how long a workload takes on a platform."),
    "rerun": ("hopcast.cli.rerun", "Run what made a report again, and compare the outcomes."),
    "request": ("hopcast.cli.request", "Show the format of requests of runs."),
    "cc": ("hopcast.cli.compilers", "Compile an MPI program in C for 'hopcast run'."),
    "cxx": ("hopcast.cli.compilers", "Compile an MPI program in C++ for 'hopcast run'."),
    "fc": ("hopcast.cli.compilers", "Compile an MPI program in Fortran for 'hopcast run'."),
    "compare": ("hopcast.cli.compare", "Set two reports side by side."),
    "watch": ("hopcast.cli.watch", "Follow a run that goes on, by the rows that it writes."),
    "study": ("hopcast.cli.study", "Run a workload over what a file varies, and compare."),
    "experiment": ("hopcast.cli.experiment", "Run experiments on machines, or simulated, into archives."),
    "serve": ("hopcast.cli.serve", "Submit, watch, read and share runs in a browser."),
    "submit": ("hopcast.cli.submit", "Submit a run to a server."),
    "fetch": ("hopcast.cli.fetch", "Fetch a run of a server with its report."),
    "list": ("hopcast.cli.listing", "List what hopcast knows: platforms, topologies, models, …"),
    "topology": ("hopcast.cli.topology", "Count, measure and draw a network."),
    "scale": ("hopcast.cli.scale", "Say how far a workload scales, and why no further."),
    "tune": ("hopcast.cli.tune", "Find the algorithms of collectives that suit a platform."),
    "place": ("hopcast.cli.place", "Find places for the ranks of a workload."),
    "trace": ("hopcast.cli.trace", "Record a run of an MPI program; look into recorded runs."),
    "platform": ("hopcast.cli.platform", "Show platforms and the format of their files."),
    "calibrate": ("hopcast.cli.calibrate", "Fit a platform to measurements of a machine."),
    "cluster": ("hopcast.cli.cluster", "Fit how processors differ, and draw clusters like it."),
    "regress": ("hopcast.cli.regress", "Watch series of measurements, and say when one has changed."),
}


class _Commands(click.Group):
    """Subcommands by name; their modules are imported when needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(_COMMANDS[cmd_name][0])
        return getattr(module, cmd_name, None) or module.command

    def resolve_command(self, ctx: click.Context, args: list[str]):
        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            ctx.fail(f"unknown command '{args[0]}'; known: {', '.join(_COMMANDS)}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise ReaderGone from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in _COMMANDS.items()])


# "%%" is a "%" of click's message.
_BUILD = {
    "fast": "built for speed",
    "release": "built quickly: runs take some 10 %% longer than after 'make fast'",
}.get(PROFILE or "", "built without make")


@click.command(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="hopcast", message=f"%(prog)s %(version)s, {_BUILD}")
def commands() -> None:
    """hopcast forecasts how long an MPI application takes on a machine that you do not have."""


def main() -> None:
    """Runs the command line and ends the process with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that cannot show "µ" shows "?"
    if is_silent():
        sys.stdout = sys.stderr = open(os.devnull, "w", errors="replace")  # noqa: SIM115 - until the process ends
    if hasattr(signal, "SIGUSR1"):
        # A question to a run that does not listen yet, or no more, must not end it.
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    sys.exit(guarded(lambda: commands.main(prog_name="hopcast", standalone_mode=False)))
