"""Progress of a long run, on standard error: a line that renews itself, or a line now and then."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

from hopcast.report import units

_SILENT_S = 2.0
_TERMINAL_EVERY_S = 0.2
_PLAIN_EVERY_S = 10.0


@dataclass
class Speed:
    """Speed of a run between two looks at it."""

    real_s: float
    """Real time of the last look [s], by the monotonic clock."""
    simulated_s: float = 0.0
    """Simulated time then [s]."""
    events: int = 0
    """Events then."""

    def until(self, real_s: float, simulated_s: float, events: int) -> tuple[float, float]:
        """Events, and seconds of simulated time, per second since the last look; the next begins here."""
        spent_s = max(1e-9, real_s - self.real_s)
        speed = ((events - self.events) / spent_s, (simulated_s - self.simulated_s) / spent_s)
        self.real_s, self.simulated_s, self.events = real_s, simulated_s, events
        return speed


class ProgressLine:
    """Shows where a run stands. Runs under two seconds show nothing."""

    def __init__(self, enabled: bool = True) -> None:
        self._enabled = enabled
        self._terminal = sys.stderr.isatty()
        self._begin_s = time.monotonic()
        self._next_s = self._begin_s + _SILENT_S
        self._speed = Speed(self._begin_s)
        self._shown = False

    def __call__(self, simulated_s: float, events: int, share: float | None) -> None:
        """Takes note of simulated time [s], events so far, and the share done [0..1] where it is known."""
        now_s = time.monotonic()
        if not self._enabled or now_s < self._next_s:
            return
        self._next_s = now_s + (_TERMINAL_EVERY_S if self._terminal else _PLAIN_EVERY_S)
        speed = self._speed.until(now_s, simulated_s, events)
        text = line(simulated_s, events, speed, now_s - self._begin_s, share)
        self._shown = True
        if self._terminal:
            sys.stderr.write(f"\r\x1b[2K{text}")
        else:
            sys.stderr.write(f"{text}\n")
        sys.stderr.flush()

    def close(self) -> None:
        """Wipes the line, so that the screen begins on clean ground."""
        if self._shown and self._terminal:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()


def line(
    simulated_s: float, events: int, speed: tuple[float, float], elapsed_s: float, share: float | None
) -> str:
    """One line of progress: the time left where the share done is known, else the pace of simulated time.

    `speed`: events and seconds of simulated time per second of real time, see `Speed`.
    """
    rate, pace = speed
    text = (
        f"simulated {units.seconds(simulated_s)}, {units.count(events)} events, {units.count(rate)} events/s"
    )
    if share:
        left_s = elapsed_s * (1 - share) / share
        text += f", {units.percent(share)} done, {units.seconds(left_s, 2)} left"
    else:
        text += f", {units.seconds(pace)} of simulated time per second"
    return text
