"""Speed of compiled programs: our time for each message of a ping-pong, and to start 10,000 ranks.

Prints the best of three runs, as the machine may do other things. The targets: 0.5 µs and 2 s.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

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
ROUNDS = 500_000
RANKS = 10_000
REPEATS = 3


def compiled(name: str, source: str, folder: Path) -> Path:
    """The program of a source."""
    (folder / f"{name}.c").write_text(source)
    command = [sys.executable, "-m", "hopcast", "cc", "-O2", f"{name}.c", "-o", name]
    subprocess.run(command, cwd=folder, check=True)
    return folder / name


def main() -> None:
    """Runs both, if this hopcast has its MPI library."""
    if not library.LIBRARY.exists():
        print("compiled programs: skipped, built without the MPI library")
        return
    with tempfile.TemporaryDirectory() as folder:
        ping_pong = compiled("ping_pong", PING_PONG, Path(folder))
        start_up = compiled("start_up", START_UP, Path(folder))
        walls = []
        for _ in range(REPEATS):
            report = hopcast.run("hopper", ping_pong, 2, args=(ROUNDS,), model="loggp", ppn=1)
            walls.append(report.summary["wall_s"])
        print(f"ping-pong in C, loggp: {min(walls) / (2 * ROUNDS) * 1e9:.0f} ns per message")
        times = []
        for _ in range(REPEATS):
            start = time.perf_counter()
            report = hopcast.run("hopper", start_up, RANKS, model="loggp")
            times.append(time.perf_counter() - start)
        memory = report.summary["peak_rss_B"] / RANKS / 1024
        print(f"{RANKS} ranks in C, start to end: {min(times):.2f} s, {memory:.0f} KiB for each")


if __name__ == "__main__":
    main()
