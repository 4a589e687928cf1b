"""`run`: a workload on a platform, a prediction."""

from __future__ import annotations

import inspect
import os
import textwrap
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopcast import options, provenance, standing, what_if as what_ifs, workloads
from hopcast.core_run import Progress, Watch
from hopcast.errors import DeadlockError, InputError, Interrupted, ProgramError, ProgramFailure
from hopcast.outcome import Report
from hopcast.report.parts import Parts
from hopcast.request import RunRequest
from hopcast.signals import Signals

if TYPE_CHECKING:
    from hopcast.processes import Peers


def run(
    platform: str | os.PathLike | Mapping[str, str] | RunRequest,
    program: Callable | str | os.PathLike | None = None,
    ranks: int | None = None,
    args: Iterable = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    live: Mapping[str, Any] | None = None,
    quiet: bool = True,
    progress: Progress | None = None,
    **given: Any,
) -> Report:
    """Predicts how long `program` takes on `platform`.

    platform: a preset's name, the path of a platform file, or `{"toml": its text}`; or a `RunRequest`, which
        says all but quiet and progress.
    program: a function of a communicator, which runs once per rank as `program(comm, *args, **kwargs)`;
        the path of a compiled MPI program, of a program file in Python (`args` become its arguments), of a
        recorded trace (a folder, a file, a tar archive) or of a file of several jobs (see
        `hopcast.workloads.jobs`); or the name of a synthetic pattern, with `kwargs` (`{"bytes": "64 B"}`) or
        `args` (`["--bytes", "64 B"]`).
    live: options of compiled programs as a dict, instead of as keywords.
    quiet: whether to show no progress on standard error.
    progress: is told now and then the simulated time [s], the events so far, and the share done [0..1], None
        where that is not known; at the end of a run that was not stopped, the share 1.

    Options, as on the command line (`hopcast run --help`):

    {options}

    Other threads of Python run meanwhile, and may simulate, too, unless `program` is a function.

    Raises `InputError`; `ProgramFailure`, such as `DeadlockError`, with its `report`; `Interrupted` (Ctrl-C).
    """
    if isinstance(platform, RunRequest):
        if program is not None or ranks is not None or args or kwargs or live or given:
            raise InputError("a request says all of its run: change it with RunRequest.changed(option=value)")
        return _reported(platform, quiet, progress)
    if program is None:
        raise TypeError("run() needs a program: a function, a file, or the name of a pattern")
    request = RunRequest.of(platform, program, args, kwargs, ranks=ranks, **_with_live(live, given))
    return _reported(request, quiet, progress)


def _with_live(live: Mapping[str, Any] | None, given: dict[str, Any]) -> dict[str, Any]:
    known = [name for name, option in options.table().items() if option.workloads[0] == "compiled"]
    for name in live or {}:
        if name not in known:
            raise InputError(f"live: unknown option '{name}' of compiled programs; known: {', '.join(known)}")
    return given | dict(live or {})


def _document() -> None:
    """Completes the text and the signature of `run` by the table of options."""
    texts = [
        textwrap.fill(
            f"{option.name}: {option.help}", 110, initial_indent="    ", subsequent_indent="        "
        )
        for option in options.table().values()
        if option.name != "ranks"
    ]
    run.__doc__ = (run.__doc__ or "").replace("    {options}", "\n".join(texts))
    own = inspect.signature(run)
    keywords = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None)
        for name in options.table()
        if name not in own.parameters
    ]
    first = [
        parameter for parameter in own.parameters.values() if parameter.kind is not parameter.VAR_KEYWORD
    ]
    setattr(run, "__signature__", own.replace(parameters=[*first, *keywords]))  # noqa: B010 - for inspect


_document()


def _reported(request: RunRequest, quiet: bool, progress: Progress | None) -> Report:
    out = request.options.get("out")
    with request.inside():
        if out is not None:
            from hopcast.report.store import check_target

            check_target(Path(out))
        parts = Parts.of(request, out and Path(out))
        simulate_so = simulate if quiet else _simulate_watched
        report = simulate_so(request, progress, parts=parts)
        assert report is not None, "the only process of a run has its report"
        if request.options.get("what_if"):
            what_ifs.simulated(request, report)
        if out is not None:
            report.save(out)
    raise_failure(report)
    if report.is_asked_to_stop:
        # It was whole by then; what follows it is not to begin.
        raise Interrupted(report)
    return report


def _simulate_watched(request: RunRequest, progress: Progress | None, parts: Parts | None) -> Report | None:
    from hopcast.progress import ProgressLine

    line = ProgressLine()

    def both(*state: Any) -> None:
        line(*state)
        if progress is not None:
            progress(*state)

    try:
        return simulate(request, both, parts=parts)
    finally:
        line.close()


def simulate(
    request: RunRequest,
    progress: Progress | None = None,
    peers: Peers | None = None,
    parts: Parts | None = None,
) -> Report | None:
    """Runs a request; a failure of the simulated program, or Ctrl-C, stands in the report and raises nothing.

    progress: see `run`.
    peers: the other processes of the run, if there are any: all but the first get no report.
    parts: writer of new rows while the run goes on, if anybody follows it.
    """
    from hopcast.report import simulator

    signals = Signals(progress)
    watch = Watch(signals, progress, peers, parts)
    if parts is not None:
        parts.begin()
    kind, began = request.workload["kind"], simulator.Moment.now()
    report = workloads.named(kind).start(request, watch)
    ended = simulator.Moment.now()
    if report is None:
        return None
    if progress is not None and not report.partial:
        progress(report.makespan_s, report.events, 1.0)
    report.is_asked_to_stop = signals.is_asked_to_stop
    provenance.add(report, request)
    simulator.add_python(report.summary, began, ended, apart=kind in ("compiled", "mpi4py"))
    return report


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
