"""`run`: a workload on a platform, a prediction."""

from __future__ import annotations

import contextlib
import json
import math
import numbers
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopcast import _core, jobs, provenance, standing
from hopcast import what_if as what_ifs
from hopcast.errors import DeadlockError, InputError, InternalError, Interrupted, ProgramError, ProgramFailure
from hopcast.live.library import is_executable, is_mpi4py_program, refuse_what_starts_programs
from hopcast.live.options import NAMES, Options
from hopcast.outcome import Report, Tables
from hopcast.signals import Signals

if TYPE_CHECKING:
    from hopcast.processes import Peers

DEFAULT_SEED = 1
"""Of all random streams, where none is given."""

_MOST_THREADS = 1024
"""More are of no use."""


def run(
    platform: str | os.PathLike,
    program: Callable | str | os.PathLike,
    ranks: int | None = None,
    args: Iterable = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    model: str | None = None,
    seed: int = DEFAULT_SEED,
    placement: str | os.PathLike | None = None,
    ppn: int | None = None,
    set: Mapping[str, Any] | None = None,
    compute_scale: float | None = None,
    records: int = 0,
    mode: str | None = None,
    time_shift: bool | None = None,
    ignore: str | None = None,
    rematch: bool | None = None,
    check_clocks: bool | None = None,
    compute_by: str | None = None,
    threads: int = 1,
    statistics: str | None = None,
    stop_at: str | None = None,
    only: Iterable[str] = (),
    alone: bool = False,
    live: Options | Mapping[str, Any] | None = None,
    what_if: bool = False,
    out: str | os.PathLike | None = None,
    quiet: bool = True,
) -> Report:
    """Predicts how long `program` takes on `platform`.

    platform: a preset's name, or the path of a platform file.
    program: a function of a communicator, which runs once per rank as `program(comm, *args, **kwargs)`;
        the path of a compiled MPI program, of a program file in Python (`args` become its arguments), of a
        recorded trace (a folder, a file, a tar archive) or of a file of several jobs (see `hopcast.jobs`);
        or the name of a synthetic pattern: `kwargs` (`{"bytes": "64 B"}`) or `args` (`["--bytes", "64 B"]`).
    ranks: how many; a trace knows by itself, and so does each of several jobs.
    model, seed: the network model, where it is not the platform's own; of all random streams.
    placement, ppn: its name ("linear", "block:4x3x2"), or a file; ranks per host [as many as it has slots].
    set: values of the platform to override, by `section.key`: numbers, texts, lists, and dicts for entries.
    compute_scale: factor on the computing of a trace, or of kernels and what is measured of a program [1].
    records: how many MPI calls to keep, for the timeline.
    mode to compute_by (of a trace), live (a dict of a program's flags): see `hopcast run --help`.
    only, alone (of several jobs): the names of those that run; whether to run each by itself, too.
    threads: to run on; they never change the result. A program of ranks in Python runs on one.
    statistics: what the packet model keeps of traffic over time: "classes", "links" or "channels".
    stop_at: a simulated time, such as "2.5 ms", at which the run ends, with a report of what had happened.
    what_if: whether to simulate the changes that the report proposes, one run each (`report.what_if`).
    out, quiet: a directory for report.html, report.json and the tables; whether to show no progress.

    Raises `InputError`; `ProgramFailure`, such as `DeadlockError`, with its `report`; `Interrupted` (Ctrl-C).
    """
    replay = {"mode": mode, "time_shift": time_shift, "ignore": ignore, "rematch": rematch}
    replay |= {"check_clocks": check_clocks, "compute_by": compute_by, "compute_scale": compute_scale}
    how = {"model": model, "seed": seed, "threads": threads, "statistics": statistics, "stop_at": stop_at}
    job = Job(
        os.fspath(platform),
        program,
        ranks,
        tuple(args),
        dict(kwargs or {}),
        placement=None if placement is None else os.fspath(placement),
        ppn=ppn,
        overrides=[(key, _toml(value)) for key, value in (set or {}).items()],
        records=records,
        live=_options(live),
        **(replay | how | {"only": tuple(only), "alone": alone}),
    )
    return _reported(job, what_if, out, quiet)


def _options(live: Options | Mapping[str, Any] | None) -> Options:
    if not isinstance(live, Mapping):
        return live or Options()
    unknown = [name for name in live if name not in NAMES]
    if unknown:
        raise InputError(
            f"live: unknown option '{unknown[0]}' of compiled programs; known: {', '.join(NAMES)}"
        )
    return Options(**live)


