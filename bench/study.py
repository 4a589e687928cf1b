#!/usr/bin/env python3
"""Cost of a study beside that of its runs alone: cells of a halo exchange on 1,024 ranks, one worker.

    .venv/bin/python bench/study.py [--cells 1000] [--ranks 1024]

The runs alone are `hopcast.run` in a loop of one process. Both are given in processor time, which other work
on the machine hardly moves, and in wall time. The study's includes the file, the requests, the hashes, the
start of the worker, the store, the table and the page.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STUDY = """
platform = "fat-tree"
workload = "halo3d"
[options]
ranks = {ranks}
model = "flow"
[factors]
"--bytes" = {{ from = 1000, to = {last}, step = 64, unit = "B" }}
"""

ALONE = """
import hopcast
for size in range(1000, {last} + 1, 64):
    hopcast.run("fat-tree", "halo3d", {ranks}, kwargs={{"bytes": f"{{size}} B"}}, model="flow")
"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--cells", type=int, default=1000)
    options.add_argument("--ranks", type=int, default=1024)
    given = options.parse_args()
    named = {"ranks": given.ranks, "last": 1000 + 64 * (given.cells - 1)}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "alone.py").write_text(ALONE.format(**named))
        (place / "halo.toml").write_text(STUDY.format(**named))
        hopcast = str(Path(sys.executable).parent / "hopcast")
        alone = cost([sys.executable, "alone.py"], place)
        study = cost([hopcast, "study", "halo.toml", "--workers", "1", "--quiet"], place)
    for unit, one, other in zip(("processor", "wall"), alone, study, strict=True):
        print(
            f"{given.cells:,} cells, {unit} time: alone {one:.1f} s, study {other:.1f} s, "
            f"{100 * (other / one - 1):+.1f} %, {1000 * (other - one) / given.cells:+.2f} ms a cell"
        )


def cost(command: list[str], place: Path) -> tuple[float, float]:
    """Processor and wall time of a command [s]."""
    before, began_s = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, cwd=place, check=True, stdout=subprocess.DEVNULL)
    wall_s, after = time.perf_counter() - began_s, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall_s


if __name__ == "__main__":
    main()
