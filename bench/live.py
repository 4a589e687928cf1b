"""Speed of compiled programs: our time for a message of a ping-pong, a call of a kernel by model, and a byte
of a derived datatype, and to start 10,000 ranks.

Prints the best of three runs, in CPU time, as the machine may do other things. The targets: 0.5 µs for a
message, 2 s to start.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import rates

import hopcast
from hopcast.live import library

PING_PONG = """
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    int rank, rounds;
    char bytes[8] = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    rounds = atoi(argv[1]);
    for (int i = 0; i < rounds; i++) {
        if (rank == 0)
            MPI_Send(bytes, 8, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(bytes, 8, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(bytes, 8, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
"""
START_UP = """
#include <mpi.h>
static int numbers[1000];
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    numbers[999]++;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return numbers[999] - 1;
}
"""
KERNEL = """
#include <mpi.h>
#include <stdlib.h>
__attribute__((noinline)) void relax(int n, double *grid) { grid[n]++; }
int main(int argc, char **argv) {
    static double grid[100];
    MPI_Init(&argc, &argv);
    for (int i = 0; i < atoi(argv[1]); i++)
        relax(i % 100, grid);
    MPI_Finalize();
    return 0;
}
"""
MODELLED = """
name = "modelled"
topology = { kind = "crossbar", hosts = 1 }
host = { processes = 1, memory = { latency = "0 ns", bandwidth = "10 GB/s" } }
nic = { bandwidth = "10 GB/s", latency = "1 us" }
[compute]
flop_rate = "1 Gflop/s"
[[compute.kernels]]
function = "relax"
arguments = "int n, double *grid"
time = "3 ns * n"
"""
PACKING = """
#include <mpi.h>
#include <stdlib.h>
static char from[2 << 20], to[1 << 20];
int main(int argc, char **argv) {
    MPI_Datatype column;
    MPI_Init(&argc, &argv);
    int block = atoi(argv[2]), place = 0;
    MPI_Type_vector((1 << 20) / block, block, 2 * block, MPI_CHAR, &column);
    MPI_Type_commit(&column);
    for (int i = 0; i < atoi(argv[1]); i++, place = 0)
        MPI_Pack(from, 1, column, to, sizeof to, &place, MPI_COMM_WORLD);
    MPI_Finalize();
    return place;
}
"""
ROUNDS = 500_000
KERNEL_CALLS = 1_000_000
PACKS = 1000
BLOCKS_B = (8, 1024)
RANKS = 10_000
REPEATS = 3


def compiled(name: str, source: str, folder: Path) -> Path:
    """The program of a source."""
    (folder / f"{name}.c").write_text(source)
    command = [sys.executable, "-m", "hopcast", "cc", "-O2", f"{name}.c", "-o", name]
    subprocess.run(command, cwd=folder, check=True)
    return folder / name


def cpu_s() -> float:
    """Processor time of all runs so far [s]."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run_s(platform: str | Path, program: Path, ranks: int, *words: int, **flags: int) -> float:
    """Cost of a run: the best of some."""
    times = []
    for _ in range(REPEATS):
        start = cpu_s()
        hopcast.run(platform, program, ranks, args=words, model="loggp", **flags)
        times.append(cpu_s() - start)
    return min(times)


def per_turn_s(
    platform: str | Path, program: Path, ranks: int, turns: int, *words: int, **flags: int
) -> float:
    """Cost of one turn of a program's loop: a run, less one with no turn."""
    idle = run_s(platform, program, ranks, 0, *words, **flags)
    return (run_s(platform, program, ranks, turns, *words, **flags) - idle) / turns


def main() -> None:
    """Runs both, if this hopcast has its MPI library."""
    if not library.LIBRARY.exists():
        print("compiled programs: skipped, built without the MPI library")
        return
    with tempfile.TemporaryDirectory() as folder:
        ping_pong = compiled("ping_pong", PING_PONG, Path(folder))
        start_up = compiled("start_up", START_UP, Path(folder))
        turn_s = per_turn_s("hopper", ping_pong, 2, ROUNDS, ppn=1)
        print(f"ping-pong in C, loggp: {turn_s / 2 * 1e9:.0f} ns per message")
        rates.record("live", "ping-pong, loggp", seconds=turn_s / 2)
        kernel = compiled("kernel", KERNEL, Path(folder))
        (Path(folder) / "modelled.toml").write_text(MODELLED)
        turn_s = per_turn_s(Path(folder) / "modelled.toml", kernel, 1, KERNEL_CALLS)
        print(f"kernel by model: {turn_s * 1e9:.0f} ns per call")
        rates.record("live", "kernel by model", seconds=turn_s)
        packing = compiled("packing", PACKING, Path(folder))
        for block in BLOCKS_B:
            turn_s = per_turn_s("hopper", packing, 1, PACKS, block)
            print(f"packing, blocks of {block} B: {2**20 / turn_s / 1e9:.1f} GB/s")
            rates.record("live", f"packing, blocks of {block} B", seconds=turn_s)
        start_s = run_s("hopper", start_up, RANKS)
        memory = hopcast.run("hopper", start_up, RANKS, model="loggp").summary["peak_rss_B"] / RANKS / 1024
        print(f"{RANKS} ranks in C, start to end: {start_s:.2f} s, {memory:.0f} KiB for each")
        rates.record("live", f"{RANKS} ranks, start to end", seconds=start_s)


if __name__ == "__main__":
    main()
