"""Processor time per MPI call of an mpi4py program: a blocking ping-pong of numpy buffers on two ranks.

Prints CPU time, as the machine may do other things. The target: 5 µs.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import rates

ROUNDS = 50_000


def seconds(rounds: int) -> float:
    """CPU time of the whole run, with its start."""
    text = (
        "import numpy\nfrom mpi4py import MPI\ncomm = MPI.COMM_WORLD\n"
        "buffer = [numpy.zeros(1), 1, MPI.DOUBLE]\n"
        f"for _ in range({rounds}):\n"
        "    if comm.rank == 0:\n        comm.Send(buffer, 1)\n        comm.Recv(buffer, 1)\n"
        "    else:\n        comm.Recv(buffer, 0)\n        comm.Send(buffer, 0)\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "pingpong.py")
        program.write_text(text)
        command = [sys.executable, "-m", "hopcast", "run", "hopper", "-n", "2", "--model", "loggp", "--quiet"]
        command += ["--compute", "none"]
        begin = cpu_seconds()
        subprocess.run([*command, program], check=True, stdout=subprocess.DEVNULL)
        return cpu_seconds() - begin


def cpu_seconds() -> float:
    """Processor time of all processes that this one has waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    """Prints the time of a call."""
    start = min(seconds(1) for _ in range(2))
    long = min(seconds(ROUNDS) for _ in range(2))
    rates.record("mpi4py_calls", "call", seconds=(long - start) / (4 * ROUNDS))
    print(f"an MPI call of an mpi4py program  {(long - start) / (4 * ROUNDS) * 1e6:6.2f} µs")


if __name__ == "__main__":
    main()
