"""Processes that end with this one, however it ends, and get its signals."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from hopcast.live import library
from hopcast.processes import is_silent
from hopcast.signals import AGAIN_S, leave_terminal


def bound(command: Sequence[str], ends_by: signal.Signals) -> list[str]:
    """The command with which `command` gets the signal `ends_by` when this process ends."""
    return [str(library.LAUNCHER), "--bound", str(int(ends_by)), str(os.getpid()), *command]


def launch(command: Sequence[str], has_terminal: bool = False, inherits: Sequence[int] = ()) -> int:
    """Runs a command in a session of its own; gives its exit code as `subprocess` does.

    Ctrl-C, SIGTERM and a closed terminal ask the command to end with a result. A third Ctrl-C kills it with
    the processes that it has started, and raises KeyboardInterrupt.

    has_terminal: true to keep it in this session, where it handles Ctrl-C itself, as debuggers do.
    inherits: files that it gets.
    """
    sys.stdout.flush()
    command = bound(command, signal.SIGKILL)
    mine = threading.current_thread() is threading.main_thread()
    alone = mine and not has_terminal
    with subprocess.Popen(command, stdout=_output(), start_new_session=alone, pass_fds=inherits) as process:
        passing_on = _Signals(process, alone) if mine else None
        try:
            with passing_on or contextlib.nullcontext():
                code = process.wait()
        except BaseException:
            process.kill()
            raise
    if passing_on and passing_on.killed:
        raise KeyboardInterrupt
    return code


def run_along(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Runs a command on this terminal, where it handles Ctrl-C itself; gives its exit code as `subprocess`
    does.

    It gets SIGTERM if this process does or ends: launchers of MPI then end their programs.
    """
    with subprocess.Popen(bound(command, signal.SIGTERM), env=environment) as process:
        if threading.current_thread() is not threading.main_thread():
            return process.wait()
        with _Signals(process, alone=False):
            return process.wait()


def _output() -> int | None:
    """The stream of the program's output: that of this process, silent or not; none if it has no file."""
    stream = sys.__stdout__ if is_silent() and sys.__stdout__ else sys.stdout
    try:
        return stream.fileno()
    except (OSError, ValueError):
        return None


class _Signals:
    """Passes signals on to a process while it runs."""

    def __init__(self, process: subprocess.Popen, alone: bool) -> None:
        self.killed = False
        self._process = process
        self._alone = alone
        self._interrupts = 0
        self._last_s = 0.0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> _Signals:
        self._take(signal.SIGINT, self._interrupt)
        for name, handler in (("SIGTERM", self._end), ("SIGHUP", self._end)):
            number = getattr(signal, name, None)
            # What the program that calls us has set stays.
            if number is not None and signal.getsignal(number) == signal.SIG_DFL:
                self._take(number, handler)
        if self._alone and signal.getsignal(signal.SIGTSTP) == signal.SIG_DFL:
            self._take(signal.SIGTSTP, self._suspend)
        return self

    def __exit__(self, *_error) -> None:
        for number, before in self._before.items():
            # A handler that no Python has set is not known, and cannot be put back.
            if before is not None:
                signal.signal(number, before)

    def _take(self, number: int, handler) -> None:
        self._before[number] = signal.signal(number, handler)

    def _send(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            if self._alone:
                os.killpg(self._process.pid, number)
            else:
                self._process.send_signal(number)

    def _interrupt(self, _number, _frame) -> None:
        if not self._alone:
            return  # the terminal has sent it to both
        now_s = time.monotonic()
        if self._interrupts and now_s < self._last_s + AGAIN_S:
            return
        self._interrupts, self._last_s = self._interrupts + 1, now_s
        if self._interrupts > 2:
            self.killed = True
            self._send(signal.SIGKILL)
        else:
            self._send(signal.SIGINT)

    def _end(self, number, _frame) -> None:
        if number == getattr(signal, "SIGHUP", None):
            leave_terminal()
        self._send(signal.SIGTERM)

    def _suspend(self, _number, _frame) -> None:
        """Stops both processes on Ctrl-Z until this one is continued."""
        self._send(signal.SIGSTOP)
        os.kill(os.getpid(), signal.SIGSTOP)
        self._send(signal.SIGCONT)
