"""Programs that are sent to a server that is not root, and runs them in a sandbox."""

from __future__ import annotations

import contextlib
import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from servers import HOPCAST, Unprivileged

from hopcast.service import sandbox

LIMITS = """
[limits]
wall = "30 s"
grace = "4 s"
cpu = "12 s"
memory = "3 GiB"
disk = "100 MB"
[programs]
enabled = true
processes = 64
"""


PING = """
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
    int rank, n = 0;
    FILE *in = fopen("input.txt", "r");
    MPI_Init(&argc, &argv);
    if (!in || fscanf(in, "%d", &n) != 1 || n != 42) MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 5; i++) MPI_Allreduce(MPI_IN_PLACE, &n, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    FILE *out = fopen("output.txt", "w");
    if (!out) MPI_Abort(MPI_COMM_WORLD, 4);
    MPI_Finalize();
    return 0;
}
"""
"""Program in C that checks its file of input."""


@contextlib.contextmanager
def serving(on: str = "local") -> Iterator[Unprivileged]:
    """Serves with these limits; the test is skipped where there is no sandbox."""
    started = Unprivileged(LIMITS, on)
    try:
        refused = [line for line in started.said().splitlines() if line.startswith("Programs are refused")]
        if refused:
            pytest.skip(refused[0])
        yield started
    finally:
        started.close()


def submit(server: Unprivileged, tmp_path: Path, code: str, ranks: int = 2, **options: Any) -> str:
    """A run of a rank function, whose file defines `main(comm)`."""
    (tmp_path / "program.py").write_text(code)
    asked = {
        "platform": "crossbar",
        "workload": {"kind": "function", "file": "program.py", "name": "main"},
        "ranks": ranks,
        **options,
    }
    with server.client.uploaded({"program.py": tmp_path / "program.py"}) as uploads:
        return server.client.submit(asked, uploads)["id"]


def submit_compiled(server: Unprivileged, tmp_path: Path) -> str:
    """A run of a compiled program, which reads one file and writes another."""
    (tmp_path / "ping.c").write_text(PING)
    (tmp_path / "input.txt").write_text("42")
    subprocess.run([*HOPCAST, "cc", "ping.c", "-o", "ping"], cwd=tmp_path, check=True, capture_output=True)
    workload = {"kind": "compiled", "path": "ping", "arguments": ["a"]}
    asked = {"platform": "crossbar", "workload": workload, "ranks": 4}
    files = {"ping": tmp_path / "ping", "input.txt": tmp_path / "input.txt"}
    with server.client.uploaded(files) as uploads:
        return server.client.submit(asked, uploads)["id"]


def over(server: Unprivileged, run: str, limit_s: float = 120) -> dict[str, Any]:
    end_s = time.monotonic() + limit_s
    while (state := server.client.state(run))["ended_at"] is None:
        assert time.monotonic() < end_s, state
        time.sleep(0.1)
    return state


def told(server: Unprivileged, tmp_path: Path, codes: dict[str, str]) -> dict[str, str]:
    """Words of hostile codes, by their names: each reports what it has got, or the error that it met.

    They come back as the error of the run, which a program may write as it likes.
    """
    tries = "".join(f"    attempt({name!r}, {code!r})\n" for name, code in codes.items())
    body = f"""
import os, socket, sys, subprocess, ctypes, json, fcntl, traceback
found = {{}}
def attempt(name, code):
    said = []
    try:
        exec(code, globals() | {{"said": said}})
    except BaseException as error:
        said.append(f"{{type(error).__name__}}: {{error}}")
    found[name] = "|".join(map(str, said))[:200]
def main(comm):
    folder = os.path.dirname(os.getcwd())
{tries}    open(folder + "/ended.json", "w").write(json.dumps({{"error": json.dumps(found)}}))
    os._exit(0)
"""
    state = over(server, submit(server, tmp_path, body, 1))
    assert state["error"] and state["error"].startswith("{"), state
    return json.loads(state["error"])


def processes_of(server: Unprivileged) -> list[int]:
    """All processes that the server has started, but for the one from which runs of patterns are forked."""
    found, waiting = [], [server.process.pid]
    while waiting:
        children = sandbox._children(waiting.pop())
        found += [child for child in children if not _is_fork_server(child)]
        waiting += children
    return found


def _is_fork_server(process: int) -> bool:
    with contextlib.suppress(OSError):
        return b"hopcast.service.fork_server_process" in Path(f"/proc/{process}/cmdline").read_bytes()
    return False
