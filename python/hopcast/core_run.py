"""A run of the core: its watchers, its report, and its errors as exceptions of this package."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hopcast import _core
from hopcast.errors import InputError, InternalError
from hopcast.outcome import Report, Tables
from hopcast.signals import Signals

if TYPE_CHECKING:
    from hopcast.processes import Peers
    from hopcast.report.parts import Parts

Progress = Callable[[float, int, "float | None"], object]
"""Takes the simulated time [s], the events so far, and the share done [0..1], None if that is not known."""


@dataclass(frozen=True)
class Watch:
    """Watchers of a run, and the other processes that run it, if there are any."""

    signals: Signals
    progress: Progress | None
    peers: Peers | None
    parts: Parts | None = None
    """Writer of the rows that are new while the run goes on, if anybody follows it."""


def run(request: str, program: object, watch: Watch) -> tuple | None:
    """Runs a request in JSON, in the core.

    Gives report and tables; None in a process that does not report.
    """
    try:
        return _core.run(request, program, watch.signals, watch.peers, watch.parts)
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


def report(ended: tuple | None) -> Report | None:
    """The report of a run that has ended, in the process that reports."""
    if ended is None:
        return None
    outcome, tables = ended
    return Report(json.loads(outcome), Tables(tables))


@dataclass(frozen=True)
class RankError:
    """An exception that left a rank function, in words that another process can read."""

    rank: int
    at_s: float
    kind: str
    text: str
    place: str | None
    traceback: str
    interrupted: bool
    """True for a second Ctrl-C, which broke the rank off."""

    @staticmethod
    def of(rank: int, at_s: float, error: BaseException) -> RankError:
        from hopcast.program.process import place_of_error, traceback_of_error

        return RankError(
            rank,
            at_s,
            type(error).__name__,
            str(error),
            place_of_error(error),
            traceback_of_error(error),
            isinstance(error, KeyboardInterrupt),
        )

    def add_to(self, report: Report) -> None:
        """Makes it the program's failure."""
        if self.interrupted:
            stopped = {"by": "interrupt", "at_s": self.at_s, "behind": []}
            report.summary |= {"failure": None, "partial": True, "stopped": stopped}
            return
        report.summary["failure"] = {
            "kind": "exception",
            "text": f"rank {self.rank} raised {self.kind} at {self.at_s:.9g} s: {self.text}",
            "ranks": [
                {
                    "rank": self.rank,
                    "call": "",
                    "since_s": self.at_s,
                    "waits_for": "",
                    "waits_for_ranks": [],
                    "place": self.place,
                }
            ],
            "traceback": self.traceback,
        }
