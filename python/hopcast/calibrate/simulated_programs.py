"""Measuring programs in C under the simulator: what they would have measured on a platform."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from hopcast.calibrate import check, launch

BYTES_MOST = 2**31 - 1
"""Longest message of the programs, whose lengths are C ints."""


def run(platform: str, name: str, words: Sequence[str], hosts: Sequence[int], folder: Path) -> None:
    """Compiles a program of `programs/` and runs it on the platform; results are where its words say.

    hosts: number of the host of each rank; slots of a host are taken in the order of ranks.
    """
    import hopcast

    program = launch.compile_program(name, [sys.executable, "-m", "hopcast", "cc"], folder / "programs")
    slots = [hosts[:rank].count(host) for rank, host in enumerate(hosts)]
    placement = [f"{host}:{slot}" for host, slot in zip(hosts, slots, strict=True)]
    most = max(slots) + 1
    check.check_room(platform, most, f"{most} ranks of a host were measured")
    hopcast.run(
        platform, str(program), len(hosts), args=list(words), placement=placement, compute="none", quiet=True
    )
