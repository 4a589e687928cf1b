"""Energy of LULESH on 64 ranks of Hopper (its recording replayed) and of HPL on Dahu, as in `hpl.py`.

It compares with nothing: no measured energy of these runs is published. It shows by which cause a job takes
its energy. Powers are published for busy nodes and assumed for all else, and each is marked below.
Hopper: 444 W of a busy node: Cray states 45 to 54.1 kW for a cabinet of 96 nodes (Cray XE6 brochure, 2010),
of which the least is taken, less half a Gemini for each; half of that when it is idle. A Gemini, which two
nodes share, takes 50 W. The whole network of 3,264 Geminis counts, of which the job uses two.
Dahu: a processor under dgemm takes 124.5 W, the mean of 7,858 measurements (Cornebize, thesis, Universite
Grenoble Alpes 2021: non_regression/g5k_test/stats_monitoring.csv, mean_power_cpu), two of them 249 W, above
100 W for all else, which are assumed, also when idle; 189 W for the switch are assumed.
1 W for a port of a router, and 10 pJ/bit on links, are assumed for both.

Run it as `python validation/energy.py [--quick] [--write]`: quick takes HPL at N = 4,000 on two nodes instead
of N = 100,000 on all 32, which takes some three minutes; --write puts the table into `docs/energy.md`. HPL
needs what `validation/hpl.py` needs.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

import hpl
import hpl_input
import lulesh_hopper
import recordings
import results

import hopcast
from hopcast.report import units
from hopcast.report.energy import CAUSES

HOPPER = {
    "power.host_idle": "222 W",  # assumed: half of host_busy
    "power.host_busy": "444 W",  # published: 45 kW a cabinet of 96 nodes, less 25 W: half a router
    "power.router": "50 W",  # assumed
    "power.router_port": "1 W",  # assumed
    "power.link_energy_per_byte": "10 pJ/bit",  # assumed
}
DAHU = {
    "power.host_idle": "100 W",  # assumed
    "power.host_busy": "350 W",  # measured: 249 W of two processors under dgemm; and host_idle, rounded
    "power.router": "189 W",  # assumed
    "power.router_port": "1 W",  # assumed
    "power.link_energy_per_byte": "10 pJ/bit",  # assumed
}
LARGE, SMALL = (100_000, 32), (4_000, 8)
"""Orders of HPL's matrices, and sides of its grids of ranks."""
PAGE = Path(__file__).resolve().parents[1] / "docs" / "energy.md"
MARK = "<!-- The table is written by validation/energy.py --write. -->\n\n"


def lulesh(out: Path) -> hopcast.Report:
    """LULESH as recorded, on four nodes."""
    trace = recordings.unpacked(lulesh_hopper.NAME, out)
    return hopcast.run(lulesh_hopper.HOPPER, trace, placement="recorded", model="flow", set=HOPPER)


def modelled_hpl(folder: Path, order: int, side: int) -> hopcast.Report:
    """HPL whose kernels are models, on so many ranks each way."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "hpccinf.txt").write_text(hpl_input.text(order, side, side, threshold=0.0, **hpl.SETTINGS))
    program, before = hpl.program(), Path.cwd()
    names = [word.lstrip("-").replace("-", "_") for word in hpl.FOLDED[::2]]
    folds = dict(zip(names, hpl.FOLDED[1::2], strict=True))
    folds["fold_private"] = [folds["fold_private"]]
    os.chdir(folder)
    try:
        return hopcast.run(
            "dahu", program, side * side, model="flow", compute="none", kernels="skip", set=DAHU, **folds
        )
    finally:
        os.chdir(before)


def table(runs: dict[str, hopcast.Report]) -> list[list[str]]:
    """Rows of the energies of each run, by cause."""
    rows = [
        ["time", *(units.seconds(report.makespan_s) for report in runs.values())],
        ["hosts of the job", *(f"{report.hosts_used}" for report in runs.values())],
    ]
    for name, words in CAUSES:
        energies = [report.energy[f"{name}_J"] for report in runs.values()]
        rows.append([words, *("not counted" if each is None else units.rate(each, "J") for each in energies)])
    rows.append(["all", *(units.rate(report.energy_J, "J") for report in runs.values())])
    rows.append(["mean power", *(units.rate(report.mean_power_W, "W") for report in runs.values())])
    return rows


def written(head: list[str], rows: list[list[str]]) -> str:
    """The table as the page has it."""
    lines = [["", *head], ["---", *("---:" for _ in head)], *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines).replace("|  |", "| |")


def main() -> None:
    """Prints the energies, and writes them where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    order, side = SMALL if options.quick else LARGE
    folder = results.OUT / "energy"
    runs = {
        "LULESH, 64 ranks, Hopper": lulesh(results.OUT),
        f"HPL, N = {order:,}, {side * side:,} ranks, Dahu": modelled_hpl(folder, order, side),
    }
    shutil.rmtree(folder, ignore_errors=True)
    head, rows = [*runs], table(runs)
    results.show("Energy to solution, by cause", ["", *head], rows)
    if options.write:
        before, _, rest = PAGE.read_text().partition(MARK)
        _, _, after = rest.partition("\n\n")
        PAGE.write_text(f"{before}{MARK}{written(head, rows)}\n{after}")


if __name__ == "__main__":
    sys.exit(main())
