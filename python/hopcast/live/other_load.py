"""Load that others make on this machine while a run measures computing.

Others slow what is measured by the caches, the memory and the cores that they share with it, and a hypervisor
by the time that it takes away: the processor's time of a program grows by that without a sign in it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

SHORTEST_S = 1.0
"""Own processor time of runs that say nothing: the kernel counts in steps of some 10 ms."""
SHARE_MOST = 1 / 3
"""Share of all cores above which others are said to disturb."""
_BUSY = (0, 1, 2, 5, 6)
"""Columns of /proc/stat: user, nice, system, interrupts, soft interrupts."""
_STOLEN = 7


@dataclass(frozen=True)
class Moment:
    """Clock and processor times, each since some beginning [s]."""

    clock: float
    busy: float
    """Time of all cores in all programs."""
    stolen: float
    """Time that the hypervisor took from all cores."""
    own: float
    """Time of this process and of its children that have ended."""

    @classmethod
    def now(cls) -> Moment | None:
        """This moment; None where the kernel does not tell."""
        try:
            first = Path("/proc/stat").read_text().partition("\n")[0].split()[1:]
            columns = [int(word) / os.sysconf("SC_CLK_TCK") for word in first]
            busy, stolen = sum(columns[place] for place in _BUSY), columns[_STOLEN]
        except (OSError, ValueError, IndexError):
            return None
        own = os.times()
        return cls(time.monotonic(), busy, stolen, sum(own[:4]))


def warning(before: Moment | None, after: Moment | None, cores: int, computing: Mapping) -> str | None:
    """Sentence about others between two moments; None where they left enough alone, or nothing was measured.

    computing: what the report says of it.
    """
    if before is None or after is None or computing["how"] != "measured":
        return None
    own = after.own - before.own
    others = max(0.0, after.busy - before.busy - own) + after.stolen - before.stolen
    taken = others / (after.clock - before.clock) if own >= SHORTEST_S else 0.0
    if taken <= SHARE_MOST * cores:
        return None
    found, stretches = computing["discarded"], computing["stretches"]
    left = f"; {found:,} of {stretches:,} stretches were discarded as interrupted" if found else ""
    return (
        f"computing: other programs took {taken:.1f} of this machine's {cores} cores while computing was "
        f"measured, which can make it twice as long{left}: measure on an idle machine, or keep what an idle "
        "one gives (--compute profile=FILE)"
    )
