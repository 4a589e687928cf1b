"""Measuring programs in C under the simulator: what they would have measured on a platform."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from hopcast.calibrate import launch
from hopcast.errors import InputError

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
    _check_room(platform, max(slots) + 1)
    hopcast.run(
        platform, str(program), len(hosts), args=list(words), placement=placement, compute="none", quiet=True
    )


def _check_room(platform: str, most: int) -> None:
    from hopcast import core
    from hopcast.toml import tomllib

    processes = tomllib.loads(core.platform_text(platform, (), True))["host"]["processes"]
    if processes < most:
        raise InputError(
            f"{most} ranks of a host were measured, and a host of {platform} has {processes} processes: a "
            f"platform with host.processes = {most} is wanted"
        )
