"""Progress of a long run, on standard error: a line that renews itself, or a line now and then."""

from __future__ import annotations

import sys
import time

from hopcast.report import units

_SILENT_S = 2.0
_TERMINAL_EVERY_S = 0.2
_PLAIN_EVERY_S = 10.0


class Progress:
    """Shows where a run stands. Runs under two seconds show nothing."""

    def __init__(self, enabled: bool = True) -> None:
        self._enabled = enabled
        self._terminal = sys.stderr.isatty()
        self._begin_s = time.monotonic()
        self._next_s = self._begin_s + _SILENT_S
        self._before = (self._begin_s, 0)
        self._shown = False

    def __call__(self, simulated_s: float, events: int, share: float | None) -> None:
        """Takes note of simulated time [s], events so far, and the share done [0..1] where it is known."""
        now_s = time.monotonic()
        if not self._enabled or now_s < self._next_s:
            return
        self._next_s = now_s + (_TERMINAL_EVERY_S if self._terminal else _PLAIN_EVERY_S)
        text = line(simulated_s, events, self._rate(now_s, events), now_s - self._begin_s, share)
        self._shown = True
        if self._terminal:
            sys.stderr.write(f"\r\x1b[2K{text}")
        else:
            sys.stderr.write(f"{text}\n")
        sys.stderr.flush()

    def _rate(self, now_s: float, events: int) -> float:
        """Events per second since the last line."""
        before_s, before = self._before
        self._before = (now_s, events)
        return (events - before) / max(1e-9, now_s - before_s)

    def close(self) -> None:
        """Wipes the line, so that the screen begins on clean ground."""
        if self._shown and self._terminal:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()


def line(simulated_s: float, events: int, rate: float, elapsed_s: float, share: float | None) -> str:
    """One line of progress; the time left where the share done is known."""
    text = (
        f"simulated {units.seconds(simulated_s)}, {units.count(events)} events, {units.count(rate)} events/s"
    )
    if share:
        left_s = elapsed_s * (1 - share) / share
        text += f", {units.percent(share)} done, {units.seconds(left_s, 2)} left"
    return text
