"""Runs every comparison and prints one table; with --write also writes it into the pages.

Run it as `python validation/all.py [--quick] [--out DIR] [--write] [SCRIPT ...]`: all where none is named.
"""

from __future__ import annotations

import argparse
import importlib
import json
import statistics
from pathlib import Path

import null_model
import results
from recordings import Absent
from results import HEAD, Kind, Result, error_text

from hopcast.regress import readers, store

SCRIPTS = (
    "flow_example",
    "hydro_networks",
    "flow_scale",
    "max_rate",
    "loggp_bounds",
    "gemini_latency",
    "gemini_throughput",
    "gemini_allreduce",
    "gemini_scaling",
    "nsim",
    "nsim_pairwise",
    "saturation",
    "lulesh_hopper",
    "fudan",
    "hpl",
    "hpl_scale",
    "hpl_ladder",
    "hpl_studies",
    "hpcc",
    "microbenchmarks",
    "applications",
    "recorded_here",
    "node_memory",
    "calibration_network",
    "calibration_rates",
    "calibration_kernels",
    "calibration_speed",
    "generative_cluster",
    "regression_tests",
    "nodecomm",
    "testbed_cases",
    "coverage",
)
PAGE = Path(__file__).with_name("README.md")
GUIDE = Path(__file__).resolve().parents[1] / "docs" / "trust.md"
"""The guide's page with the same summary."""
DATA = Path(__file__).with_name("results.json")
"""The results of every script as they were last written, from which the page is made."""
REGRESSIONS = "../regress.sqlite"
"""Database of `hopcast regress`, beside the folder of the plots: benchmarks are in it, too."""
MARK = "<!-- The tables below are written by all.py --write. -->\n"
PARTS = (Kind.MEASURED, Kind.FIT, Kind.PUBLISHED, Kind.FORMULA, Kind.OWN)
"""The parts of the page in order: what tests a prediction comes first."""


def table(rows: list[Result]) -> str:
    """The table of one script, as the page has it."""
    lines = [f"| {' | '.join(HEAD)} |", "| --- | ---: | ---: | ---: | ---: | --- | --- |"]
    lines += [f"| {' | '.join(cell.replace('|', '/') for cell in row.cells())} |" for row in rows]
    return "\n".join(lines)


def summary(results_of: dict[str, list[Result]]) -> list[str]:
    """Number of predictions, median error and worst: of all, of tests of the network, and by script."""
    measured_of = {
        name: [row for row in rows if row.kind is Kind.MEASURED] for name, rows in results_of.items()
    }
    measured = [row for rows in measured_of.values() for row in rows]
    groups = {
        "all": measured,
        "those that an infinite network does not give as well": [
            row for row in measured if row.null is not None and row.tests_the_network
        ],
        **{f"`{name}.py`": rows for name, rows in measured_of.items()},
    }
    lines = ["| predictions | how many | median error | worst |", "| --- | ---: | ---: | --- |"]
    for name, group in groups.items():
        if group:
            middle = statistics.median(abs(row.error) for row in group)
            worst = max(group, key=lambda row: abs(row.error))
            cells = [
                name,
                str(len(group)),
                f"{100 * middle:.3g} %",
                f"{error_text(worst.error)}: {worst.what}",
            ]
            lines.append(f"| {' | '.join(cells)} |")
    return lines


def page(results_of: dict[str, list[Result]]) -> str:
    """The tables of all scripts, by what they compare with."""
    parts = []
    for kind in PARTS:
        of_kind = {name: [row for row in rows if row.kind is kind] for name, rows in results_of.items()}
        sections = [f"### `{name}.py`\n\n{table(rows)}" for name, rows in of_kind.items() if rows]
        if kind is Kind.MEASURED:
            sections.insert(0, "\n".join(summary(of_kind)))
        if sections:
            parts.append(f"\n## {kind.value}\n\n" + "\n\n".join(sections) + "\n")
    return "".join(parts)


def write(compared: dict[str, list[Result]]) -> None:
    """Puts the tables and their summary into the pages, in the order of `SCRIPTS`; other scripts' stay."""
    stored = json.loads(DATA.read_text())
    rows_of = {name: [Result.from_json(row) for row in rows] for name, rows in stored.items()} | compared
    ordered = {name: rows_of[name] for name in SCRIPTS if name in rows_of}
    stored = {name: [row.to_json() for row in rows] for name, rows in ordered.items()}
    DATA.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n")
    head, _, _ = PAGE.read_text().partition(MARK)
    PAGE.write_text(head + MARK + page(ordered))
    lines = summary(ordered)
    before, _, rest = GUIDE.read_text().partition(lines[0])
    GUIDE.write_text(before + "\n".join(lines) + "\n\n" + rest.partition("\n\n")[2])


def record(compared: dict[str, list[Result]], out: Path, quick: bool) -> None:
    """Leaves what was compared in a file, and adds it to the series that `hopcast regress` watches."""
    place = out / "results.json"
    place.parent.mkdir(parents=True, exist_ok=True)
    rows = {name: [row.to_json() for row in some] for name, some in compared.items()}
    place.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n")
    if not quick:
        with store.opened(out / REGRESSIONS, new=True) as database:
            store.add(database, readers.read(place, readers.Columns()))


def main() -> None:
    """Ends with status 1 where a published bound does not hold."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=results.OUT, help="directory for plots")
    parser.add_argument("--quick", action="store_true", help="fewer points, the same claims")
    parser.add_argument("--write", action="store_true", help="write the tables into validation/README.md")
    parser.add_argument("scripts", metavar="SCRIPT", nargs="*", help=f"one of {', '.join(SCRIPTS)}")
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.scripts if name not in SCRIPTS]:
        parser.error(f"unknown script '{unknown[0]}'; known: {', '.join(SCRIPTS)}")
    if arguments.quick and arguments.write:
        parser.error("--write takes the whole comparison, not --quick")
    compared: dict[str, list[Result]] = {}
    absent = []
    for name in arguments.scripts or SCRIPTS:
        print(f"{name} …", flush=True)
        try:
            script = importlib.import_module(name)
            compared[name] = null_model.compare(script, arguments.out, arguments.quick)
        except Absent as reason:
            absent.append(f"{name}: {reason}")
            print(absent[-1])
    record(compared, arguments.out, arguments.quick)
    everything = [row for rows in compared.values() for row in rows]
    for kind in PARTS:
        if of_kind := [row.cells() for row in everything if row.kind is kind]:
            results.show(kind.value, HEAD, of_kind)
    print("\n".join(summary(compared)))
    for line in absent:
        print(line)
    if arguments.write:
        if absent:
            parser.error("--write needs all recordings")
        write(compared)
    if any(row.holds is False for rows in compared.values() for row in rows):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
