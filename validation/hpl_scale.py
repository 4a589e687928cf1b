"""HPL at the scale of supercomputers: the cost of simulating it, beside that of the published simulator.

The machine is the preset `stampede`, one process on each node, kernels by model, memory folded. HPL's
parameters are those of Stampede's TOP500 run of June 2013 (Table 2.1): NB = 1,024, Crout, binary exchange,
long modified, depth 0; NBMIN and NDIV, which are not published, are 2. Grids of processes are as square as
they can be. Published costs, on one core of a Xeon E5-2620 v4: Fig. 3.4 of Cornebize's thesis, 512 to 4,096
processes and N = 500,000 to 4,000,000, "close to 47 hours" and 16 GB for the largest, 20 minutes and 282 MB
for the smallest; 62 hours and 19 GB for the TOP500 run (Cornebize, Legrand, Heinrich, CLUSTER 2019).

HPL's performance is predicted blind: kernels are peaks and stated assumptions (stampede.toml), fitted to
nothing. What 960 ranks in one row take, on the preset `dahu`, is shown beside that: they wait in loops of
probes, in which a simulation can lose most of its time.

Run it as `python validation/hpl_scale.py [--quick] [--cell N RANKS ...] [--top500]`: cells of the figure, and
the TOP500 run, instead of the smallest cell. Large ones take hours; quick is N = 20,000 on 32 nodes.
"""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import hpl
import results
from results import Kind, Range, Result
from run_cache import cached

KIND = Kind.PUBLISHED
NO_NULL = "measures the simulation"

SETTINGS = hpl.SETTINGS | {"block": 1024, "recursive": 1, "broadcast": 5, "depth": 0}
NODE_TFLOPS = 8520.1 / (77 * 78)
"""Peak of a node, its Xeon Phi included [Tflop/s]."""


class Cell(NamedTuple):
    """A run of HPL."""

    order: int
    rows: int
    columns: int

    @staticmethod
    def of(order: int, ranks: int) -> Cell:
        """On the grid of so many processes that is nearest to a square, at least as wide as high."""
        rows = max(side for side in range(1, math.isqrt(ranks) + 1) if ranks % side == 0)
        return Cell(order, rows, ranks // rows)

    def __str__(self) -> str:
        return f"HPL, N = {self.order:,}, {self.rows} x {self.columns}"


SMALLEST, LARGEST = Cell(500_000, 16, 32), Cell(4_000_000, 64, 64)
TOP500 = Cell(3_875_000, 77, 78)
CELLS = (SMALLEST,)
"""Cells that take minutes."""
WIDE = ((250_000, 150.0, 979.0), (500_000, 600.0, 16_753.0))
"""Orders on 1 x 960 ranks of Dahu, CPU time to be reached, and that of the first build that ran them [s]."""
HOUR = 3600
PUBLISHED = {SMALLEST: (HOUR / 3, 282e6), LARGEST: (47 * HOUR, 16e9), TOP500: (62 * HOUR, 19e9)}
"""Run time [s] and memory [B] of the published simulator."""


def facts(order: int, rows: int, columns: int, folder: str) -> dict:
    """Facts that are kept of a run."""
    flags = (*hpl.MODELLED, "--ppn", "1")
    return asdict(hpl.run(order, rows, columns, Path(folder), *flags, platform="stampede", settings=SETTINGS))


def kept(out: Path, cell: Cell) -> hpl.Run:
    """A run, or what this build of hopcast has given before."""
    name = f"hpl-scale-{'-'.join(str(number) for number in cell)}"
    return hpl.Run(**cached(out, name, facts, *cell, str(out.resolve() / "hpl" / name)))


def rows(cell: Cell, run: hpl.Run) -> list[Result]:
    """Cost of the simulation, and its prediction."""
    between = [Range(low, high) for low, high in zip(PUBLISHED[SMALLEST], PUBLISHED[LARGEST], strict=True)]
    seconds, memory = PUBLISHED.get(cell, between)
    source = "CLUSTER 2019" if cell == TOP500 else "thesis, Fig. 3.4"
    if cell not in PUBLISHED:
        source += ": between its smallest and largest"
    bound = Range(high=seconds) if isinstance(seconds, float) else seconds
    messages = f"{run.messages:,} messages, {1e6 * run.cpu_s / run.messages:.1f} µs each"
    teraflops, peak = run.gflops / 1000, cell.rows * cell.columns * NODE_TFLOPS
    predicted = f"{cell}: performance"
    share = f"{100 * teraflops / peak:.1f} % of peak, in {run.seconds:,.0f} s"
    if cell == TOP500:
        achieved = Result(predicted, 5168.1, teraflops, "Tflop/s", None, f"TOP500; {share}", Kind.MEASURED)
    else:
        achieved = Result(
            predicted, Range(high=peak), teraflops, "Tflop/s", 0.0, f"peak; {share}", Kind.FORMULA
        )
    claimed = 0.0 if isinstance(seconds, float) else None
    return [
        Result(
            f"{cell}: CPU time of the simulation", bound, run.cpu_s, "s", claimed, f"{source}; {messages}"
        ),
        Result(f"{cell}: memory", memory, run.memory_B, "B", None, source),
        achieved,
    ]


def compare(out: Path, quick: bool) -> list[Result]:
    """The smallest cell."""
    hpl.program()
    cells = (Cell(20_000, 4, 8),) if quick else CELLS
    found = [row for cell in cells for row in rows(cell, kept(out, cell))]
    return found if quick else found + wide(out)


def wide(out: Path) -> list[Result]:
    """960 ranks of Dahu side by side, which wait for each other's panels in loops of probes."""
    found = []
    for order, goal_s, first_s in WIDE:
        run = hpl.kept_run(out, "wide", order, (1, 960), hpl.MODELLED)
        why = f"what hopcast wants to reach; {first_s:,.0f} s at first; {run.memory_B / 2**20:.0f} MiB"
        what = f"HPL on Dahu, N = {order:,}, 1 x 960: CPU time of the simulation"
        found.append(Result(what, Range(high=goal_s), run.cpu_s, "s", None, why))
    return found


def requested(words: list[str]) -> tuple[Path, list[Cell]]:
    """Cells that the command line names, and the folder for what is kept."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cell", nargs=2, type=int, action="append", default=[], metavar=("N", "RANKS"))
    parser.add_argument("--top500", action="store_true", help="the TOP500 run")
    parser.add_argument("--out", type=Path, default=results.OUT, help="directory for what is kept")
    arguments = parser.parse_args(words)
    if wrong := [cell for cell in arguments.cell if min(cell) < 1]:
        parser.error(f"--cell {wrong[0][0]} {wrong[0][1]}: N and RANKS are at least 1")
    cells = [Cell.of(*cell) for cell in arguments.cell]
    return arguments.out, cells + [TOP500] * arguments.top500


def main() -> None:
    """The smallest cell, or those that are named, each shown when it ends."""
    if not {"--cell", "--top500"} & set(sys.argv):
        results.main(compare, __doc__)
        return
    out, cells = requested(sys.argv[1:])
    for cell in cells:
        found = [row.cells() for row in rows(cell, kept(out, cell))]
        results.show(str(cell), results.HEAD, found)


if __name__ == "__main__":
    main()
