"""`hopcast run`: a workload on a platform, a prediction."""

from __future__ import annotations

import shlex
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hopcast.cli import arguments, exits, options, outputs
from hopcast.cli.request_of import request_of
from hopcast.errors import InputError
from hopcast.report.parts import KEPT
from hopcast.signals import leave_it_to_the_first

if TYPE_CHECKING:
    from hopcast.core_run import Progress
    from hopcast.processes import Peers
    from hopcast.request import RunRequest
    from hopcast.service.own_run import LivePage


@click.command(cls=arguments.RunCommand, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("platform", required=False, shell_complete=options.complete_platform)
@click.argument("workload", required=False, shell_complete=options.complete_workload)
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
@options.add_all
@outputs.flags
@click.option(
    "--request",
    "request_file",
    metavar="FILE",
    help="Run what a request in this file says, or that of a report; flags beside it replace its options.",
)
@click.option(
    "--save-request",
    metavar="FILE",
    help="Write the request of this run into a file, and run nothing.",
)
@click.option(
    "--live",
    is_flag=True,
    help="Show progress and pictures in a browser while the run goes on; keeps messages and matrices.",
)
@click.option(
    "--replicates",
    type=click.IntRange(2),
    metavar="N",
    help="Run it N times with other seeds, on all cores, and print an interval instead of the screen.",
)
@click.option(
    "--uncertain",
    multiple=True,
    metavar="KEY=PERCENT",
    help="With --replicates: draw this value of the platform anew each time, with this standard deviation; "
    "may be repeated.",
)
@click.option(
    "--cluster",
    metavar="MODEL",
    help="With --replicates: draw the processors anew each time, from this model of 'hopcast cluster'.",
)
@click.option(
    "--vary",
    metavar="SOURCE,…",
    help="With --replicates: vary these alone: seeds, fit (errors of a calibration), model (errors of "
    "programs), cluster, day, keys of --uncertain. [default: all there are]",
)
def command(
    platform: str | None,
    workload: str | None,
    args: tuple[str, ...],
    as_json: bool,
    quiet: bool,
    request_file: str | None,
    save_request: str | None,
    live: bool,
    replicates: int | None,
    uncertain: tuple[str, ...],
    cluster: str | None,
    vary: str | None,
    **flags,
) -> int:
    """Predict how long WORKLOAD takes on PLATFORM.

    PLATFORM is a preset ('hopcast list platforms') or a TOML file. WORKLOAD is a pattern with its
    arguments (halo3d --bytes 64KiB; 'hopcast list patterns'), a compiled MPI program, an mpi4py program
    or a Python rank program (./app or program.py, then its own arguments), a recorded trace (a file,
    a directory, or a tar archive), or a TOML file of several jobs that run at the same time.
    """
    from hopcast import processes

    peers = processes.peers()
    try:
        request = request_of(platform, workload, args, flags, request_file)
        out = request.options.get("out") and Path(request.directory or ".") / request.options["out"]
        if live and replicates is not None:
            raise InputError("--live shows one run: leave it out with --replicates")
        if live:
            request = _kept_for_pictures(request, peers)
        _check_kept(request, as_json, quiet)
        if replicates is not None:
            options.check_several(request.options, "--replicates")
        if save_request is not None and replicates is not None:
            raise InputError("--save-request keeps a run, and not how often it is repeated")
        if save_request is not None:
            if peers is None or peers.rank == 0:
                request.save(save_request)
            return exits.DONE
        if replicates is not None:
            given = (uncertain, cluster, vary.split(",") if vary else [])
            return _replicated(request, replicates, given, as_json, quiet)
        for name, value in (("--uncertain", uncertain), ("--cluster", cluster), ("--vary", vary)):
            if value:
                raise InputError(f"{name} says what --replicates N draws anew")
        with request.inside(), _shown(request, out) if live and out else nullcontext() as watcher:
            return _run(request, peers, out and out.absolute(), as_json, quiet, watcher)
    except InputError as error:
        if peers is not None:
            peers.tell(error)
        raise


def _replicated(
    request: RunRequest,
    count: int,
    given: tuple[tuple[str, ...], str | None, list[str]],
    as_json: bool,
    quiet: bool,
) -> int:
    """Prints the interval of replicates; `given`: uncertain values, model of a cluster, sources to vary."""
    import json
    from dataclasses import asdict

    from hopcast.experiment import runners
    from hopcast.study import replicates, replicates_page, uncertainty

    uncertain, cluster, vary = given
    spreads = uncertainty.spreads_of(uncertain)
    model = None if cluster is None else Path(cluster).absolute()
    with request.inside():
        found = replicates.predict(
            request,
            count,
            spreads,
            runners.named("local", runners.Settings()),
            cluster=model,
            vary=vary,
            quiet=quiet,
        )
        click.echo(json.dumps(asdict(found), indent=2) if as_json else "\n".join(found.lines()))
        if request.options.get("out"):
            page = replicates_page.write(found, request, Path(request.options["out"]))
            if not as_json:
                click.echo(f"Page   {page}")
    return exits.DONE


def _run(
    request: RunRequest,
    peers: Peers | None,
    out: Path | None,
    as_json: bool,
    quiet: bool,
    watcher: Progress | None,
) -> int:
    report = outputs.simulate(request, peers, out, as_json, quiet, watcher)
    if report is None:
        leave_it_to_the_first()
        return exits.DONE
    return outputs.finish(report, out, as_json, quiet)


_LIVE_ROWS = 20_000
"""Rows of messages and matrices that are kept for the pictures of a live page."""


def _kept_for_pictures(request: RunRequest, peers: Peers | None) -> RunRequest:
    """The request with the tables that a live page draws."""
    from hopcast import service

    service.check_installed()
    if peers is not None:
        raise InputError("--live: it shows a run of one process; start it without mpiexec")
    if "out" not in request.options:
        raise InputError("--live shows rows that a run writes with its report, whose place is --out DIR")
    return request.changed(**{name: _LIVE_ROWS for name in KEPT if not request.options.get(name)})


def _shown(request: RunRequest, out: Path) -> LivePage:
    """The live page of a run, which opens in a browser where there is a screen for one."""
    from hopcast.service.own_run import LivePage

    browser = sys.stderr.isatty()
    title = shlex.join(request.command[1:]) or "run"
    return LivePage(out.absolute(), title, request.options.get("ranks"), browser)


def _check_kept(request: RunRequest, as_json: bool, quiet: bool) -> None:
    """Refuses what is kept for files or a screen that nobody asks for."""
    options = request.options
    if options.get("profile_simulator") and quiet and not as_json and "out" not in options:
        raise InputError(
            "--profile-simulator: --quiet prints no profile: take --json or --out DIR, or leave --quiet out"
        )
    if options.get("records") and "out" not in options:
        raise InputError("--records N keeps calls for the timeline, which is written with --out DIR")
    for name in KEPT:
        if options.get(name) and "out" not in options:
            raise InputError(f"--{name.replace('_', '-')} keeps tables, which are written with --out DIR")
    if options.get("statistics", "none") != "none" and "out" not in options and not as_json:
        raise InputError(
            f"--statistics {options['statistics']} keeps tables, which are written with --out DIR"
        )
