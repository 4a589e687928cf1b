"""Progress of an experiment on standard error: pieces done, pieces that failed, and the time left."""

from __future__ import annotations

import sys
import time

from hopcast.experiment.pieces import DONE, Piece, Result
from hopcast.progress import RenewedLine
from hopcast.report import units

_TERMINAL_AFTER_S, _PLAIN_AFTER_S = 1.0, 30.0


class PiecesProgress:
    """Shows where an experiment stands. Short ones show nothing."""

    def __init__(self, noun: str, total: int, kept: int, enabled: bool = True) -> None:
        """noun: name of a piece; total: all pieces; kept: those whose results were there before."""
        self._noun, self._total, self._kept = noun, total, kept
        self._done, self._failed = 0, 0
        self._line = RenewedLine(enabled, _TERMINAL_AFTER_S if sys.stderr.isatty() else _PLAIN_AFTER_S)
        self._begin_s = time.monotonic()

    def __call__(self, piece: Piece, result: Result) -> None:
        """Counts a piece that has its result."""
        self.at(self._done + 1, self._failed + (result.state != DONE))

    def at(self, done: int, failed: int) -> None:
        """Takes note of how many pieces have their results, and how many of them failed."""
        self._done, self._failed = done, failed
        if self._line.is_due():
            elapsed_s = time.monotonic() - self._begin_s
            self._line.show(line(self._noun, self._total, self._kept, done, failed, elapsed_s))

    def close(self) -> None:
        """Wipes the line, see `RenewedLine.close`."""
        self._line.close()


def line(noun: str, total: int, kept: int, done: int, failed: int, elapsed_s: float) -> str:
    """One line of progress: `done` of the pieces that were not kept took `elapsed_s`."""
    text = f"{kept + done:,} of {units.things(total, noun)}"
    if kept:
        text += f" ({kept:,} from before)"
    if failed:
        text += f", {failed:,} failed"
    if not done:
        return text
    return f"{text}, {units.seconds(elapsed_s / done * (total - kept - done), 2)} left"
