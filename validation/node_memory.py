"""Two ranks of this machine that share its memory, predicted from a profile of one.

Compared: the times of STREAM's triad and of a recurrence in registers (node_memory.c, which times itself)
on one and on two ranks under MPICH, with what hopcast predicts from a profile that it measured on one rank.
The platform is one socket of two cores, whose rates of memory, of one core and of both, are those that the
profile holds. The law: k ranks take max(t(1), k * b / socket_memory_bandwidth), with b bytes moved.
Source: none but this machine; McCalpin's STREAM (1995) for the triad.
Expected: the triad on two ranks takes longer by what the memory lacks, and the recurrence as long as on one.
How much longer is this machine's: on a virtual one it also depends on who else uses the memory meanwhile.

Run it as `python validation/node_memory.py [--quick]`; quick runs each once.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

import building
from recordings import Absent
from results import Kind, Result, main

KIND = Kind.MEASURED
NO_NULL = "one host: no network"

CORES = 2
SOURCE = Path(__file__).with_suffix(".c")


def times(text: str) -> dict[str, float]:
    """The program's output: the time of each kernel [s]."""
    lines = [line.split() for line in text.splitlines()]
    return {words[0]: float(words[1]) for words in lines if words[:1] in (["triad"], ["recurrence"])}


def output(words: list[object]) -> str:
    """Output of a command."""
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=True).stdout


def platform(folder: Path, profile: Path | None) -> Path:
    """One socket of two cores; with the rates of this machine's memory where a profile tells them."""
    rates = ""
    if profile:
        machine = json.loads(profile.read_text())["machine"]
        one, busy = machine["memory_bandwidth_B_per_s"], machine["busy_memory_bandwidth_B_per_s"]
        rates = f'memory_bandwidth = "{one / 1e9:.4f} GB/s"\n'
        rates += f'socket_memory_bandwidth = "{max(one, CORES * busy) / 1e9:.4f} GB/s"\n'
    file = folder / "one-socket.toml"
    file.write_text(
        'name = "one-socket"\nsource = "a profile of this machine"\n'
        '[topology]\nkind = "crossbar"\nhosts = 1\n[nic]\nbandwidth = "infinite"\nlatency = "0 ns"\n'
        f"[host]\nprocesses = {CORES}\nsockets = 1\n"
        '[host.memory]\nlatency = "100 ns"\nbandwidth = "10 GB/s"\n'
        f'[mpi]\nlibrary = "mpich"\n[compute]\nflop_rate = "1 Gflop/s"\n{rates}'
    )
    return file


def predicted(folder: Path) -> dict[int, dict[str, float]]:
    """The times on one and two ranks, from a profile that is measured on one."""
    program, profile = folder / "node-memory-hopcast", folder / "profile.json"
    building.run([sys.executable, "-m", "hopcast", "cc", SOURCE, "-O2", "-o", program], folder, SOURCE.name)
    profile.unlink(missing_ok=True)

    def run(ranks: int, file: Path) -> dict[str, float]:
        command = [sys.executable, "-m", "hopcast", "run", file, "-n", ranks, "--quiet"]
        return times(output([*command, "--compute", f"profile={profile}", program]))

    run(1, platform(folder, None))
    return {ranks: run(ranks, platform(folder, profile)) for ranks in (1, CORES)}


def compare(out: Path, quick: bool) -> list[Result]:
    """Both kernels on one and on two ranks."""
    launcher = shutil.which("mpiexec.mpich")
    if launcher is None or (os.cpu_count() or 1) < CORES:
        raise Absent(f"skipped: MPICH (Debian's package mpich) and {CORES} cores are needed")
    folder = out.resolve() / "node-memory"
    folder.mkdir(parents=True, exist_ok=True)
    native = folder / "node-memory"
    building.run([building.MPICH["cc"], SOURCE, "-O2", "-o", native], folder, SOURCE.name)
    rounds = 1 if quick else 5
    runs = [
        {
            "measured": {ranks: times(output([launcher, "-n", ranks, native])) for ranks in (1, CORES)},
            "predicted": predicted(folder),
        }
        for _ in range(rounds)
    ]

    def middle(which: str, ranks: int, kernel: str) -> float:
        return 1e3 * statistics.median(run[which][ranks][kernel] for run in runs)

    return [
        Result(
            f"{kernel}, {ranks} rank{'s' * (ranks > 1)}",
            middle("measured", ranks, kernel),
            middle("predicted", ranks, kernel),
            "ms",
            0.1,
            f"MPICH on this machine; median of {rounds}; profile of one rank",
        )
        for kernel in ("triad", "recurrence")
        for ranks in (1, CORES)
    ]


if __name__ == "__main__":
    main(compare, __doc__)
