"""Instructions, cache misses and branches of each message, and of each hop of a packet, in two builds.

Run it as `python bench/counters.py [OTHER] [--only TEXT]`, where OTHER is another checkout that is built;
without it, this one alone is counted. valgrind's cachegrind counts, with a simple model of caches (32 KiB of
data, then 8 MiB) and of the prediction of branches: no counters of the processor are needed, and neither the
machine nor other work on it changes the numbers. Each case runs with fewer and with more iterations, and the
difference is shared among the further messages; Python's start, which varies, leaves a few percent in it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import live

HERE = Path(__file__).resolve().parents[1]
COUNTERS = {
    "instructions": "I +refs",
    "reads and writes": "D +refs",
    "first-level misses": "D1 +misses",
    "last-level misses": "LLd misses",
    "branches": "Branches",
    "mispredicted": "Mispredicts",
}
"""Names of the counters, and patterns of those of cachegrind."""

TORUS = "nsim-torus --set topology.sizes=[4,4,4] -n 64"
PROGRAM = "hopper --ppn 1 -n 2 --model loggp"
CASES = {
    "loggp, halo 8 B": (f"{TORUS} --model loggp halo3d --bytes 8B", (20, 120)),
    "loggp, all-to-all linear 1 KiB": (
        f"{TORUS} --model loggp alltoall --bytes 1KiB --algorithm linear",
        (1, 11),
    ),
    "flow, halo 7 kB, torus": (f"{TORUS} --model flow halo3d --bytes 7kB", (10, 40)),
    "flow, halo 7 kB, fat tree": ("mustang --ppn 1 -n 64 --model flow halo3d --bytes 7kB", (10, 40)),
    "flow, all-to-all linear 1 KiB": (
        "mustang --ppn 1 -n 64 --model flow alltoall --bytes 1KiB --algorithm linear",
        (1, 6),
    ),
    "packet, all-to-all 1 KiB": (f"{TORUS} --model packet alltoall --bytes 1KiB", (1, 6)),
    "packet, all-to-all 32 KiB": (f"{TORUS} --model packet alltoall --bytes 32KiB", (1, 2)),
    "packet, halo 8 B": (f"{TORUS} --model packet halo3d --bytes 8B", (10, 40)),
    "flow, halo 8 B, adaptive": ("aries --ppn 1 -n 64 --model flow halo3d --bytes 8B", (10, 40)),
    "loggp, compiled ping-pong": (f"{PROGRAM} --compute none {{ping_pong}}", (1_000, 11_000)),
    "the same, computing measured": (f"{PROGRAM} {{ping_pong}}", (1_000, 11_000)),
}
"""Arguments of `hopcast run`, with a program of ours in braces, and the two numbers of iterations."""


@dataclass(frozen=True)
class Counted:
    """Counts of one run."""

    messages: int
    packet_hops: int
    counts: tuple[int, ...]
    """In the order of `COUNTERS`."""


def count(checkout: Path, arguments: str, iterations: int) -> Counted:
    """One `hopcast run` of a checkout under cachegrind, with the processes that it starts."""
    command = ["valgrind", "--tool=cachegrind", "--cache-sim=yes", "--branch-sim=yes"]
    command += ["--trace-children=yes", "--trace-children-skip=*ld-linux*"]
    command += ["--I1=32768,8,64", "--D1=32768,8,64", "--LL=8388608,16,64"]
    command += ["--cachegrind-out-file=/dev/null", sys.executable, "-m", "hopcast", "run"]
    environment = {**os.environ, "PYTHONPATH": str(checkout / "python"), "PYTHONHASHSEED": "0"}
    with tempfile.TemporaryFile("w+") as printed, tempfile.TemporaryDirectory() as folder:
        own = "{ping_pong}" in arguments
        if own:
            arguments = arguments.format(ping_pong=live.compiled("ping_pong", live.PING_PONG, Path(folder)))
        words = [str(iterations)] if own else ["--iterations", str(iterations)]
        command += ["--threads", "1", "--json", "--quiet", *arguments.split(), *words]
        done = subprocess.run(
            command, env=environment, stdout=printed, stderr=subprocess.PIPE, text=True, check=False
        )
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
        printed.seek(0)
        report = json.load(printed)
    found = [re.findall(rf"{name}: +([\d,]+)", done.stderr) for name in COUNTERS.values()]
    counts = tuple(sum(int(number.replace(",", "")) for number in numbers) for numbers in found)
    if not all(found):
        raise SystemExit(f"cachegrind printed something else than expected:\n{done.stderr}")
    return Counted(report["messages"], report["packet_hops"], counts)


def of_each(checkout: Path, case: str) -> tuple[list[float], float]:
    """Counts of each further message, and how many packet-hops each takes."""
    arguments, (fewer, more) = CASES[case]
    first, second = (count(checkout, arguments, iterations) for iterations in (fewer, more))
    messages = second.messages - first.messages
    hops = (second.packet_hops - first.packet_hops) / messages
    return [(b - a) / messages for a, b in zip(first.counts, second.counts, strict=True)], hops


def print_counts(each: list[tuple[list[float], float]], shares: list[float]) -> None:
    """Prints the counts of each checkout, divided among so many."""
    for number, name in enumerate(COUNTERS):
        counts = [counts[number] / share for (counts, _), share in zip(each, shares, strict=True)]
        print(f"  {name:30} {' '.join(f'{count:12,.1f}' for count in counts)}", flush=True)


def main() -> None:
    """Prints a block of lines for each case."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("other", type=Path, nargs="?", help="another checkout, built")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    options = parser.parse_args()
    checkouts = [path for path in (options.other, HERE) if path is not None]
    title = " ".join(f"{name:>12}" for name in (["other", "here"] if options.other else ["here"]))
    for case in (case for case in CASES if options.only in case):
        each = [of_each(checkout, case) for checkout in checkouts]
        print(f"{case:32} {title}   of each message")
        print_counts(each, [1.0] * len(each))
        if all(hops for _, hops in each):
            print("  of each hop")
            print_counts(each, [hops for _, hops in each])


if __name__ == "__main__":
    main()