def _reported(job: Job, what_if: bool, out: str | os.PathLike | None, quiet: bool) -> Report:
    if out is not None:
        from hopcast.report.store import check_target

        check_target(Path(out))
    report = simulate(job) if quiet else _simulate_watched(job)
    if what_if:
        what_ifs.simulated(job, report)
    if out is not None:
        report.save(out)
    raise_failure(report)
    return report


def _simulate_watched(job: Job) -> Report:
    from hopcast.cli.progress import Progress

    progress = Progress()
    try:
        return simulate(job, progress)
    finally:
        progress.close()


@dataclass
class Job:
    """What a user asks for; see `run`."""

    platform: str
    program: Callable | str | os.PathLike
    ranks: int | None = None
    args: tuple = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    model: str | None = None
    seed: int = DEFAULT_SEED
    placement: str | None = None
    ppn: int | None = None
    overrides: list[tuple[str, str]] = field(default_factory=list)
    records: int = 0
    mode: str | None = None
    time_shift: bool | None = None
    ignore: str | None = None
    rematch: bool | None = None
    check_clocks: bool | None = None
    compute_by: str | None = None
    compute_scale: float | None = None
    threads: int = 1
    statistics: str | None = None
    stop_at: str | None = None
    only: tuple[str, ...] = ()
    alone: bool = False
    live: Options = field(default_factory=Options)
    command: tuple[str, ...] = ()
    """The words of the command line that asks for it, if one does."""


def simulate(
    job: Job,
    progress: Callable[[float, int, float | None], None] | None = None,
    peers: Peers | None = None,
) -> Report | None:
    """Runs `job`; a failure of the simulated program, or Ctrl-C, stands in the report and raises nothing.

    progress: is told now and then the simulated time [s], the events so far, and the share done [0..1],
        None where that is not known.
    peers: the other processes of the run, if there are any: all but the first get no report.
    """
    report = _simulate(job, progress, peers)
    if report is not None:
        provenance.add(report, job)
    return report


def _simulate(job: Job, progress: Callable | None, peers: Peers | None) -> Report | None:
    _check_ranks(job.ranks)
    scale = job.compute_scale
    if scale is not None and not (math.isfinite(scale) and scale >= 0):
        raise InputError(f"compute-scale: a finite factor of 0 or more, not {scale}")
    _check_options(job)
    _check_text("the platform", job.platform)
    _check_text("placement", job.placement or "")
    request = {
        "platform": job.platform,
        "overrides": job.overrides,
        "ranks": job.ranks,
        "model": job.model,
        "seed": job.seed,
        "placement": job.placement,
        "ppn": job.ppn,
        "records": job.records,
        "replay": {name: getattr(job, name) for name in jobs.OF_TRACES},
        "threads": min(job.threads, _MOST_THREADS),
        "statistics": job.statistics,
        "stop_at": job.stop_at,
        "jobs": [],
        "only": [],
    }
    watch = _Watch(Signals(progress), peers)
    if callable(job.program):
        name = getattr(job.program, "__name__", type(job.program).__name__)
        return _simulate_function(request, name, job.program, job, watch)
    name = os.fspath(job.program)
    if is_executable(name) or is_mpi4py_program(name):
        _refuse_arguments(name, job.kwargs, "a program of its own takes 'args', as on its command line")
        return _simulate_executable(request, name, job, progress, peers)
    if name.endswith(".py"):
        from hopcast.program.load import arguments, load

        with arguments(name, job.args):
            function = load(name)
            plain = Job(job.platform, function, job.ranks, (), job.kwargs)
            title = " ".join((Path(name).name, *map(str, job.args)))
            return _simulate_function(request, title, function, plain, watch)
    if jobs.is_jobs(name):
        return _simulate_jobs(request, name, job, watch)
    if _is_trace(name):
        refuse_what_starts_programs(name)
        _check_text("the trace", name)
        _refuse_arguments(name, (*job.args, *job.kwargs), "a trace takes no arguments")
        return _simulate_trace(request, name, watch)
    _check_text("the workload", name)
    written = _pattern_arguments(name, job)
    request |= {"workload": "pattern", "name": name, "arguments": written}
    with watch.signals:
        return _report(_core_run(request, None, watch))


def _refuse_arguments(name: str, given: Iterable, why: str) -> None:
    first = next(iter(given), None)
    if first is not None:
        raise InputError(f"{name}: {why}, but here is '{first}'")


