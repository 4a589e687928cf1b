"""Progress of an experiment on standard error: pieces done, pieces that failed, and the time left."""

from __future__ import annotations

import sys
import time

from hopcast.experiment.pieces import DONE, Piece, Result
from hopcast.report import units

_TERMINAL_AFTER_S, _PLAIN_AFTER_S = 1.0, 30.0
_TERMINAL_EVERY_S, _PLAIN_EVERY_S = 0.2, 10.0


class PiecesProgress:
    """Shows where an experiment stands. Short ones show nothing."""

    def __init__(self, noun: str, total: int, kept: int, enabled: bool = True) -> None:
        """noun: name of a piece; total: all pieces; kept: those whose results were there before."""
        self._noun, self._total, self._kept = noun, total, kept
        self._done, self._failed = 0, 0
        self._enabled, self._terminal = enabled, sys.stderr.isatty()
        self._begin_s = time.monotonic()
        self._next_s = self._begin_s + (_TERMINAL_AFTER_S if self._terminal else _PLAIN_AFTER_S)
        self._shown = False

    def __call__(self, piece: Piece, result: Result) -> None:
        """Counts a piece that has its result."""
        self.at(self._done + 1, self._failed + (result.state != DONE))

    def at(self, done: int, failed: int) -> None:
        """Takes note of how many pieces have their results, and how many of them failed."""
        self._done, self._failed = done, failed
        now_s = time.monotonic()
        if not self._enabled or not done or now_s < self._next_s:
            return
        self._next_s = now_s + (_TERMINAL_EVERY_S if self._terminal else _PLAIN_EVERY_S)
        self._shown = True
        text = line(self._noun, self._total, self._kept, self._done, self._failed, now_s - self._begin_s)
        sys.stderr.write(f"\r\x1b[2K{text}" if self._terminal else f"{text}\n")
        sys.stderr.flush()

    def close(self) -> None:
        """Wipes the line, so that the screen begins on clean ground."""
        if self._shown and self._terminal:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()


def line(noun: str, total: int, kept: int, done: int, failed: int, elapsed_s: float) -> str:
    """One line of progress: `done` of the pieces that were not kept took `elapsed_s`."""
    left_s = elapsed_s / done * (total - kept - done)
    text = f"{kept + done:,} of {units.things(total, noun)}"
    if kept:
        text += f" ({kept:,} from before)"
    if failed:
        text += f", {failed:,} failed"
    return f"{text}, {units.seconds(left_s, 2)} left"
