"""Signals from the user to a run that is under way: to stop, or to say where it stands."""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from hopcast._core import GO_ON, LOOK, STOP

if TYPE_CHECKING:
    from hopcast.progress import Speed

Look = tuple[int, int, int, tuple[float, int] | None]
"""All ranks, those that are done, messages in flight, and of the ranks that are not done how far [s] which
has come that is furthest behind."""

AGAIN_S = 0.5
"""Time after the first Ctrl-C from which on another one counts: launchers pass on copies of the first."""

GRACE_S = 3.0
"""Time after which a run is broken off that does not stop in order, as a rank computes in Python for ever."""


class Signals:
    """Heeds signals while a run is under way, and is asked by the core what to do.

    The first Ctrl-C, SIGTERM, or the end of the terminal (SIGHUP), asks the run to stop in order; a second
    Ctrl-C breaks it off, and so does a time without an answer in a rank's own code. SIGUSR1 asks where it
    stands. Handlers that the calling program has set for other signals than Ctrl-C stay.
    """

    def __init__(self, progress: Callable[[float, int, float | None], object] | None):
        """`progress`: see `hopcast.api.simulate`."""
        self._progress = progress
        self._stop = False
        self._asked_at_s = 0.0
        self._look = False
        self._begin_s = time.monotonic()
        self._before_look: Speed | None = None
        self._before: dict[int, Any] = {}
        self._grace: threading.Timer | None = None
        self._is_over = False
        """True where the grace is over, of which the next SIGINT tells."""
        self._is_asked = False
        """True while the core asks, and once it knows that it is to stop."""

    @property
    def is_asked_to_stop(self) -> bool:
        """True if the user has asked the run to stop, whether it has or was done before."""
        return self._stop

    def __enter__(self) -> Signals:
        if threading.current_thread() is not threading.main_thread():
            return self
        with contextlib.suppress(ValueError):
            self._before[signal.SIGINT] = signal.signal(signal.SIGINT, self._interrupt)
        for name, handler in (("SIGTERM", self._end), ("SIGHUP", self._hang_up), ("SIGUSR1", self._tell)):
            number = getattr(signal, name, None)
            # 'nohup' and the command line have them ignored.
            as_ever = (signal.SIG_DFL,) if name == "SIGHUP" else (signal.SIG_DFL, signal.SIG_IGN)
            if number is not None and signal.getsignal(number) in as_ever:
                self._before[number] = signal.signal(number, handler)
        return self

    def __exit__(self, *_error) -> None:
        self._is_asked = True  # what tells of the grace now comes too late
        if self._grace is not None:
            self._grace.cancel()
            self._grace.join()
        for number, before in self._before.items():
            signal.signal(number, before)

    def _interrupt(self, _number, _frame) -> None:
        now_s = time.monotonic()
        if self._is_over:
            self._is_over = False
            if self._is_asked:
                return
            raise KeyboardInterrupt
        if self._asked_at_s and now_s > self._asked_at_s + AGAIN_S:
            raise KeyboardInterrupt
        self._asked_at_s = self._asked_at_s or now_s
        self._ask()

    def _end(self, _number, _frame) -> None:
        self._ask()

    def _ask(self) -> None:
        """Asks the run to stop, and looks later whether it does."""
        self._stop = True
        if self._grace is None and signal.SIGINT in self._before:
            self._grace = threading.Timer(GRACE_S, self._break_off)
            self._grace.daemon = True
            self._grace.start()

    def _break_off(self) -> None:
        """Wakes the main thread, which may be in a rank's code."""
        self._is_over = True
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    def _hang_up(self, _number, _frame) -> None:
        leave_terminal()
        self._ask()

    def _tell(self, _number, _frame) -> None:
        self._look = True

    def __call__(self, now_s: float, events: int, share: float | None, look: Look | None) -> int:
        """Told by the core where the run stands; gives what it is to do."""
        self._is_asked = True
        if self._progress is not None:
            self._progress(now_s, events, share)
        if look is not None:
            self._say_status(now_s, events, share, look)
        if self._stop:
            return STOP
        self._is_asked = False
        wanted, self._look = self._look, False
        return LOOK if wanted else GO_ON

    def _say_status(self, now_s: float, events: int, share: float | None, look: Look) -> None:
        from hopcast.processes import is_silent
        from hopcast.progress import Speed

        if is_silent():
            return
        real_s = time.monotonic()
        self._before_look = self._before_look or Speed(self._begin_s)
        speed = self._before_look.until(real_s, now_s, events)
        wipe = "\r\x1b[2K" if sys.stderr.isatty() else ""
        sys.stderr.write(wipe + status(now_s, events, speed, real_s - self._begin_s, share, look))
        sys.stderr.flush()


def status(
    simulated_s: float,
    events: int,
    speed: tuple[float, float],
    elapsed_s: float,
    share: float | None,
    look: Look,
) -> str:
    """Progress of a run in two lines: at this `speed` (see `Speed`), after `elapsed_s` of real time."""
    from hopcast.progress import line
    from hopcast.report import units

    first = f"{units.seconds(elapsed_s, 3)}: {line(simulated_s, events, speed, elapsed_s, share)}"
    ranks, done, in_flight, behind = look
    second = f"{done:,} of {units.things(ranks, 'rank')} done, {units.things(in_flight, 'message')} in flight"
    if behind is not None:
        reached_s, rank = behind
        second += f", furthest behind is rank {rank:,}, in its call since {units.seconds(reached_s)}"
    return f"{first}\n{second}\n"


def leave_terminal() -> None:
    """Redirects standard streams that were on a terminal, which is gone, to nowhere."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        with contextlib.suppress(OSError):
            if stat.S_ISCHR(os.fstat(stream).st_mode):
                os.dup2(nowhere, stream)
    os.close(nowhere)


_ENDS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""The signals with which batch systems and closed terminals end a process."""


@contextlib.contextmanager
def ends_interrupt() -> Iterator[None]:
    """Makes KeyboardInterrupt, as of Ctrl-C, of these signals; it has their number.

    Handlers that the calling program has set stay.
    """

    def interrupt(number: int, _frame: object) -> None:
        if number == getattr(signal, "SIGHUP", None):
            leave_terminal()
        raise KeyboardInterrupt(number)

    mine = threading.current_thread() is threading.main_thread()
    taken = [number for number in _ENDS if mine and signal.getsignal(number) == signal.SIG_DFL]
    for number in taken:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


@contextlib.contextmanager
def without_end() -> Iterator[None]:
    """Ignores these signals while the process writes the results of a run that one of them has ended."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in _ENDS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def writing() -> Iterator[None]:
    """Lets the process write results that are whole, which the first Ctrl-C, and other ends, would cost."""
    asked = False

    def interrupt(_number: int, _frame: object) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, interrupt)
    try:
        with without_end():
            yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def ending_in_order() -> Iterator[None]:
    """Turns these signals into KeyboardInterrupt, so that nothing half written is left behind."""

    def end(_number, _frame) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    as_ever = [number for number in _ENDS if signal.getsignal(number) == signal.SIG_DFL]
    before = {number: signal.signal(number, end) for number in as_ever}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def leave_it_to_the_first() -> None:
    """From now on no signal ends this process, which has done its share of a run and waits for the first,
    whom the same signal asks for a report."""
    for number in (signal.SIGINT, *_ENDS):
        signal.signal(number, signal.SIG_IGN)
