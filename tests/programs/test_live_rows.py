"""Rows of compiled programs while they run: written by the process of the ranks, read beside it."""

from __future__ import annotations

import importlib
import threading
from pathlib import Path

from test_programs import hopcast, pytestmark  # noqa: F401

import hopcast as package

RING = """
#include <mpi.h>
int main(int argc, char **argv) {
    int rank, size;
    char out[64] = {0}, in[64];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 200000; i++)
        MPI_Sendrecv(out, 64, MPI_CHAR, (rank + 1) % size, 0, in, 64, MPI_CHAR, (rank + size - 1) % size, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
"""


def test_rows_of_a_compiled_program_are_there_before_its_end(tmp_path) -> None:
    (tmp_path / "ring.c").write_text(RING)
    program = tmp_path / "ring"
    done = hopcast("cc", "-O2", tmp_path / "ring.c", "-o", program)
    assert done.returncode == 0, done.stderr
    out: Path = tmp_path / "out"
    seen: list[package.Standing] = []
    importlib.import_module("pyarrow.parquet")  # takes longer than the run where much else runs
    reader = threading.Thread(target=lambda: seen.extend(package.follow(out, wait_s=60)))
    reader.start()
    flags = ("-n", "24", "--quiet", "--messages", "4000", "--matrix-periods", "5000", "--out", out)
    run = hopcast("run", "hopper", *flags, program)
    assert run.returncode == 0, run.stderr
    reader.join(60)
    *before, last = seen
    assert last.ended == "finished" and before
    first = before[0]
    assert first.table("messages").num_rows and first.simulated_s < last.simulated_s
    rows = last.table("messages").to_pydict()
    final = set(zip(rows["source"], rows["number"], rows["latency_s"], strict=True))
    share = rows["share"][0]
    early = first.table("messages").to_pydict()
    columns = (early[name] for name in ("source", "number", "latency_s", "sample"))
    kept = {row[:3] for row in zip(*columns, strict=True) if row[3] < share}
    assert kept and kept <= final
