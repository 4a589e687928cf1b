"""Runs every comparison and prints one table; with --write also writes it into validation/README.md.

Run it as `python validation/all.py [--quick] [--out DIR] [--write] [SCRIPT ...]`: all where none is named.
"""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path

import results
from recordings import Absent
from results import HEAD, Result

SCRIPTS = (
    "flow_example",
    "hydro_networks",
    "flow_scale",
    "max_rate",
    "loggp_bounds",
    "gemini_latency",
    "gemini_throughput",
    "gemini_allreduce",
    "nsim",
    "nsim_pairwise",
    "saturation",
    "lulesh_hopper",
    "fudan",
    "hpl",
    "hpcc",
    "applications",
    "recorded_here",
)
PAGE = Path(__file__).with_name("README.md")
MARK = "<!-- The tables below are written by all.py --write. -->\n"


def section(rows: list[Result]) -> str:
    """The table of one script, as the page has it."""
    lines = [f"| {' | '.join(HEAD)} |", "| --- | ---: | ---: | ---: | --- | --- |"]
    lines += [f"| {' | '.join(cell.replace('|', '/') for cell in row.cells())} |" for row in rows]
    return "\n".join(lines)


def write(compared: dict[str, list[Result]]) -> None:
    """Puts the tables into the page, in the order of `SCRIPTS`; those of other scripts stay."""
    head, *old = PAGE.read_text().split(MARK)
    sections = {}
    for text in "".join(old).split("\n## `")[1:]:
        name, _, table = text.partition(".py`\n")
        sections[name] = table.strip("\n")
    sections |= {name: section(rows) for name, rows in compared.items()}
    tables = [f"\n## `{name}.py`\n\n{sections[name]}\n" for name in SCRIPTS if name in sections]
    PAGE.write_text(head + MARK + "".join(tables))


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
            compared[name] = importlib.import_module(name).compare(arguments.out, arguments.quick)
        except Absent as reason:
            absent.append(f"{name}: {reason}")
            print(absent[-1])
    results.show("All comparisons", HEAD, [row.cells() for rows in compared.values() for row in rows])
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