def _pattern_arguments(name: str, job: Job) -> list[tuple[str, str]]:
    from hopcast.cli.arguments import pairs

    written = {key.replace("_", "-"): str(value) for key, value in job.kwargs.items()}
    for key, value in pairs([str(word) for word in job.args], name).items():
        if key in written:
            raise InputError(f"{name}: {key} is given twice, in 'args' and in 'kwargs'")
        written[key] = value
    return list(written.items())


def _simulate_executable(request: dict, name: str, job: Job, progress, peers: Peers | None) -> Report:
    from hopcast.live import run as live

    if peers is not None:
        raise InputError(f"{name}: the ranks of an MPI program share one process; start it without mpiexec")
    return live.simulate(request, [name, *map(str, job.args)], job.live, progress)


@dataclass(frozen=True)
class _Watch:
    """Who is told of a run while it is under way, and the other processes that run it, if there are any."""

    signals: Signals
    peers: Peers | None


def _check_options(job: Job) -> None:
    """What is of the wrong kind, or would be ignored, is refused."""
    wanted = (
        ("seed", job.seed, 0),
        ("ppn", job.ppn, 1),
        ("records", job.records, 0),
        ("threads", job.threads, 1),
    )
    for name, value, least in wanted:
        whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
        if not (value is None and name == "ppn") and not (whole and value >= least):
            raise InputError(f"{name}: a whole number of at least {least}, not {value!r}")
    several = not callable(job.program) and jobs.is_jobs(job.program)
    for name in ("only", "alone"):
        if getattr(job, name) and not several:
            raise InputError(f"{name}: it is for a file of several jobs, and this is none")
    if not isinstance(job.model, str | None):
        raise InputError(f"model: a name such as 'flow', not {job.model!r}")
    if not isinstance(job.stop_at, str | None):
        raise InputError(f"stop_at: a time with its unit such as '2.5 ms', not {job.stop_at!r}")
    compiled = not callable(job.program) and (
        is_executable(os.fspath(job.program)) or is_mpi4py_program(os.fspath(job.program))
    )
    if not compiled:
        for name in NAMES:
            if getattr(job.live, name) is not None:
                name = name.replace("_", "-")
                raise InputError(f"{name}: it is for compiled and mpi4py programs, and this is none")
    if callable(job.program) or not _is_trace(os.fspath(job.program)):
        for name in jobs.OF_TRACES:
            if getattr(job, name) is None or (compiled and name == "compute_scale"):
                continue
            if name == "compute_scale":
                raise InputError(f"{name}: it is for recorded traces and compiled programs; this is neither")
            raise InputError(f"{name}: it says how a recorded trace is replayed; this is not one")


def _is_trace(name: str) -> bool:
    """Whether the workload called `name` is a recording: any existing path that is no program."""
    other = name.endswith(".py") or is_executable(name) or jobs.is_jobs(name)
    return not other and Path(name).exists()


def _check_text(what: str, name: str) -> None:
    """Refuses a name in bytes that are no text."""
    if not name.isascii() and os.fsencode(name) != name.encode(errors="replace"):
        raise InputError(f"{what}: its name is no text in UTF-8: {os.fsencode(name)!r}")


_RANKS_MOST = 2**31 - 1
"""As in MPI, whose ranks are C's int."""


def _check_ranks(ranks: int | None) -> None:
    if ranks is None:
        return
    if not isinstance(ranks, numbers.Integral) or isinstance(ranks, bool):
        raise InputError(f"ranks: a whole number, not {ranks!r}")
    if not 1 <= ranks <= _RANKS_MOST:
        raise InputError(f"ranks: a run has 1 to {_RANKS_MOST} ranks, not {ranks}")


def _simulate_trace(request, name: str, watch: _Watch) -> Report | None:
    from hopcast.archive import opened

    with opened(name) as place, watch.signals:
        request |= {"workload": "trace", "name": place, "arguments": []}
        ended = _core_run(request, None, watch)
        if ended is not None:
            outcome, *rest = ended
            ended = (outcome.replace(place, name), *rest)
        return _report(ended)


