"""Cost of the recorder to the program that it records: for each sort of call, its time with and without it;
the share of a program's time; and bytes of the recording. What counting costs (`--count`) is measured with
$COUNT, by default page faults, which every kernel counts, and which a system call reads: what the processor
counts may be read without one.

The calls are those that cost the library least (messages to nobody, and to the rank itself), so that the
recorder's own time shows. The program is a stencil whose part of the grid fits in a cache, with halos of
8 KiB to both neighbours and a sum in each step of about 0.1 ms; on one rank, its own neighbour, as ranks that
wait would hide what the recorder costs. All in CPU time, the best of some runs each, taken in turns, since a
machine may do other things. The target: less than 5 % of the program's time.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import rates

CALLS = """
#include <mpi.h>
#include <stdio.h>
#include <time.h>
#define TIMES 200000
#define MEASURE(NAME, CALL) { \\
    double start = now(); \\
    for (int i = 0; i < TIMES; i++) { CALL; } \\
    printf("%s %.1f\\n", NAME, (now() - start) / TIMES); }
static double now(void) {
    struct timespec cpu;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    return cpu.tv_sec * 1e9 + cpu.tv_nsec;
}
int main(int argc, char **argv) {
    int rank, in;
    MPI_Request both[2];
    MPI_Init(&argc, &argv);
    MPI_Comm comm = MPI_COMM_SELF;
    MEASURE("MPI_Comm_rank", MPI_Comm_rank(comm, &rank))
    MEASURE("MPI_Send", MPI_Send(&rank, 1, MPI_INT, MPI_PROC_NULL, 0, comm))
    MEASURE("MPI_Sendrecv",
        MPI_Sendrecv(&rank, 1, MPI_INT, 0, 1, &in, 1, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE))
    MEASURE("MPI_Isend+Irecv+Waitall",
        MPI_Irecv(&in, 1, MPI_INT, 0, 2, comm, &both[0]); MPI_Isend(&rank, 1, MPI_INT, 0, 2, comm, &both[1]);
        MPI_Waitall(2, both, MPI_STATUSES_IGNORE))
    MEASURE("MPI_Allreduce", MPI_Allreduce(&rank, &in, 1, MPI_INT, MPI_SUM, comm))
    MPI_Irecv(&in, 1, MPI_INT, 0, 3, comm, &both[0]);
    MEASURE("MPI_Test(nothing)", MPI_Test(&both[0], &rank, MPI_STATUS_IGNORE))
    MPI_Cancel(&both[0]);
    MPI_Wait(&both[0], MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
"""
STENCIL = """
#include <mpi.h>
#include <stdio.h>
#include <time.h>
#define N 1024
#define ROWS 64
static double grid[2][ROWS + 2][N];
int main(int argc, char **argv) {
    int rank, ranks;
    double sum, all;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int up = (rank + 1) % ranks, down = (rank + ranks - 1) % ranks;
    struct timespec start, end;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
    for (int step = 0; step < 4000; step++) {
        double (*old)[N] = grid[step % 2], (*new)[N] = grid[(step + 1) % 2];
        MPI_Request four[4];
        MPI_Irecv(old[0], N, MPI_DOUBLE, down, 0, MPI_COMM_WORLD, &four[0]);
        MPI_Irecv(old[ROWS + 1], N, MPI_DOUBLE, up, 1, MPI_COMM_WORLD, &four[1]);
        MPI_Isend(old[ROWS], N, MPI_DOUBLE, up, 0, MPI_COMM_WORLD, &four[2]);
        MPI_Isend(old[1], N, MPI_DOUBLE, down, 1, MPI_COMM_WORLD, &four[3]);
        MPI_Waitall(4, four, MPI_STATUSES_IGNORE);
        sum = 0;
        for (int i = 1; i <= ROWS; i++)
            for (int j = 1; j < N - 1; j++) {
                new[i][j] = 0.25 * (old[i - 1][j] + old[i + 1][j] + old[i][j - 1] + old[i][j + 1]) + 1e-3;
                sum += new[i][j];
            }
        MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    double took = (end.tv_sec - start.tv_sec) * 1e9 + (end.tv_nsec - start.tv_nsec);
    if (rank == 0) printf("stencil %.9f\\n", took);
    MPI_Finalize();
    return all < 0;
}
"""
RUNS = 7
MPICC = os.environ.get("MPICC", "mpicc")
MPIEXEC = os.environ.get("MPIEXEC", "mpiexec").split()
HOW = ((), ("--count", os.environ.get("COUNT", "page_faults")))
"""Flags of the recordings, after a run without one."""


def compiled(folder: Path, name: str, text: str) -> Path:
    """A program."""
    source = folder / f"{name}.c"
    source.write_text(text)
    subprocess.run([MPICC, "-O2", "-w", "-o", str(folder / name), str(source)], check=True)
    return folder / name


def times(command: list[str]) -> dict[str, float]:
    """Output of a run: names and times [ns]."""
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {name: float(ns) for name, ns in re.findall(r"^(\S+) ([\d.]+)$", printed, re.MULTILINE)}


def best(folder: Path, command: list[str]) -> dict[str, tuple[float, ...]]:
    """The best of some runs without the recorder, with it, and with it counting, in turns."""
    all_runs = [[] for _ in range(1 + len(HOW))]
    for run in range(RUNS):
        all_runs[0].append(times(command))
        for at, flags in enumerate(HOW, 1):
            out = folder / f"{Path(command[-1]).name}-{run}-{at}.hct"
            record = ["trace", "record", "-o", str(out), "--mpicc", MPICC, *flags, "--", *command]
            all_runs[at].append(times([sys.executable, "-m", "hopcast", *record]))
    return {name: tuple(min(run[name] for run in runs) for runs in all_runs) for name in all_runs[0][0]}


def main() -> None:
    """Prints all that is measured."""
    with tempfile.TemporaryDirectory(prefix="hopcast-recorder-") as name:
        folder = Path(name)
        calls = [*MPIEXEC, "-n", "1", str(compiled(folder, "calls", CALLS))]
        for call, (alone, recorded, counted) in best(folder, calls).items():
            each, more = ((one - alone) / (call.count("+") + 1) for one in (recorded, counted))
            print(
                f"{call:<24} {alone:7.0f} ns alone, {recorded:7.0f} ns recorded: {each:.0f} ns a call, "
                f"{more:.0f} ns counting"
            )
            rates.record("recorder", call, recorded_ns=each, counting_ns=more)
        stencil = [*MPIEXEC, "-n", "1", str(compiled(folder, "stencil", STENCIL))]
        ((alone, recorded, counted),) = best(folder, stencil).values()
        seconds = f"{alone / 1e9:.4f} s alone, {recorded / 1e9:.4f} s recorded"
        shares = f"{recorded / alone - 1:+.2%}, {counted / alone - 1:+.2%} counting"
        print(f"stencil                  {seconds}: {shares}")
        size = sum(file.stat().st_size for file in (folder / "calls-0-1.hct").glob("rank-*"))
        print(f"recording                {size / (200_000 * 7):.2f} bytes for each call, times exact")


if __name__ == "__main__":
    main()
