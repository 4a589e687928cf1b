"""Compiled programs whose ranks are spread over the processes of a real MPI: the same bits."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from test_programs import HERE, compiled, pytestmark  # noqa: F401

BESIDE = Path(sys.executable).with_name("mpiexec")
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith(("PMI_", "OMPI_", "PMIX_"))}
needs_mpi = pytest.mark.skipif(not BESIDE.exists(), reason="no mpiexec beside this Python")

AROUND = """#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    BODY
    MPI_Finalize();
    return 0;
}
"""

# Long contents are overwritten as soon as the library lets go of them.
STENCIL = """
    enum { LENGTH = 3000 };
    double *in = calloc(2 * LENGTH, sizeof *in), *out = malloc(LENGTH * sizeof *out), sum = 0;
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    for (int step = 0; step < 20; step++) {
        MPI_Request requests[4];
        for (int i = 0; i < LENGTH; i++)
            out[i] = in[i] * 0.5 + in[LENGTH + i] + rank;
        MPI_Irecv(in, LENGTH, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(in + LENGTH, LENGTH / 2, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &requests[1]);
        MPI_Isend(out, LENGTH, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &requests[2]);
        MPI_Isend(out, LENGTH / 2, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &requests[3]);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < LENGTH; i++)
            out[i] = -1;
        double own = in[0] + in[LENGTH + 7];
        MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    printf("rank %d: %.17g at %.9f\\n", rank, sum, MPI_Wtime());
"""

FAILURES = {
    "crash": "if (rank == size - 1) *(volatile int *)8 = 1; MPI_Barrier(MPI_COMM_WORLD);",
    "abort": "if (rank == size - 1) MPI_Abort(MPI_COMM_WORLD, 5); MPI_Barrier(MPI_COMM_WORLD);",
    "exit": "MPI_Barrier(MPI_COMM_WORLD); if (rank == size - 1) exit(4);",
    "deadlock": "MPI_Recv(&rank, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);",
}


def launch(processes: int, *words: str | Path) -> tuple[dict, list[str]]:
    """The report of a run in so many processes, and the lines that ranks have printed, sorted."""
    command = [BESIDE, "-n", str(processes), sys.executable, "-m", "hopcast", "run", "--compute", "none"]
    command += ["hopper", "--ppn", "2", "--model", "loggp", "--json", "--quiet", *words]
    done = subprocess.run(list(map(str, command)), env=CLEAN, capture_output=True, text=True, timeout=180)
    printed = (done.stdout + done.stderr).splitlines()
    start = done.stdout.find("{\n")
    assert start >= 0, done.stdout + done.stderr
    report = json.JSONDecoder().raw_decode(done.stdout[start:])[0]
    return report, sorted(line for line in printed if line.startswith("rank "))


def built(folder: Path, name: str, body: str) -> Path:
    source = folder / f"{name}.c"
    source.write_text(AROUND.replace("BODY", body.strip()))
    return compiled(source, folder, "-w")


@needs_mpi
@pytest.mark.parametrize(
    "name",
    ["between_groups", "collective_forms", "communicators", "operations", "point_to_point", "topologies"],
)
def test_programs_end_as_in_one_process(tmp_path: Path, name: str) -> None:
    program = compiled(HERE / f"{name}.c", tmp_path)
    one, two = (launch(processes, "-n", "8", program) for processes in (1, 2))
    assert one[0]["failure"] is None and two[0]["failure"] is None
    assert two[0]["processes"] == two[0]["threads"] == 2
    assert one[0]["outcome_hash"] == two[0]["outcome_hash"]
    assert one[0]["calls"] == two[0]["calls"]
    assert one[1] == two[1], "what the ranks have printed"


@needs_mpi
def test_contents_travel_between_three_processes(tmp_path: Path) -> None:
    program = built(tmp_path, "stencil", STENCIL)
    one, three = (launch(processes, "-n", "12", program) for processes in (1, 3))
    assert one[0]["outcome_hash"] == three[0]["outcome_hash"] and three[0]["processes"] == 3
    assert len(one[1]) == 12 and one[1] == three[1]


@needs_mpi
@pytest.mark.parametrize("name", FAILURES)
def test_failures_in_another_process_are_those_of_one(tmp_path: Path, name: str) -> None:
    program = built(tmp_path, name, FAILURES[name])
    (one, _), (two, _) = (launch(processes, "-n", "8", program) for processes in (1, 2))
    assert one["failure"]["kind"] == name
    assert one["failure"] == two["failure"], "with the places"
    assert one["outcome_hash"] == two["outcome_hash"]


@needs_mpi
def test_what_needs_one_memory_says_so(tmp_path: Path) -> None:
    body = """
    MPI_Win window;
    MPI_Win_create(&rank, sizeof rank, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    """
    program = built(tmp_path, "window", body)
    command = [BESIDE, "-n", "2", sys.executable, "-m", "hopcast", "run", "hopper", "-n", "4", "--ppn", "2"]
    words = [*map(str, command), "--model", "loggp"]
    done = subprocess.run([*words, program], env=CLEAN, capture_output=True, text=True, timeout=180)
    assert done.returncode == 3
    assert "a window needs all ranks in one process: start hopcast without mpiexec" in done.stderr
    refused = [*words, "--fold-memory", "1MiB", program]
    done = subprocess.run(refused, env=CLEAN, capture_output=True, text=True, timeout=180)
    assert done.returncode == 2
    assert done.stderr.count("--fold-memory is for runs in one process; start it without mpiexec") == 1


@needs_mpi
def test_a_bad_buffer_is_the_failure_of_its_sender(tmp_path: Path) -> None:
    """Its message goes to another process, and is read before that has a receive for it."""
    body = """
    if (rank == 0) MPI_Send((void *)64, 1000000, MPI_CHAR, size - 1, 0, MPI_COMM_WORLD);
    static char to[1000000];
    if (rank == size - 1) MPI_Recv(to, 1000000, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    """
    report, _ = launch(2, "-n", "8", built(tmp_path, "bad_buffer", body))
    assert report["failure"]["kind"] == "crash"
    assert [rank["rank"] for rank in report["failure"]["ranks"]] == [0]
    assert "send buffer" in json.dumps(report["failure"])


@needs_mpi
def test_a_killed_launcher_ends_the_run_and_says_so(tmp_path: Path) -> None:
    """Without a word of a check of hopcast's own in the other process, and with no process left."""
    body = "for (long i = 0; i < 100000000; i++) MPI_Barrier(MPI_COMM_WORLD);"
    program = built(tmp_path, "endless", body)
    command = [BESIDE, "-n", "2", sys.executable, "-m", "hopcast", "run", "--compute", "none", "hopper"]
    words = [*map(str, command), "-n", "8", "--ppn", "2", "--model", "loggp", "--quiet", str(program)]
    here = CLEAN | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen(words, env=here, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as run:
        try:
            launchers: list[int] = []
            for _ in range(600):
                launchers = running(tmp_path)
                if len(launchers) == 2:
                    break
                time.sleep(0.1)
            assert len(launchers) == 2, "both have begun"
            time.sleep(1)
            os.kill(launchers[0], signal.SIGKILL)
            said = run.communicate(timeout=60)[0].decode()
        finally:
            run.kill()
    assert run.returncode != 0
    assert "was killed (SIGKILL)" in said
    assert "report this" not in said and "Exception in thread" not in said
    assert running(tmp_path) == []


def running(folder: Path) -> list[int]:
    """Processes of ranks whose files are in this folder."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has just ended
            words = place.read_bytes().decode(errors="replace")
            if "hopcast-launcher" in words and str(folder) in words:
                found.append(int(place.parent.name))
    return found
