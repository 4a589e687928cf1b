"""Wish of the user that an experiment ends: heeded between pieces, never within the store or a pool."""

from __future__ import annotations

import signal
import threading
import time
from typing import Any

from hopcast.signals import AGAIN_S

_ENDS = ("SIGINT", "SIGTERM", "SIGHUP")


class Stop:
    """Notes Ctrl-C, SIGTERM and the end of the terminal. A second Ctrl-C breaks off at once."""

    def __init__(self) -> None:
        self.asked_by: str | None = None
        """Name of the signal that has asked for the end, if one has."""
        self._asked_at_s = 0.0
        self._before: dict[int, Any] = {}

    def __bool__(self) -> bool:
        """True if the end is wished."""
        return self.asked_by is not None

    def __enter__(self) -> Stop:
        if threading.current_thread() is threading.main_thread():
            for name in _ENDS:
                number = getattr(signal, name, None)
                if number is not None and signal.getsignal(number) != signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._ask)
        return self

    def __exit__(self, *_error: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def _ask(self, number: int, _frame: object) -> None:
        now_s = time.monotonic()
        if self.asked_by and number == signal.SIGINT and now_s > self._asked_at_s + AGAIN_S:
            raise KeyboardInterrupt
        if not self.asked_by:
            self.asked_by, self._asked_at_s = signal.Signals(number).name, now_s
