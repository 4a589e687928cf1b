"""Exceptions that hopcast raises."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hopcast.outcome import Report


class InputError(ValueError):
    """Bad input: a file, a flag, a platform. The text names the place, the value and the known choices."""

    all_know = False
    """True if the other processes of the run raise it, too."""


class ProgramFailure(RuntimeError):
    """The simulated program failed, which is a result.

    `report` says what led to it; it is None of a run in another process.
    """

    def __init__(self, text: str, report: Report | None = None):
        super().__init__(text)
        self.report = report


class DeadlockError(ProgramFailure):
    """No rank can go on. The text lists each rank with its call, what it waits for, and where it stands."""


class ProgramError(ProgramFailure):
    """A rank function raised an exception, which is the cause (`__cause__`) of this one."""


class Interrupted(KeyboardInterrupt):
    """The run was stopped by Ctrl-C; `report` holds what was known until then."""

    def __init__(self, report: Report):
        super().__init__("the run was stopped")
        self.report = report


class StoppedEarly(KeyboardInterrupt):
    """Work was stopped by Ctrl-C, SIGTERM or the end of the terminal; the text says what is kept of it."""


class InternalError(AssertionError):
    """A bug of hopcast: one of its own checks failed."""
