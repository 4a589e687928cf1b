"""Runner `slurm`: jobs of Slurm on a file system that they share with this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hopcast.errors import InputError
from hopcast.experiment.batch import SYSTEMS, Jobs

if TYPE_CHECKING:
    from hopcast.experiment.runners import Settings

NAME = "slurm"
SUMMARY = "Jobs of Slurm, as many as workers, with these options."
WHERE = "OPTIONS"

JOBS = 4
"""Jobs where nobody says how many."""


def made(where: str | None, settings: Settings) -> Jobs:
    """Jobs with options such as `--partition=short --time=10`."""
    refuse_limit(settings)
    return Jobs(SYSTEMS[NAME], where or "", settings.workers or JOBS)


def refuse_limit(settings: Settings) -> None:
    """Refuses a limit of each piece: jobs have one for all of theirs."""
    if settings.limit_s is not None:
        raise InputError("--limit: a batch system limits jobs, by the options behind its name")
