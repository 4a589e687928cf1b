"""Two builds side by side: the cases of speed.py, in turns with this checkout and with another.

Run it as `python bench/beside.py OTHER [NAME …] [--rounds N] [--times N] [--quick]`, where OTHER is a
checkout that was built by `make fast`, as this one. It prints the processor time of each build, user and
system, in its quickest round, which other work on the machine has disturbed least, and messages per second.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

from speed import CASES, add_options

HERE = Path(__file__).resolve().parents[1]


def cpu_s(checkout: Path, arguments: str) -> tuple[float, int]:
    """Processor time [s] of one `hopcast run` of a checkout, and the messages that it simulated."""
    command = [sys.executable, "-m", "hopcast", "run", *arguments.split(), "--json"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "PYTHONPATH": str(checkout / "python")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{checkout}: hopcast run {arguments} failed:\n{done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    taken = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return taken, json.loads(done.stdout)["messages"]


def main() -> None:
    """Runs the chosen cases and prints one line for each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("other", type=Path, help="the other checkout, built")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each build [3]")
    parser.add_argument("--times", type=int, default=1, help="so many times the iterations [1]")
    add_options(parser)
    options = parser.parse_args()
    print(f"{'case':32} {'other, s':>9} {'here, s':>9} {'change':>8} {'other, 1/s':>11} {'here, 1/s':>11}")
    for name in options.name or CASES:
        _, arguments, iterations, quick = CASES[name]
        line = f"{arguments} --iterations {options.times * (quick if options.quick else iterations)}"
        runs = [[cpu_s(checkout, line) for checkout in (options.other, HERE)] for _ in range(options.rounds)]
        (other, sent_other), (here, sent_here) = map(min, zip(*runs, strict=True))
        change = 100 * (here / other - 1)
        rates = f"{sent_other / other:11,.0f} {sent_here / here:11,.0f}"
        print(f"{name:32} {other:9.2f} {here:9.2f} {change:+7.1f}% {rates}", flush=True)


if __name__ == "__main__":
    main()
