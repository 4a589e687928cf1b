"""A run of a compiled program: a process of its own, which holds the simulator and all ranks.

The program's crash is that process's at most, and its standard streams are the program's. The job goes in
as a file, the result comes back as one: a line of JSON, then the columns of the tables.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import struct
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from hopcast import scratch
from hopcast.errors import InputError, InternalError
from hopcast.live import debugger, library
from hopcast.live.launch import launch
from hopcast.live.options import Options
from hopcast.outcome import Report, Tables

PROGRESS_EVERY_S = 0.2
"""How often is looked how far a run is."""


def simulate(
    request: dict[str, Any],
    command: Sequence[str],
    options: Options,
    progress: Callable[[float, int, float | None], None] | None = None,
) -> Report:
    """Runs `command` on the ranks that `request` asks for.

    request: what a run is asked for, as the core takes it, without its workload.
    progress: is told now and then the simulated time [s] and the events so far.
    """
    library.check()
    if request["ranks"] is None:
        raise InputError("ranks: how many? A program needs a number of ranks (-n RANKS)")
    if request["threads"] > 1:
        raise InputError(f"--threads {request['threads']}: the ranks of a program share one thread")
    words = ("platform", "overrides", "ranks", "model", "seed", "placement", "ppn", "records", "threads")
    job = {name: request[name] for name in (*words, "statistics", "stop_at")}
    scale = request["replay"]["compute_scale"]
    job["compute_scale"] = 1.0 if scale is None else scale
    program, *arguments = command
    compiled = library.is_executable(program)
    if options.isolation is not None and not compiled:
        raise InputError("isolation: it is for compiled programs; each rank in Python has modules of its own")
    if options.debug_rank is not None:
        debugger.check(program, options.debug_rank, request["ranks"])
        progress = None  # the terminal is the debugger's
    words = [os.path.abspath(program), *arguments]
    job |= {"command": [list(os.fsencode(word)) for word in words]} | options.job()
    with scratch.folder() as folder:
        told, result = folder / "job.json", folder / "result"
        state = folder / "progress" if progress else None
        job |= {"progress": state and str(state), "folder": str(folder)}
        job["debug"] = debugger.job(options.debug_rank, folder)
        told.write_text(json.dumps(job))
        if compiled:
            launcher = [str(library.LAUNCHER), str(library.LIBRARY)]
        else:
            launcher = [sys.executable, "-m", "hopcast.live.interpreter"]
        launcher += [str(told), str(result)]
        if options.debug_rank is not None:
            launcher = debugger.command(launcher, folder)
        if options.tool is not None:
            launcher = [*shlex.split(options.tool), *launcher]
        with _watched(state, progress):
            code = launch(launcher, has_terminal=options.debug_rank is not None)
        if options.debug_rank is not None and not result.exists():
            raise InputError("debug-rank: gdb was left before the end of the run, of which nothing is known")
        if not result.exists():
            if -code in (signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", None)):
                raise KeyboardInterrupt
            raise InternalError(f"the run of {program} ended without a result: {_ending(code)}")
        head, tables = _read(result)
    if "error" in head:
        raise InputError(head["error"])
    summary = json.loads(head["report"])
    _add_faults(summary, head["faults"])
    summary["warnings"] += head["warnings"]
    summary["computing"] = head["computing"]
    return Report(summary, Tables(tables))


@contextlib.contextmanager
def _watched(state: Path | None, progress: Callable | None) -> Iterator[None]:
    """Passes on, while it lasts, what the run writes to the file `state`."""
    if state is None or progress is None:
        yield
        return
    over = threading.Event()

    def look() -> None:
        while not over.wait(PROGRESS_EVERY_S):
            with contextlib.suppress(OSError, struct.error):
                progress(*struct.unpack("<dQ", state.read_bytes()), None)

    thread = threading.Thread(target=look, daemon=True)
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
    """What ended a rank is the run's failure, unless one is known that matters more."""
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
