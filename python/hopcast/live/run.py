"""A run of a compiled program: a process of its own, which holds the simulator and all ranks.

The program's crash is that process's at most, and its standard streams are the program's. The job goes in
as a file, the result comes back as one: a line of JSON, then the columns of the tables.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shlex
import shutil
import signal
import struct
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopcast import scratch
from hopcast.errors import InputError, InternalError, StoppedEarly
from hopcast.live import debugger, library, other_load
from hopcast.live.launch import launch
from hopcast.live.link import Link
from hopcast.outcome import Report, Tables

if TYPE_CHECKING:
    from hopcast.core_run import Progress
    from hopcast.processes import Peers
    from hopcast.report.parts import Parts
    from hopcast.request import RunRequest

PROGRESS_EVERY_S = 0.2
"""Period at which a run's progress is read [s]."""


def simulate(
    request: RunRequest,
    command: Sequence[str],
    progress: Progress | None = None,
    parts: Parts | None = None,
    peers: Peers | None = None,
) -> Report | None:
    """Runs `command` on the ranks that `request` asks for.

    progress: is told now and then the simulated time [s] and the events so far, from a thread of its own.
    parts: is told the new rows, from the same thread.
    peers: the other processes of the run, if there are any: all but the first get None.
    """
    library.check()
    program, *arguments = command
    ranks, debug_rank = _ranks(request), request.options.get("debug_rank")
    if request.option("threads") > 1:
        raise InputError(f"--threads {request.option('threads')}: the ranks of a program share one thread")
    compiled = request.workload["kind"] == "compiled"
    if debug_rank is not None:
        debugger.check(program, debug_rank, ranks)
        progress = None  # the terminal is the debugger's
    words = [os.path.abspath(program), *arguments]
    workload = request.workload | {"path": os.path.abspath(request.workload["path"])}
    with scratch.folder() as folder:
        told, result = folder / "job.json", folder / "result"
        state = folder / "progress" if progress else None
        job = {
            "request": json.loads(request.to_json(workload=workload, ranks=ranks)),
            "command": [list(os.fsencode(word)) for word in words],
            "progress": state and str(state),
            "live": str(folder) if parts else None,
            "date": datetime.now(timezone.utc).date().isoformat(),
            "machine": str(_cache() / "machine.json"),
            "debug": debugger.job(debug_rank, folder),
            "folder": str(folder),
            "peers": None,
        }
        link = None
        if peers is not None:
            link = Link(peers)
            job["peers"] = {"socket": link.socket, "rank": peers.rank, "count": peers.count}
        told.write_text(json.dumps(job))
        if compiled:
            launcher = [str(library.LAUNCHER), str(library.LIBRARY)]
        else:
            launcher = [sys.executable, "-m", "hopcast.live.interpreter"]
        launcher += [str(told), str(result)]
        if debug_rank is not None:
            launcher = debugger.command(launcher, folder)
        if "tool" in request.options:
            launcher = [*_tool(request.options["tool"]), *launcher]
        before = other_load.Moment.now()
        with _watched(state, progress), _followed(folder, parts), link or contextlib.nullcontext():
            code = launch(launcher, debug_rank is not None, () if link is None else (link.socket,))
        after = other_load.Moment.now()
        _check_result(result, program, code, debug_rank, request.options.get("tool"))
        head, tables = _read(result)
    summary = _summary(head, peers)
    if summary is None:
        return None
    disturbed = other_load.warning(before, after, os.cpu_count() or 1, head["computing"])
    summary["warnings"] += [disturbed] if disturbed else []
    return Report(summary, Tables(tables))


def _tool(words: str) -> list[str]:
    """The command that starts the process of the ranks."""
    try:
        tool = shlex.split(words)
    except ValueError as error:
        raise InputError(f"tool: '{words}': {str(error).lower()}") from None
    if not tool or shutil.which(tool[0]) is None:
        raise InputError(f"tool: '{words}': there is no such command")
    return tool


def _summary(head: dict, peers: Peers | None) -> dict | None:
    """The summary of a run that has ended; None in a process that does not report."""
    faults = _all_faults(head, peers)
    if "error" in head:
        error = InputError(head["error"])
        error.all_know = True
        raise error
    if not head["report"]:
        return None
    summary = json.loads(head["report"])
    if peers is not None:
        # Ranks in other processes may have gone on for a moment after a failure.
        faults = [fault for fault in faults if fault["at_s"] <= summary["makespan_s"]]
    _add_faults(summary, faults)
    summary["warnings"] += head["warnings"]
    summary["computing"] = head["computing"]
    return summary


def _all_faults(head: dict, peers: Peers | None) -> list[dict]:
    """Faults of the ranks of all processes, in the order of simulated time."""
    faults = head.get("faults", [])
    if peers is None:
        return faults
    shared = (json.loads(told) for told in peers.share(json.dumps(faults).encode()))
    return sorted(itertools.chain.from_iterable(shared), key=lambda fault: fault["at_s"])


def _ranks(request: RunRequest) -> int:
    """Number of ranks; where none is given, that of the places that a placement lists."""
    placement = request.options.get("placement")
    ranks = request.options.get("ranks", len(placement) if isinstance(placement, list) else None)
    if ranks is None:
        raise InputError("ranks: how many? A program needs a number of ranks (-n RANKS)")
    return ranks


