"""`hopcast run`: a workload on a platform, a prediction."""

from __future__ import annotations

import sys
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hopcast import jobs, what_if
from hopcast.cli import arguments, exits, overrides
from hopcast.errors import InputError
from hopcast.live.library import is_executable, refuse_what_starts_programs
from hopcast.signals import leave_it_to_the_first, without_end

if TYPE_CHECKING:
    from hopcast.api import Job
    from hopcast.outcome import Report
    from hopcast.processes import Peers

_SEED_MOST = 2**64 - 1
_AS_THEY_ARE = (
    "ranks",
    "model",
    "seed",
    "placement",
    "ppn",
    "records",
    *jobs.OF_TRACES,
    "threads",
    "statistics",
    "stop_at",
    "alone",
)


@click.command(cls=arguments.RunCommand, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("platform")
@click.argument("workload")
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "-n",
    "ranks",
    type=click.IntRange(1, 2**31 - 1),
    metavar="RANKS",
    help="Number of ranks; a trace knows its own.",
)
@click.option(
    "--model", metavar="NAME", help="Network model [default: the platform's; see 'hopcast list models']."
)
@click.option(
    "--threads",
    type=click.IntRange(1),
    default=1,
    metavar="N",
    help="Threads to run on, best as many as there are free cores; under mpiexec, of each process. "
    "Never changes the result.",
)
@click.option(
    "--stop-at",
    metavar="TIME",
    help="End the run at this simulated time, such as 2.5ms, with a report of what had happened by then.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, _SEED_MOST),
    default=1,
    show_default=True,
    metavar="N",
    help="Seed of all random choices.",
)
@click.option(
    "--placement",
    metavar="NAME|FILE",
    help="Ranks to hosts: linear, cyclic, block (or block:4x3x2), random, recorded, or a file.",
)
@click.option(
    "--ppn",
    type=click.IntRange(1, 65_535),
    metavar="N",
    help="Processes per host [default: as many as a host has slots].",
)
@overrides.option
@click.option(
    "--mode",
    type=click.Choice(["dependencies", "timestamps", "none"]),
    help="How a trace is replayed [default: dependencies].",
)
@click.option(
    "--time-shift/--no-time-shift",
    default=None,
    help="In mode timestamps: delay a rank by what its late messages cost it.",
)
@click.option(
    "--ignore",
    metavar="WHAT",
    help="In mode dependencies: replay without dependencies (no call waits for another), without compute "
    "(nothing is computed between calls), or without both: dependencies,compute, which is mode none.",
)
@click.option(
    "--rematch",
    is_flag=True,
    default=None,
    help="Receives of a trace from any source take what comes first here, not the message of the recorded "
    "source.",
)
@click.option(
    "--check-clocks/--no-check-clocks",
    default=None,
    help="Warn where a replay receives a message that in the recorded run was not sent yet, by its logical "
    "clocks. Default: of traces of no more than a million calls.",
)
@click.option(
    "--compute-by",
    metavar="NAME[=RATE]",
    help="Compute between the calls of a trace not as long as was recorded, but as much as was counted there "
    "('hopcast trace record --count'): instructions=2.4e9/s. flops take the platform's compute.flop_rate if "
    "no rate is given.",
)
@click.option(
    "--compute-scale",
    type=click.FloatRange(0),
    metavar="X",
    help="Multiply the computing of a trace, in time or in operations, by X; of a program, the times of "
    "kernels and those that are measured.",
)
@click.option(
    "--records",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    metavar="N",
    help="Keep the first N MPI calls for the timeline.",
)
@click.option(
    "--statistics",
    type=click.Choice(["none", "classes", "links", "channels"]),
    metavar="DETAIL",
    help="Keep traffic over time, in the model packet: none, classes, links, channels "
    "[default: the platform's].",
)
@click.option(
    "--only",
    metavar="NAMES",
    default="",
    help="Of a file of several jobs, run these, names with commas, where they would be beside all.",
)
@click.option(
    "--alone",
    is_flag=True,
    help="Of a file of several jobs, run each by itself, too, to see how much the others slow it down.",
)
@click.option(
    "--compute",
    metavar="HOW",
    help="What computing between the MPI calls of a compiled program costs: measured, or measured=X, the "
    "time on this CPU times X, freed of its noise; profile=FILE, what FILE says, which is measured in the "
    "first run and the same in all others; none [default: measured].",
)
@click.option(
    "--compute-rates",
    type=click.Choice(["this-machine", "platform"]),
    help="How fast the platform's cores compute what is measured: as fast as this machine, or by the rates "
    "of both: the peak of a core, and for memory, which a profile knows, its bandwidth [default: "
    "this-machine].",
)
@click.option(
    "--compute-noise/--no-compute-noise",
    default=None,
    help="Times of a profile are drawn from its distributions instead of being their centres.",
)
@click.option(
    "--stack-size",
    metavar="SIZE",
    help="Room for the stack of each rank of a compiled program, such as 64MiB [default: 8MiB].",
)
@click.option(
    "--kernels",
    type=click.Choice(["platform", "run", "skip", "off"]),
    help="Functions of a compiled program whose time the platform gives in [[compute.kernels]]: do they run? "
    "As the platform says, all or none of them; off: as if it gave none [default: platform].",
)
@click.option(
    "--fold-memory",
    metavar="SIZE",
    help="Fold large allocations of a compiled program onto one block of this size, such as 64KiB, which all "
    "ranks share: their contents mean nothing, and take no memory.",
)
@click.option(
    "--fold-above", metavar="SIZE", help="Fold only allocations of at least this size [default: 1MiB]."
)
@click.option(
    "--fold-site", metavar="FUNCTIONS", help="Fold only what these functions allocate, names with commas."
)
@click.option(
    "--fold-private",
    metavar="FUNCTIONS",
    help="Of what these functions allocate, each rank keeps the pages that it writes.",
)
@click.option(
    "--isolation",
    type=click.Choice(["globals", "process", "none"]),
    help="What each rank of a compiled program has of its own: its global variables; a process, for "
    "programs with threads or at fixed addresses; or nothing, for programs that write to no variable "
    "[default: globals, or process where the program is not position-independent].",
)
@click.option(
    "--verbose",
    is_flag=True,
    default=None,
    help="Say what becomes of each library of a compiled program.",
)
@click.option(
    "--debug-rank",
    type=click.IntRange(0),
    metavar="RANK",
    help="Start the run in gdb, which stops in the main of this rank of a compiled program.",
)
@click.option(
    "--tool",
    metavar="COMMAND",
    help="Start the process of a compiled program's ranks with this before it, such as 'valgrind -q'.",
)
@click.option(
    "--what-if",
    is_flag=True,
    help="Simulate the changes of the platform or placement that the report proposes, one run each, instead "
    "of estimating what they save.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write report.html, report.json and the tables here.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print report.json on standard output instead of the screen."
)
@click.option("--quiet", is_flag=True, help="No progress, and one line instead of the screen.")
def command(platform: str, workload: str, args: tuple[str, ...], **flags) -> int:
    """Predict how long WORKLOAD takes on PLATFORM.

    PLATFORM is a preset ('hopcast list platforms') or a TOML file. WORKLOAD is a pattern with its
    arguments (halo3d --bytes 64KiB; 'hopcast list patterns'), a compiled MPI program, an mpi4py program
    or a Python rank program (./app or program.py, then its own arguments), a recorded trace (a file,
    a directory, or a tar archive), or a TOML file of several jobs that run at the same time.
    """
    from hopcast import processes

    peers = processes.peers()
    try:
        job = _job(platform, workload, args, flags)
        report = _simulate(job, peers, flags)
    except InputError as error:
        if peers is not None:
            peers.tell(error)
        raise
    if report is None:
        leave_it_to_the_first()
        return exits.DONE
    if flags["what_if"] and peers is None:
        what_if.simulated(job, report)
    interrupted = report.summary["stopped"] and report.summary["stopped"]["by"] == "interrupt"
    with without_end() if interrupted else nullcontext():
        code = _finish(report, **{name: flags[name] for name in ("out", "as_json", "quiet")})
    return exits.INTERRUPTED if interrupted else code


