"""`recorded_calls`: what a trace holds, beside what its replay gives."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hopcast import _core
from hopcast.archive import opened
from hopcast.outcome import Tables

if TYPE_CHECKING:
    import pyarrow


def recorded_calls(path: str | os.PathLike) -> pyarrow.Table:
    """Every MPI call of a recorded run: `rank`, `call`, `begin_s`, `end_s` [s], rank by rank.

    path: the folder of a trace, one of its files, or a tar archive of it.

    The columns are those of a report's table "call_records" (`run(…, records=N)`), so that the two can be
    set side by side: a replay makes the same calls of each rank in the same order (but
    for GOAL and BigSim, whose rows are what the file has, not in the order in which it happens). Times
    count from the first call of any rank; the clocks of hosts are aligned as they are for a replay.
    """
    with opened(path) as place:
        return Tables({"recorded_calls": _core.recorded_calls(place)})["recorded_calls"]
