"""Runs every comparison and prints one table; with --write also writes it into validation/README.md.

Run it as `python validation/all.py [--quick] [--out DIR] [--write]`.
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
    "max_rate",
    "loggp_bounds",
    "gemini_latency",
    "lulesh_hopper",
    "fudan",
    "saturation",
)
PAGE = Path(__file__).with_name("README.md")
MARK = "<!-- The tables below are written by all.py --write. -->\n"


def markdown(compared: dict[str, list[Result]]) -> str:
    """The tables of the page, one for each script."""
    parts = []
    for name, rows in compared.items():
        parts += [
            f"\n## `{name}.py`\n",
            f"| {' | '.join(HEAD)} |",
            "| --- | ---: | ---: | ---: | --- | --- |",
        ]
        parts += [f"| {' | '.join(cell.replace('|', '/') for cell in row.cells())} |" for row in rows]
    return "\n".join(parts) + "\n"


def main() -> None:
    """Ends with status 1 where a published bound does not hold."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=results.OUT, help="directory for plots")
    parser.add_argument("--quick", action="store_true", help="fewer points, the same claims")
    parser.add_argument("--write", action="store_true", help="write the tables into validation/README.md")
    arguments = parser.parse_args()
    if arguments.quick and arguments.write:
        parser.error("--write takes the whole comparison, not --quick")
    compared: dict[str, list[Result]] = {}
    absent = []
    for name in SCRIPTS:
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
        head = PAGE.read_text().split(MARK)[0]
        PAGE.write_text(head + MARK + markdown(compared))
    if any(row.holds is False for rows in compared.values() for row in rows):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
