"""Runs that are spread over the processes of a real MPI give what one process gives."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hopcast.report.store import read

HOPCAST = str(Path(sys.executable).with_name("hopcast"))
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith(("PMI_", "OMPI_", "PMIX_"))}
# Open MPI refuses root, and more processes than cores; MPICH ignores this.
CLEAN |= {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
}
REAL = {"wall_s", "setup_s", "peak_rss_B", "threads", "processes"}


def _missing() -> str | None:
    """Why runs cannot be spread over processes here."""
    try:
        code = "from mpi4py import MPI; assert MPI.COMM_WORLD.size == 2"
        done = subprocess.run(
            ["mpiexec", "-n", "2", sys.executable, "-c", code], env=CLEAN, capture_output=True, timeout=60
        )
    except FileNotFoundError:
        return "no mpiexec is found"
    except subprocess.TimeoutExpired:
        return "mpiexec does not start two processes"
    return None if done.returncode == 0 else "mpi4py is not there, or was built for another MPI than mpiexec"


MISSING = _missing()
pytestmark = pytest.mark.skipif(MISSING is not None, reason=f"runs over processes are not tested: {MISSING}")


def launch(processes: int, *words: str, **options) -> subprocess.CompletedProcess:
    line = ["mpiexec", "-n", str(processes), HOPCAST, "run", *words]
    return subprocess.run(line, env=CLEAN, capture_output=True, text=True, timeout=180, **options)


@pytest.mark.parametrize("processes", [2, 3])
@pytest.mark.parametrize(
    "line",
    [
        "hopper -n 48 --ppn 4 --model loggp --records 200 alltoall --bytes 64KiB",
        "hopper -n 48 --ppn 4 --model max_rate --placement random halo3d --bytes 100kB --iterations 3",
        "dragonfly -n 40 --ppn 2 --model postal --threads 2 random-ring --bytes 8B --iterations 4",
        "crossbar -n 24 --ppn 3 --model loggp allreduce --bytes 1MB",
    ],
)
def test_reports_and_tables_are_those_of_one_process(tmp_path: Path, processes: int, line: str) -> None:
    head, tail = line.rsplit(" --model ", 1)
    reports = []
    for number in (1, processes):
        folder = tmp_path / str(number)
        done = launch(number, *head.split(), "--out", str(folder), "--model", *tail.split())
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.count("Outcome") == 1, "one process reports"
        reports.append(read(folder))
    one, several = reports
    assert several.summary["processes"] == processes
    assert several.summary["threads"] >= processes
    assert _without_real(one.summary) == _without_real(several.summary)
    for name in one.tables:
        assert one.tables[name].equals(several.tables[name]), name


def _without_real(summary: dict) -> dict:
    return {key: value for key, value in summary.items() if key not in REAL}


def test_a_deadlock_is_found_across_processes(tmp_path: Path) -> None:
    program = tmp_path / "stuck.py"
    program.write_text("def main(comm):\n    comm.recv(source=0)\n")
    done = launch(2, "crossbar", "-n", "4", "--json", str(program))
    assert done.returncode == 3
    report = json.loads(done.stdout)
    assert report["failure"]["kind"] == "deadlock"
    assert report["warnings"][0].startswith("2 processes: one thread is used: the ranks of such a program")


def test_bad_input_is_said_once() -> None:
    done = launch(3, "nowhere", "-n", "4", "ring")
    assert done.returncode == 2
    assert done.stderr.count("unknown platform 'nowhere'") == 1


def test_what_one_process_cannot_do_ends_all_of_them(tmp_path: Path) -> None:
    """Only the process that reports looks at the folder for the report."""
    taken = tmp_path / "taken"
    taken.write_text("")
    done = launch(2, "crossbar", "-n", "48", "--model", "loggp", "--out", str(taken), "ring")
    assert done.returncode == 2
    assert str(taken) in done.stderr


LONG = "hopper -n 48 --ppn 4 --model loggp --json --quiet halo2d --iterations 100000000"


def _start_long_run() -> tuple[subprocess.Popen, list[int]]:
    """A launch that goes on for hours, and the numbers of its two processes, once they simulate."""
    line = ["mpiexec", "-n", "2", HOPCAST, "run", *LONG.split()]
    launched = subprocess.Popen(
        line, env=CLEAN, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    for _ in range(600):
        time.sleep(0.1)
        started = _processes_of(launched.pid)
        if len(started) == 2:
            time.sleep(2)
            return launched, started
    launched.kill()
    raise AssertionError(f"two processes start: {launched.communicate()}")


def _processes_of(session: int) -> list[int]:
    """The processes of hopcast in a session; launchers may give each a session of its own."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_text().split("\0")
            ancestors = _ancestors(int(entry.name))
        except OSError:
            continue
        if HOPCAST in words and "mpiexec" not in words[0] and session in ancestors:
            found.append(int(entry.name))
    return found


def _ancestors(process: int) -> list[int]:
    found = []
    while process > 1:
        # The second field, the name, may hold spaces; the parent is the second word after it.
        process = int(Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[1])
        found.append(process)
    return found


def test_a_process_that_dies_ends_the_run_with_a_message() -> None:
    launched, processes = _start_long_run()
    os.kill(processes[-1], signal.SIGKILL)
    out, err = launched.communicate(timeout=60)
    assert launched.returncode != 0
    assert "signal 9" in out + err or "Killed" in out + err


def test_ctrl_c_leaves_a_partial_report() -> None:
    launched, processes = _start_long_run()
    for process in processes:
        os.kill(process, signal.SIGINT)
    out, err = launched.communicate(timeout=60)
    report = json.loads(out[: out.rindex("}") + 1])
    assert report["partial"] and report["makespan_s"] > 0 and report["processes"] == 2, err