def _simulate_jobs(request, name: str, job: Job, watch: _Watch) -> Report | None:
    if job.kwargs or job.args:
        raise InputError(f"{name}: a file of jobs takes no arguments; each job has its own")
    if job.alone and watch.peers is not None:
        raise InputError("alone: it makes one run after the other; start it without mpiexec")
    with contextlib.ExitStack() as stack:
        request |= {"workload": "jobs", "name": name, "arguments": [], "jobs": jobs.read(name, stack)}
        stack.enter_context(watch.signals)
        report = _report(_core_run(request | {"only": list(job.only)}, None, watch))
        if report is None or report.stopped or not job.alone:
            return report
        for one in report.summary["jobs"]:
            by_itself = _report(_core_run(request | {"only": [one["name"]]}, None, watch))
            one["alone_s"] = by_itself.summary["jobs"][0]["makespan_s"]
            known = one["alone_s"] and one["makespan_s"]
            one["slowdown"] = one["makespan_s"] / one["alone_s"] if known else None
    return report


def _simulate_function(request, name, function, job: Job, watch: _Watch) -> Report | None:
    from hopcast.program import process

    if job.ranks is None:
        raise InputError("ranks: how many? A program needs a number of ranks (-n RANKS)")
    program = process.Program(function, job.ranks, job.args, job.kwargs)
    request |= {"workload": "program", "name": name, "arguments": []}
    with process.running(program), watch.signals:
        ended = _core_run(request, program, watch)
        if ended is None:
            return None
        *_, error, unfinished = ended
        process.end_all(unfinished)
    report = _report(ended)
    report.results = program.results
    if error is not None:
        _add_error(report, *error)
    return report


def _core_run(request: dict, program, watch: _Watch):
    """The core's run; what it says of itself becomes an exception of this package.

    Gives report, tables, what left a rank function, and greenlets that have not finished; `None` in a
    process that does not report.
    """
    try:
        return _core.run(request, program, watch.signals, watch.peers)
    except InputError as error:
        error.all_know = True
        raise
    except BaseException as error:
        if watch.peers is not None:
            watch.peers.end_all()
        # A failed assertion of the core arrives as an exception that is no Exception.
        if type(error).__name__ == "PanicException":
            raise InternalError(f"hopcast's own check failed; please report this: {error}") from error
        raise


def _report(ended: tuple | None) -> Report | None:
    if ended is None:
        return None
    outcome, tables, *_ = ended
    return Report(json.loads(outcome), Tables(tables))


def _add_error(report: Report, rank: int, at_s: float, error: BaseException) -> None:
    """An exception that left a rank function is the program's failure."""
    from hopcast.program.process import place_of_error, traceback_of_error

    report.error = error
    if isinstance(error, KeyboardInterrupt):  # a second Ctrl-C broke the rank off
        stopped = {"by": "interrupt", "at_s": at_s, "behind": []}
        report.summary |= {"failure": None, "partial": True, "stopped": stopped}
        return
    place = place_of_error(error)
    text = f"rank {rank} raised {type(error).__name__} at {at_s:.9g} s: {error}"
    report.summary["failure"] = {
        "kind": "exception",
        "text": text,
        "ranks": [
            {
                "rank": rank,
                "call": "",
                "since_s": at_s,
                "waits_for": "",
                "waits_for_ranks": [],
                "place": place,
            }
        ],
        "traceback": traceback_of_error(error),
    }


def raise_failure(report: Report) -> None:
    """Raises what a report says of a failed or stopped run."""
    if report.stopped and report.stopped["by"] == "interrupt":
        raise Interrupted(report) from report.error
    failure = report.failure
    if not failure:
        return
    lines = [failure["text"], *map(_stuck, standing.grouped(failure["ranks"], _STUCK))]
    if failure["kind"] == "exception":
        raise ProgramError("\n".join(lines), report) from report.error
    kind = DeadlockError if failure["kind"] == "deadlock" else ProgramFailure
    raise kind("\n".join(lines), report)


_STUCK = 16
"""Most ranks that are listed one by one; more are grouped by call and place."""


def _stuck(rank: dict) -> str:
    waits = f", waits for {rank['waits_for']}" if rank["waits_for"] else ""
    since = f"{rank['since_s']:.9g} s"
    return f"  {standing.words(rank, since)}{waits}"


def _toml(value: Any) -> str:
    """A value as a platform file writes it; texts as they are."""
    return value if isinstance(value, str) else _toml_inside(value)


def _toml_inside(value: Any) -> str:
    """A value inside another one, where texts have quotes."""
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_toml_inside, value)) + "]"
    if isinstance(value, Mapping):
        return (
            "{" + ", ".join(f"{json.dumps(key)} = {_toml_inside(item)}" for key, item in value.items()) + "}"
        )
    return str(value)