def _simulate(job: Job, peers: Peers | None, flags: dict) -> Report | None:
    from hopcast.api import simulate
    from hopcast.cli.progress import Progress
    from hopcast.report.store import check_target

    reports = peers is None or peers.rank == 0
    if flags["out"] is not None and reports:
        check_target(flags["out"])
    progress = Progress(enabled=reports and not flags["quiet"])
    # What a rank program prints must not stand in the JSON.
    printed = redirect_stdout(sys.stderr) if flags["as_json"] else nullcontext()
    try:
        with printed:
            return simulate(job, progress, peers)
    finally:
        progress.close()


def _job(platform: str, workload: str, args: tuple[str, ...], flags: dict) -> Job:
    """What the command line asks for. A flag that could not have an effect is an error."""
    from hopcast.api import Job
    from hopcast.live import options

    is_program = arguments.is_program(workload)
    several = not is_program and jobs.is_jobs(workload)
    is_trace = not (is_program or several) and Path(workload).exists()
    if is_trace:
        refuse_what_starts_programs(workload)
    also_of_programs = ("compute_scale",) if is_executable(workload) else ()
    for name in () if is_trace else jobs.OF_TRACES:
        if flags[name] is not None and name not in also_of_programs:
            raise InputError(f"--{name.replace('_', '-')} is for traces, and '{workload}' is none")
    if is_trace and args:
        raise InputError(f"{workload}: a trace takes no arguments, but here is '{args[0]}'")
    if several and args:
        raise InputError(f"{workload}: a file of jobs takes no arguments, but here is '{args[0]}'")
    if flags["records"] and flags["out"] is None:
        raise InputError("--records N keeps calls for the timeline, which is written with --out DIR")
    if flags["statistics"] not in (None, "none") and flags["out"] is None and not flags["as_json"]:
        raise InputError(f"--statistics {flags['statistics']} keeps tables, which are written with --out DIR")
    if flags["compute"] is not None and not (is_program or is_trace or several):
        # Patterns have a parameter of this name.
        args += ("--compute", flags["compute"])
        flags = {**flags, "compute": None}
    return Job(
        platform=platform,
        program=workload,
        args=args if is_program else (),
        kwargs={} if is_program or is_trace or several else arguments.pairs(args, workload),
        overrides=overrides.pairs_of(flags["overrides"]),
        only=tuple(name for name in flags["only"].split(",") if name),
        live=options.of(flags),
        command=("hopcast", *sys.argv[1:]),
        **{name: flags[name] for name in _AS_THEY_ARE},
    )


def _finish(report: Report, out: Path | None, as_json: bool, quiet: bool) -> int:
    """Prints what the run left, then writes it: a full disk must not cost the screen. Gives the exit code."""
    from hopcast.report import units
    from hopcast.report.store import to_json, write

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
    else:
        from hopcast.report.screen import show

        show(summary)
    if summary["failure"] and "traceback" in summary["failure"]:
        click.echo(summary["failure"]["traceback"], nl=False, err=True)
    if out is not None:
        page = write(report, out)
        if not (as_json or quiet):
            click.echo(f"Report  {page}")
    return exits.PROGRAM_FAILED if summary["failure"] else exits.DONE
