#!/usr/bin/env python3
"""Studies that are killed, and Dask's workers that die: the tables are equal, bit for bit.

    .venv/bin/python bench/study_kills.py [--cells 1000] [--seed 1]

A study runs once; once more, killed twice (SIGKILL, at random numbers of results) and continued; and once on
Dask with two workers, of which one is killed at a random number of results. Ends with status 1 where a table
differs. tests/study does the same with 40 cells.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "study"))
from test_dask import workers_below
from test_studies import kept, started, study

STUDY = """
platform = "crossbar"
workload = "halo3d"
[options]
ranks = 64
model = "flow"
[factors]
"--bytes" = {{ from = 1000, to = {last}, step = 64, unit = "B" }}
"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--cells", type=int, default=1000)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    text = STUDY.format(last=1000 + 64 * (given.cells - 1))
    generator = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as folder:
        places = {name: Path(folder) / name for name in ("once", "killed", "dask")}
        for place in places.values():
            place.mkdir()
        print(f"once: {last_line(study(places['once'], text, '--quiet'))}")
        print(f"killed: {killed(places['killed'], text, given.cells, generator)}")
        print(f"dask: {on_dask(places['dask'], text, given.cells, generator)}")
        hashes = {name: digest(place) for name, place in places.items()}
    for name, found in hashes.items():
        print(f"{name:8} {found}")
    if len(set(hashes.values())) > 1:
        raise SystemExit("the tables differ")
    print(f"{given.cells:,} cells: the tables are equal, bit for bit")


def killed(place: Path, text: str, cells: int, generator: random.Random) -> str:
    """Kills the study twice, and lets it come to its end."""
    at = sorted(generator.sample(range(1, cells - 100), 2))
    seen = []
    for results in at:
        process = started(place, text, "--quiet")
        wait_for(place, results)
        process.kill()
        process.communicate()
        time.sleep(2)  # workers look for their parent twice a second
        seen.append(kept(place))
    done = study(place, text, "--quiet")
    return f"killed with {seen[0]} and {seen[1]} results; then {last_line(done)}"


def on_dask(place: Path, text: str, cells: int, generator: random.Random) -> str:
    """Kills one of Dask's two workers."""
    process = started(place, text, "--quiet", "--on", "dask", "--workers", "2")
    wait_for(place, generator.randrange(1, cells - 100))
    worker = generator.choice(workers_below(process.pid))
    os.kill(worker, signal.SIGKILL)
    seen = kept(place)
    out, error = process.communicate()
    if process.returncode:
        raise SystemExit(error)
    return f"a worker killed with {seen} results; {out.splitlines()[0]}"


def wait_for(place: Path, results: int) -> None:
    """Waits until a study has so many results."""
    while kept(place) < results:
        time.sleep(0.1)


def last_line(done: subprocess.CompletedProcess) -> str:
    """Summary of a study that came to its end."""
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stdout.splitlines()[0]


def digest(place: Path) -> str:
    """Hash of a study's table."""
    return hashlib.sha256((place / "out" / "results.parquet").read_bytes()).hexdigest()


if __name__ == "__main__":
    main()
