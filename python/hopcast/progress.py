"""Progress of a long run, on standard error: a line that renews itself, or a line now and then."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from hopcast.report import units

_SILENT_S = 2.0
_TERMINAL_EVERY_S = 0.2
_PLAIN_EVERY_S = 10.0
_TICK_S = 0.1


class RenewedLine:
    """A line on standard error that renews itself on a terminal; elsewhere, a new line now and then."""

    def __init__(self, enabled: bool = True, after_s: float = _SILENT_S) -> None:
        """after_s: time for which nothing is shown [s]."""
        self._enabled = enabled
        self._terminal = sys.stderr.isatty()
        self._next_s = time.monotonic() + after_s
        self._shown = False

    def is_due(self) -> bool:
        """True if it is time to show something new."""
        return self._enabled and time.monotonic() >= self._next_s

    def show(self, text: str) -> None:
        """Shows this text, and no other one for a while."""
        self._next_s = time.monotonic() + (_TERMINAL_EVERY_S if self._terminal else _PLAIN_EVERY_S)
        self._shown = True
        sys.stderr.write(f"\r\x1b[2K{text}" if self._terminal else f"{text}\n")
        sys.stderr.flush()

    def close(self) -> None:
        """Wipes the line, so that the screen begins on clean ground."""
        if self._shown and self._terminal:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()


@contextlib.contextmanager
def shown(text: Callable[[float], str]) -> Iterator[None]:
    """Shows how a block stands that takes over two seconds; `text` is given the time so far [s]."""
    line, over, begin_s = RenewedLine(), threading.Event(), time.monotonic()

    def tick() -> None:
        with contextlib.suppress(OSError):  # nobody reads it any more
            while not over.wait(_TICK_S):
                if line.is_due():
                    line.show(text(time.monotonic() - begin_s))

    ticking = threading.Thread(target=tick, name="progress", daemon=True)
    ticking.start()
    try:
        yield
    finally:
        over.set()
        ticking.join()
        line.close()


@contextlib.contextmanager
def transfer(done: str, total_B: int | None) -> Iterator[Callable[[int], None]]:
    """Shows how much of a file has been moved; gives a function that adds bytes.

    done: word for what happens to them, such as "fetched"; total_B: None if it is not known.
    """
    moved_B = 0

    def add(more_B: int) -> None:
        nonlocal moved_B
        moved_B += more_B

    with shown(lambda elapsed_s: moved_line(done, moved_B, total_B, elapsed_s)):
        yield add


def moved_line(done: str, moved_B: int, total_B: int | None, elapsed_s: float) -> str:
    """One line about a transfer: the time left where its size is known, else its rate."""
    if not moved_B:
        return f"nothing {done} yet, {units.seconds(elapsed_s, 2)}"
    if total_B is None:
        return f"{done} {units.size(moved_B)}, {units.rate(moved_B / max(1e-9, elapsed_s), 'B/s')}"
    left_s = elapsed_s * max(0, total_B - moved_B) / moved_B
    return f"{done} {units.size(moved_B)} of {units.size(total_B)}, {units.seconds(left_s, 2)} left"


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
        self._line = RenewedLine(enabled)
        self._begin_s = time.monotonic()
        self._speed = Speed(self._begin_s)

    def __call__(self, simulated_s: float, events: int, share: float | None) -> None:
        """Takes note of simulated time [s], events so far, and the share done [0..1] where it is known."""
        if not self._line.is_due():
            return
        now_s = time.monotonic()
        speed = self._speed.until(now_s, simulated_s, events)
        self._line.show(line(simulated_s, events, speed, now_s - self._begin_s, share))

    def close(self) -> None:
        """Wipes the line, see `RenewedLine.close`."""
        self._line.close()


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