def _cache() -> Path:
    """The folder of files that are kept from run to run."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hopcast"


def _check_result(result: Path, program: str, code: int, debug_rank: int | None, tool: str | None) -> None:
    """Raises where a run has ended without a result."""
    if result.exists():
        return
    if debug_rank is not None:
        raise InputError("debug-rank: gdb was left before the end of the run, of which nothing is known")
    if -code in (signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", None)):
        raise KeyboardInterrupt
    if -code == signal.SIGPIPE:
        raise StoppedEarly(f"{program} was stopped by SIGPIPE: the reader of its output has gone")
    if -code == signal.SIGKILL:
        raise InputError(f"{program} was killed (SIGKILL), as the system does where memory is short")
    if -code == signal.SIGXFSZ:
        raise InputError(f"{program} was stopped: a file that it writes is longer than allowed (ulimit -f)")
    if tool is not None:
        raise InputError(f"tool: '{tool}' ended before the run had a result: {_ending(code)}")
    raise InternalError(f"the run of {program} ended without a result: {_ending(code)}")


@contextlib.contextmanager
def _watched(state: Path | None, progress: Callable | None) -> Iterator[None]:
    """Passes on, while it lasts, what the run writes to the file `state`."""
    if state is None or progress is None:
        yield
        return

    def look() -> None:
        with contextlib.suppress(OSError, struct.error):
            progress(*struct.unpack("<dQ", state.read_bytes()), None)

    with _repeated(look):
        yield


@contextlib.contextmanager
def _followed(folder: Path, parts: Parts | None) -> Iterator[None]:
    """Passes on, while it lasts, the new rows that the run writes into `folder`."""
    if parts is None:
        yield
        return

    def look() -> None:
        for file in sorted(folder.glob("*.rows")):
            head, tables = _read(file)
            file.unlink()
            parts(head["now_s"], head["events"], head["restarts"], list(tables.items()))

    with _repeated(look):
        yield


@contextlib.contextmanager
def _repeated(look: Callable[[], None]) -> Iterator[None]:
    """Calls `look` at intervals, while it lasts, on a thread of its own."""
    over = threading.Event()

    def work() -> None:
        while not over.wait(PROGRESS_EVERY_S):
            look()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _ending(code: int) -> str:
    if code < 0:
        return f"signal {signal.Signals(-code).name}"
    return f"exit code {code}"


def _read(path: Path) -> tuple[dict, dict]:
    """The line of JSON, and the tables as `Tables` takes them."""
    with path.open("rb") as file:
        head = json.loads(file.readline())
        tables = {
            table: [(name, kind, _column(kind, file.read(length))) for name, kind, length in columns]
            for table, columns in head.get("tables", [])
        }
    return head, tables


def _column(kind: str, content: bytes) -> Any:
    return json.loads(content) if kind == "text" else content


def _add_faults(summary: dict, faults: list[dict]) -> None:
    """Adds faults to the summary: that which ended a rank is the run's failure, unless one matters more."""
    ends = [fault for fault in faults if fault["kind"] in ("exit", "early-exit")]
    for fault in faults:
        if fault["kind"] == "interrupt":
            summary["warnings"].append(fault["text"])
        elif fault not in ends:
            summary["failure"] = {"kind": fault["kind"], "text": fault["text"], "ranks": [_standing(fault)]}
    if ends:
        _add_ends(summary, ends)


def _add_ends(summary: dict, ends: list[dict]) -> None:
    """Adds ranks that ended with an exit code, or without MPI_Finalize, for which others may wait forever."""
    early = [end for end in ends if end["kind"] == "early-exit"]
    failure = summary["failure"]
    if failure and not (early and failure["kind"] == "deadlock"):
        summary["warnings"].append(_together(summary, ends))
        return
    later = [end for end in ends if end not in early] if early else []
    if later:
        summary["warnings"].append(_together(summary, later))
    first = early or ends
    text, ranks = _together(summary, first), [_standing(end) for end in first]
    if failure:
        text, ranks = f"{text}; then {failure['text']}", ranks + failure["ranks"]
    summary["failure"] = {"kind": "exit", "text": text, "ranks": ranks}


def _together(summary: dict, ends: list[dict]) -> str:
    """Describes the ends of ranks in one sentence: the first in full, and those with an exit code first."""
    coded = [end for end in ends if "exit code" in end["text"]]
    if 0 < len(coded) < len(ends):
        return f"{_together(summary, coded)}; {len(ends) - len(coded):,} more ended without MPI_Finalize"
    text, count = ends[0]["text"], len(ends)
    if count == 1:
        return text
    if count == summary["ranks"]:
        return f"{text}, as did all {count:,} ranks"
    return f"{text}, the first of {count:,} ranks that ended like that"


def _standing(fault: dict) -> dict:
    """An entry of a failure's ranks for one that has ended."""
    stuck = {"rank": fault["rank"], "call": "", "since_s": fault["at_s"], "waits_for": ""}
    return stuck | {"waits_for_ranks": [], "place": fault["place"]}
