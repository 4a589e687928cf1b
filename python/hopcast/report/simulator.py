"""Time and memory of the simulator itself, by layer: the rows of `--profile-simulator`."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

from hopcast.report import units

KEY = "profile_simulator"
"""Key in `report.json`."""
_SHOWN_S = 0.0005
_SHOWN_B = 2**20


@dataclass(frozen=True)
class Moment:
    """A time of the real clock [s], and the memory of this process then [B]."""

    time_s: float
    memory_B: int

    @classmethod
    def now(cls) -> Moment:
        """The present one."""
        return cls(time.perf_counter(), _resident())


def age() -> float:
    """Time since this process began [s]; 0 where the system does not tell."""
    try:
        with open("/proc/self/stat", encoding="utf-8", errors="replace") as file:
            started = int(file.read().rpartition(")")[2].split()[19])
    except OSError:
        return 0.0
    return time.clock_gettime(time.CLOCK_BOOTTIME) - started / os.sysconf("SC_CLK_TCK")


def add_start(summary: dict, start_s: float, memory_B: int) -> None:
    """Adds the start of the command, which took `start_s` and `memory_B`, to a report with a profile."""
    if KEY in summary:
        summary[KEY]["layers"].insert(0, _row("start of Python, command line", start_s, memory_B))


def add_python(summary: dict, began: Moment, ended: Moment, apart: bool) -> None:
    """Adds what Python did around the core to a report with a profile.

    began, ended: around the call of the core, or around its process, if it ran `apart` in one of its own.
    """
    if KEY not in summary:
        return
    layers = summary[KEY]["layers"]
    inside = [cost for cost in layers if cost["phase"] != "run"]
    rest = ended.time_s - began.time_s - summary["wall_s"] - sum(cost["time_s"] for cost in inside)
    memory = ended.memory_B - began.memory_B
    if not apart:
        memory -= sum(cost["memory_B"] for cost in layers)
    what = "start and load of the program, its result" if apart else "into the core and back"
    layers.append(_row(what, max(0.0, rest), memory))
    now = Moment.now()
    layers.append(_row("hashes of inputs", now.time_s - ended.time_s, now.memory_B - ended.memory_B))


def _row(layer: str, time_s: float, memory_B: int) -> dict:
    return {"phase": "Python", "layer": layer, "time_s": time_s, "memory_B": memory_B}


def rows(profile: dict) -> list[tuple[str, str, str, str, str]]:
    """Layers that cost something, for people: phase, layer, time, share of all time, growth of memory."""
    layers = profile["layers"]
    total = sum(cost["time_s"] for cost in layers) or 1.0
    shown, phase = [], ""
    for cost in layers:
        if cost["time_s"] < _SHOWN_S and abs(cost["memory_B"]) < _SHOWN_B:
            continue
        memory = units.size(cost["memory_B"]) if abs(cost["memory_B"]) >= 2**10 else "0 B"
        numbers = (units.seconds(cost["time_s"], 3), units.percent(cost["time_s"] / total), memory)
        shown.append((cost["phase"] if cost["phase"] != phase else "", cost["layer"], *numbers))
        phase = cost["phase"]
    return shown


def note(profile: dict) -> str:
    """Sentence about how the layers of the run were measured."""
    samples = units.things(profile["samples"], "sample")
    return f"Layers of the run by {samples} of each thread; memory is growth."


def _resident() -> int:
    """Memory of this process that is resident [B]; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
