"""Places where runs go on: this machine, or the workers of a Dask cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from hopcast.errors import InputError
from hopcast.experiment import dask_address
from hopcast.service import task_process
from hopcast.service.cgroups import Groups
from hopcast.service.settings import Settings
from hopcast.service.task_process import TaskProcess

DASK = "dask"
LOCAL = "local"
KNOWN = f"{LOCAL}, {DASK}:ADDRESS of a scheduler"


class Started(Protocol):
    """A run that was given to a place; what it leaves is in its folder once it is over."""

    @property
    def identity(self) -> dict[str, Any]:
        """Name of it among all others, also after this server."""
        ...

    @property
    def has_begun(self) -> bool:
        """True once its process has begun, from which its time counts."""
        ...

    @property
    def has_ended(self) -> bool:
        """True once its process has ended, while what it has left may still be on its way here."""
        ...

    @property
    def code(self) -> int | None:
        """Code with which its process has ended; that of a kill if it was lost."""
        ...

    def is_over(self) -> bool:
        """True once it has ended."""
        ...

    def exceeded(self) -> str | None:
        """The limit that it exceeds, of those that are looked at here."""
        ...

    def ended_by(self) -> str | None:
        """The limit that has ended it, of those that the kernel or its worker looks at."""
        ...

    def terminate(self) -> None:
        """Asks it to end with partial results."""
        ...

    def end(self) -> None:
        """Kills it with all that it has started, if it is not over."""
        ...


class Place(Protocol):
    """Place where runs go on."""

    def open(self) -> str | None:
        """Prepares it; gives a sentence about it. Raises `InputError` where it cannot be used."""
        ...

    def is_ready(self) -> bool:
        """True if runs can begin here now."""
        ...

    def begin(self, folder: Path, inputs: Path, request: dict[str, Any], command: tuple[str, ...]) -> Started:
        """Gives a run to it, with this folder and these files."""
        ...

    def end_left_over(self, identity: dict[str, Any] | None) -> None:
        """Ends a run that has survived its server."""
        ...

    def close(self) -> None:
        """Leaves it, once no run goes on."""
        ...


class ThisMachine:
    """Processes beside the server."""

    def __init__(self, settings: Settings, groups: Groups | None) -> None:
        self._settings, self._groups = settings, groups

    def open(self) -> str | None:
        """See `Place.open`."""
        return None

    def is_ready(self) -> bool:
        """See `Place.is_ready`."""
        return True

    def begin(self, folder: Path, inputs: Path, request: dict[str, Any], command: tuple[str, ...]) -> Started:
        """See `Place.begin`."""
        cpu_s = self._settings.limits.cpu_s
        return TaskProcess(self._settings, self._groups, folder, inputs, request, command, cpu_s, "run")

    def end_left_over(self, identity: dict[str, Any] | None) -> None:
        """See `Place.end_left_over`."""
        task_process.kill_left_over(identity)

    def close(self) -> None:
        """See `Place.close`."""


def place_of(settings: Settings, groups: Groups | None) -> Place:
    """The place of a service."""
    if settings.scheduler is None:
        return ThisMachine(settings, groups)
    from hopcast.service.dask_place import DaskPlace

    return DaskPlace(settings)


def scheduler_of(text: str) -> str | None:
    """Address of the scheduler of `dask:ADDRESS`; None for `local`. Raises `InputError`."""
    kind, _, address = text.partition(":")
    if text == LOCAL:
        return None
    if kind != DASK or not address:
        raise InputError(f"--on {text}: is no place for runs; known: {KNOWN}")
    dask_address.check(address)
    return address
