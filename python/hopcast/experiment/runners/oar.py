"""Runner `oar`: jobs of OAR on a file system that they share with this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hopcast.experiment.batch import SYSTEMS, Jobs
from hopcast.experiment.runners.slurm import JOBS, refuse_limit

if TYPE_CHECKING:
    from hopcast.experiment.runners import Settings

NAME = "oar"
SUMMARY = "Jobs of OAR, as many as workers, with these options."
WHERE = "OPTIONS"


def made(where: str | None, settings: Settings) -> Jobs:
    """Jobs with options such as `-l nodes=1,walltime=1`."""
    refuse_limit(settings)
    return Jobs(SYSTEMS[NAME], where or "", settings.workers or JOBS)
