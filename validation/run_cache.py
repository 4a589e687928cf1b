"""Long runs: each in a process of its own, so that its memory is its own, and kept for the same build."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import null_model

from hopcast import _core

FACTS = ("makespan_s", "wall_s", "peak_rss_B", "packet_hops", "ranks", "threads")
"""Facts that are kept of every run, by the names of `report.json`."""


def build() -> str:
    """The digest of all that is compiled: other builds run again."""
    core = Path(_core.__file__)
    digest = hashlib.sha256()
    for file in (core, *sorted(core.parent.glob("lib/*"))):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def facts(report) -> dict[str, Any]:
    """Facts that are kept of a report."""
    return {name: report.summary[name] for name in FACTS}


def cached(out: Path, name: str, run: Callable[..., dict[str, Any]], *args) -> dict[str, Any]:
    """`run(*args)` in a process of its own, or what it gave before with this build of hopcast.

    `run` is a function of a module and gives what JSON can hold.
    """
    network = "-infinite" if null_model.is_active() else ""
    file = out / "kept" / f"{name}{network}-{build()}.json"
    if not file.exists():
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as alone:
            result = alone.submit(_timed, run, *args).result()
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(result))
    return json.loads(file.read_text())


def _timed(run: Callable[..., dict[str, Any]], *args) -> dict[str, Any]:
    """`run(*args)` with the CPU time that it takes, which other work on the machine hardly changes."""
    before = time.process_time()
    result = run(*args)
    return {"cpu_s": time.process_time() - before} | result


def speed(run: dict[str, Any]) -> str:
    """Time of processors of a kept run, in words."""
    rate = run["packet_hops"] / run["cpu_s"] / 1e6
    threads = f" on {run['threads']} threads" if run["threads"] > 1 else ""
    return f"{run['cpu_s']:.3g} s of CPU{threads}, {rate:.1f} million packet-hops/s of CPU time"


def cost(run: dict[str, Any]) -> str:
    """Time of processors and memory of a kept run, in words."""
    return f"{speed(run)}, {run['peak_rss_B'] / 2**20:.0f} MiB"
