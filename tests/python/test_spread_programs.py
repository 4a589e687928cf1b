"""Rank programs in Python whose ranks are spread over the processes of a real MPI: the same bits."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from test_processes import MPI, _without_real, launch, long_run, pytestmark  # noqa: F401

from hopcast.report.store import read

EVERYTHING = str(Path(__file__).with_name("spread_program.py"))


@pytest.mark.parametrize(
    "line",
    [
        "hopper -n 24 --ppn 4 --model loggp",
        "crossbar -n 12 --ppn 3 --model postal --records 100",
        "dragonfly -n 20 --ppn 2 --model max-rate --placement random",
        "hopper -n 12 --ppn 2 --model packet --placement random",
    ],
)
def test_contents_reports_and_output_are_those_of_one_process(tmp_path: Path, line: str) -> None:
    printed, reports = [], []
    for processes in (1, 2, 3):
        folder = tmp_path / str(processes)
        done = launch(processes, *line.split(), "--out", str(folder), EVERYTHING)
        assert done.returncode == 0, done.stderr
        reports.append(read(folder))
        printed.append([text for text in done.stdout.splitlines() if text.startswith("rank ")])
        assert reports[-1].summary["threads"] == processes
    one = reports[0]
    assert len(printed[0]) == one.summary["ranks"]
    for text, several in zip(printed[1:], reports[1:], strict=True):
        assert text == printed[0], "what ranks have received, in the order of simulated time"
        assert _without_real(several.summary) == _without_real(one.summary)
        for name in one.tables:
            assert one.tables[name].equals(several.tables[name]), name


FAILURES = {
    "exception": "comm.barrier()\nif comm.rank == comm.size - 1:\n    raise ValueError('of the last')\n",
    "exception of the first": "if comm.rank == 1:\n    raise ValueError('early')\ncomm.barrier()\n",
    "deadlock": "comm.barrier()\ncomm.recv(source=(comm.rank + 1) % comm.size)\n",
    "mismatch": "comm.bcast(None, root=comm.rank // (comm.size - 1), nbytes=8)\n",
    "truncation": (
        "if comm.rank == 0:\n    comm.send(None, dest=comm.size - 1, nbytes=80)\n"
        "if comm.rank == comm.size - 1:\n    comm.recv(source=0, nbytes=24)\n"
    ),
    "abort": "if comm.rank == comm.size - 1:\n    comm.Abort(7)\ncomm.barrier()\n",
    "misuse": "if comm.rank == comm.size - 1:\n    comm.send(1, dest=99)\ncomm.barrier()\n",
}


@pytest.mark.parametrize("name", FAILURES)
def test_failures_in_any_process_are_those_of_one_process(tmp_path: Path, name: str) -> None:
    body = "".join(f"    {line}\n" for line in FAILURES[name].splitlines())
    (tmp_path / "fails.py").write_text(f"def main(comm):\n{body}")
    words = ["hopper", "-n", "12", "--ppn", "2", "--model", "loggp", "--json", "fails.py"]
    one, three = (launch(processes, *words, cwd=tmp_path) for processes in (1, 3))
    assert one.returncode == three.returncode == 3, three.stderr
    one, three = json.loads(one.stdout), json.loads(three.stdout)
    assert three["processes"] == 3
    assert one["failure"]["kind"] == name.split()[0]
    assert one["failure"] == three["failure"], "with the places and the traceback"
    assert one["failure"]["ranks"][0]["place"].startswith("fails.py:")
    assert one["outcome_hash"] == three["outcome_hash"]


def test_errors_of_ranks_elsewhere_are_shown_and_their_ends_run(tmp_path: Path) -> None:
    (tmp_path / "ends.py").write_text(
        "import sys\n"
        "def main(comm):\n"
        "    sys.stderr.write(f'to standard error {comm.rank}\\n')\n"
        "    try:\n"
        "        comm.recv(source=comm.rank)\n"
        "    finally:\n"
        "        print('ended', comm.rank)\n"
    )
    done = launch(2, "hopper", "-n", "4", "--ppn", "1", "--model", "loggp", "ends.py", cwd=tmp_path)
    assert done.returncode == 3
    for rank in range(4):
        assert f"ended {rank}\n" in done.stdout and f"to standard error {rank}\n" in done.stderr


def test_threads_are_one_in_each_process(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("def main(comm):\n    comm.allreduce(1)\n")
    words = ["hopper", "-n", "8", "--ppn", "1", "--model", "loggp", "--threads", "2", "--json", "one.py"]
    report = json.loads(launch(2, *words, cwd=tmp_path).stdout)
    assert (report["processes"], report["threads"]) == (2, 2)
    why = "--threads 2: one thread in each process is used: the ranks of such a program share one"
    assert why in report["warnings"]


def test_a_program_stops_at_a_time_in_all_processes(tmp_path: Path) -> None:
    (tmp_path / "endless.py").write_text("def main(comm):\n    while True:\n        comm.allreduce(1)\n")
    words = [
        "hopper",
        "-n",
        "8",
        "--ppn",
        "2",
        "--model",
        "loggp",
        "--stop-at",
        "50us",
        "--json",
        "endless.py",
    ]
    one, two = (json.loads(launch(processes, *words, cwd=tmp_path).stdout) for processes in (1, 2))
    assert one["stopped"]["at_s"] == 50e-6 and one["calls"][0]["count"] > 4
    assert _without_real(one) == _without_real(two)


def test_ctrl_c_leaves_a_partial_report_of_a_program_in_processes(tmp_path: Path) -> None:
    (tmp_path / "endless.py").write_text(
        "def main(comm):\n    while True:\n        comm.compute(seconds=1e-6)\n        comm.allreduce(1)\n"
    )
    words = "hopper -n 8 --ppn 2 --model loggp --out report endless.py"
    with long_run(tmp_path, words) as (launched, processes):
        os.kill(processes[-1] if MPI == "Open MPI" else launched.pid, signal.SIGINT)
        out, err = launched.communicate(timeout=60)
    assert "A partial result: stopped at " in out, err
    report = read(tmp_path / "report")
    assert report.summary["stopped"]["by"] == "interrupt" and report.summary["processes"] == 2
    at = f"{report.summary['makespan_s'] * 1e12:.0f}ps"
    again = launch(1, *words.replace("--out report", f"--json --stop-at {at}").split(), cwd=tmp_path)
    assert json.loads(again.stdout)["outcome_hash"] == report.summary["outcome_hash"]
