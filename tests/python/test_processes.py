"""Runs that are spread over the processes of a real MPI give what one process gives."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hopcast.report.store import read

HOPCAST = str(Path(sys.executable).with_name("hopcast"))
# That of the MPI which pip has installed beside us, of what HOPCAST_MPIEXEC names, or the system's.
BESIDE = Path(sys.executable).with_name("mpiexec")
MPIEXEC = os.environ.get("HOPCAST_MPIEXEC", str(BESIDE) if BESIDE.exists() else "mpiexec")
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith(("PMI_", "OMPI_", "PMIX_"))}
# Open MPI refuses root, and more processes than cores; MPICH ignores this.
CLEAN |= {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    # It gives processes a terminal, too.
    "TERM": "dumb",
}
REAL = {"made_by", "wall_s", "setup_s", "peak_rss_B", "threads", "processes"}


VENDOR = """
from mpi4py import MPI
assert MPI.COMM_WORLD.size == 2
if MPI.COMM_WORLD.rank == 0: print(MPI.get_vendor()[0])
"""


def _vendor() -> tuple[str, str | None]:
    """Vendor of the MPI, and the reason why runs cannot be spread over processes here, if they cannot."""
    line = [MPIEXEC, "-n", "2", sys.executable, "-c", VENDOR]
    try:
        done = subprocess.run(line, env=CLEAN, capture_output=True, text=True, timeout=60)
    except FileNotFoundError:
        return "", f"there is no {MPIEXEC}"
    except subprocess.TimeoutExpired:
        return "", f"{MPIEXEC} does not start two processes"
    if done.returncode == 0:
        return done.stdout.splitlines()[0], None
    return "", f"mpi4py is not there, or does not find the MPI of {MPIEXEC}: {done.stderr}"


MPI, MISSING = _vendor()
# Where the tools of the tests have been installed, these tests run, or fail.
LACKS = MISSING is not None and not BESIDE.exists()
pytestmark = pytest.mark.skipif(LACKS, reason=f"runs over processes are not tested: {MISSING}")


def launch(processes: int, *words: str, **options) -> subprocess.CompletedProcess:
    line = [MPIEXEC, "-n", str(processes), HOPCAST, "run", *words]
    return subprocess.run(line, env=CLEAN, capture_output=True, text=True, timeout=180, **options)


@pytest.mark.parametrize("processes", [2, 3])
@pytest.mark.parametrize(
    "line",
    [
        "hopper -n 48 --ppn 4 --model loggp --records 200 alltoall --bytes 64KiB",
        "hopper -n 48 --ppn 4 --model max-rate --placement random halo3d --bytes 100kB --iterations 3",
        "dragonfly -n 40 --ppn 2 --model postal --threads 2 random-ring --bytes 8B --iterations 4",
        "hopper -n 24 --ppn 2 --statistics links --model packet --placement random alltoall --bytes 1kB",
        "crossbar -n 24 --ppn 3 --model loggp --stop-at 500us allreduce --bytes 1MB",
    ],
)
def test_reports_and_tables_are_those_of_one_process(tmp_path: Path, processes: int, line: str) -> None:
    head, tail = line.rsplit(" --model ", 1)
    reports = []
    for launcher in ([], [MPIEXEC, "-n", str(processes)]):
        folder = tmp_path / str(len(reports))
        words = [HOPCAST, "run", *head.split(), "--quiet", "--out", str(folder), "--model", *tail.split()]
        done = subprocess.run([*launcher, *words], env=CLEAN, capture_output=True, text=True, timeout=180)
        assert done.returncode == 0, done.stderr
        assert all(line.startswith("warning: ") for line in done.stderr.splitlines()), done.stderr
        assert done.stdout.count("outcome") == 1, "one process reports"
        reports.append(read(folder))
    one, several = reports
    assert several.summary["processes"] == processes
    assert several.summary["threads"] >= processes
    assert _without_real(one.summary) == _without_real(several.summary)
    for name in one.tables:
        assert one.tables[name].equals(several.tables[name]), name


def _without_real(summary: dict) -> dict:
    # Outputs of the packet model look for credits a little more or less often, see docs/determinism.md.
    left_out = REAL | ({"events"} if summary["model"] == "packet" else set())
    return {key: value for key, value in summary.items() if key not in left_out}


def test_a_deadlock_is_found_across_processes(tmp_path: Path) -> None:
    program = tmp_path / "stuck.py"
    program.write_text("def main(comm):\n    comm.recv(source=0)\n")
    done = launch(2, "crossbar", "-n", "4", "--json", str(program))
    assert done.returncode == 3
    report = json.loads(done.stdout)
    assert report["failure"]["kind"] == "deadlock" and len(report["failure"]["ranks"]) == 4
    why = "2 processes: one thread is used: "
    assert any(warning.startswith(why) for warning in report["warnings"]), "the model flow cannot be cut"


def test_a_program_stops_at_a_time(tmp_path: Path) -> None:
    program = tmp_path / "endless.py"
    program.write_text("def main(comm):\n    while True:\n        comm.barrier()\n")
    words = ["crossbar", "-n", "4", "--stop-at", "50us", "--json", str(program)]
    one, two = (json.loads(launch(processes, *words).stdout) for processes in (1, 2))
    assert one["stopped"]["at_s"] == 50e-6 and one["calls"][0]["count"] > 4
    assert _without_real(one) | {"warnings": two["warnings"]} == _without_real(two)


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


LONG = "hopper -n 48 --ppn 4 --model loggp --out report halo2d --iterations 100000000"


@contextlib.contextmanager
def long_run(folder: Path, words: str = LONG) -> Iterator[tuple[subprocess.Popen, list[int]]]:
    """A launch that goes on for hours, and the numbers of its two processes, once they simulate."""
    line = [MPIEXEC, "-n", "2", HOPCAST, "run", *words.split()]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    launched = subprocess.Popen(line, env=CLEAN, cwd=folder, start_new_session=True, **pipes)
    processes: list[int] = []
    try:
        assert "events/s" in launched.stderr.readline()  # comes after two seconds of simulation
        processes = _processes_of(launched.pid)
        assert len(processes) == 2
        yield launched, processes
    finally:
        for process in [launched.pid, *processes]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        launched.wait()


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
        if HOPCAST in words[:2] and session in ancestors:
            found.append(int(entry.name))
    return found


def _ancestors(process: int) -> list[int]:
    found = []
    while process > 1:
        # The second field, the name, may hold spaces; the parent is the second word after it.
        process = int(Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[1])
        found.append(process)
    return found


@pytest.mark.parametrize("victim", [0, 1])
def test_a_process_that_dies_ends_the_run_with_a_message(tmp_path: Path, victim: int) -> None:
    with long_run(tmp_path) as (launched, processes):
        os.kill(sorted(processes)[victim], signal.SIGKILL)
        out, err = launched.communicate(timeout=20)
        assert launched.returncode != 0
        assert "signal 9" in out + err or "KILLED" in out + err or "Killed" in out + err
        _wait_for_the_end_of(processes)
    assert not (tmp_path / "report").exists()


def _wait_for_the_end_of(processes: list[int]) -> None:
    for _ in range(100):
        if not any(Path(f"/proc/{process}").exists() for process in processes):
            return
        time.sleep(0.1)
    raise AssertionError("a process is left behind")


def test_ctrl_c_leaves_a_partial_report(tmp_path: Path) -> None:
    """MPICH passes it on to the processes; Open MPI ends them at once, so that one of them must be told."""
    with long_run(tmp_path) as (launched, processes):
        os.kill(processes[-1] if MPI == "Open MPI" else launched.pid, signal.SIGINT)
        out, err = launched.communicate(timeout=60)
    assert "A partial result: stopped at " in out, err
    report = read(tmp_path / "report")
    assert report.summary["stopped"]["by"] == "interrupt" and report.summary["processes"] == 2
    at = f"{report.summary['makespan_s'] * 1e12:.0f}ps"
    again = launch(1, *LONG.replace("--out report", f"--json --stop-at {at}").split())
    assert json.loads(again.stdout)["outcome_hash"] == report.summary["outcome_hash"]


def test_ctrl_c_leaves_a_partial_report_of_a_program_that_the_first_process_runs(tmp_path: Path) -> None:
    (tmp_path / "endless.py").write_text(
        "def main(comm):\n    while True:\n        comm.compute(seconds=1e-6)\n        comm.allreduce(1)\n"
    )
    with long_run(tmp_path, "crossbar -n 8 --out report endless.py") as (launched, processes):
        targets = sorted(processes) if MPI == "Open MPI" else [launched.pid]
        for target in targets:
            os.kill(target, signal.SIGINT)
        out, err = launched.communicate(timeout=60)
    assert "A partial result: stopped at " in out, err
    assert read(tmp_path / "report").summary["ranks_finished"] == 0


def test_the_launcher_passes_on_who_asks_where_the_run_stands(tmp_path: Path) -> None:
    with long_run(tmp_path) as (launched, _):
        os.kill(launched.pid, signal.SIGUSR1)
        # A busy machine may print its progress in between.
        lines = itertools.islice(launched.stderr, 20)
        standing = next((line for line in lines if "events/s" not in line), "")
    assert re.match(r"0 of 48 ranks done, \d+ messages? in flight, furthest behind is rank \d+", standing)


@pytest.mark.skipif(MPI != "MPICH", reason="it is MPICH that would end the process")
def test_a_launcher_of_open_mpi_is_refused_before_mpich_ends() -> None:
    started = {
        "OMPI_COMM_WORLD_RANK": "0",
        "OMPI_COMM_WORLD_SIZE": "2",
        "PMIX_NAMESPACE": "job",
        "PMIX_RANK": "0",
    }
    line = [HOPCAST, "run", "crossbar", "-n", "4", "ring"]
    done = subprocess.run(line, env=CLEAN | started, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: 2 processes: they talk through mpi4py, which cannot be used: it uses MPICH, and mpiexec is "
        "Open MPI's; install it with pip install 'hopcast[mpi]', for the MPI that mpiexec belongs to\n"
    )
