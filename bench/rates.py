"""Rates of benchmarks as rows of `out/bench/NAME.csv`, which `hopcast regress` watches."""

from __future__ import annotations

import csv
import time
from pathlib import Path

FOLDER = Path("out/bench")


def record(benchmark: str, case: str, **measures: float) -> Path:
    """Adds a row: the time, the benchmark, its case, and the measures, whose names end with their units."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    place = FOLDER / f"{benchmark}.csv"
    row = {"time": f"{time.time():.6f}", "benchmark": benchmark, "case": case, **measures}
    if place.exists():
        with place.open(newline="") as file:
            if next(csv.reader(file), []) != list(row):
                raise SystemExit(f"{place}: has other columns than {', '.join(row)}; move it away")
    new = not place.exists()
    with place.open("a", newline="") as file:
        writer = csv.DictWriter(file, list(row), lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow(row)
    return place
