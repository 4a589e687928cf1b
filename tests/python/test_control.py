"""Runs that are stopped, at a simulated time or by a signal, and runs that are asked where they stand."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import hopcast
from hopcast import signals
from hopcast.report import causes, read

HOPCAST = str(Path(sys.executable).with_name("hopcast"))
DATA = Path(os.environ.get("HOPCAST_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
UNIT = Path(__file__).parent / "program" / "unit.toml"  # without overheads: all at one instant
LONG = "run hopper -n 64 --ppn 4 --model loggp halo2d --iterations 100000000"
# Real and simulated time, events and their rate, share; ranks done, messages in flight, and who is behind.
STATUS = re.compile(
    r"[\d.]+ s: simulated [\d.]+ [µm]?s, [\d.,]+( million)? events, [\d.,]+( million)? events/s, "
    r"< 0.1 % done, .* left\n"
    r"0 of 64 ranks done, \d+ messages? in flight, "
    r"furthest behind is rank \d+, in its call since [\d.]+ [µm]?s\n"
)


def run(*words: object, **options) -> subprocess.CompletedProcess:
    line = [HOPCAST, "run", *map(str, words)]
    return subprocess.run(line, capture_output=True, text=True, timeout=120, **options)


def start(line: str, cwd: Path) -> subprocess.Popen:
    """A run that goes on for hours, once it simulates."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen([HOPCAST, *line.split()], cwd=cwd, **pipes)
    assert "events/s" in process.stderr.readline()  # comes after two seconds of simulation
    return process


def check_partial(folder: Path, by: str) -> dict:
    """Everything in a report says that it is partial, and where it stopped; gives its summary."""
    report = read(folder)
    summary, ranks = report.summary, report.tables["ranks"].to_pydict()
    stopped = summary["stopped"]
    assert (summary["partial"], summary["failure"], stopped["by"]) == (True, None, by)
    assert stopped["at_s"] == summary["makespan_s"] > 0
    unfinished = [rank for rank, call in enumerate(ranks["stands_in"]) if call]
    assert len(unfinished) == summary["ranks"] - summary["ranks_finished"] > 0
    first = min(unfinished, key=lambda rank: (ranks["reached_s"][rank], rank))
    behind = stopped["behind"][0]
    assert (behind["rank"], behind["since_s"]) == (first, ranks["reached_s"][first])
    assert behind["call"].startswith(ranks["stands_in"][first])
    assert max(ranks["reached_s"]) <= summary["makespan_s"]
    page = (folder / "report.html").read_text()
    assert "A partial result: stopped at " in page and "furthest behind" in page
    return summary


def test_a_pattern_stops_at_a_time_on_any_number_of_threads(tmp_path: Path) -> None:
    words = ["hopper", "-n", "48", "--ppn", "4", "--model", "loggp", "--stop-at", "0.25ms"]
    pattern = ["halo3d", "--iterations", "100", "--bytes", "4KiB"]
    hashes = set()
    for threads in (1, 2, 3):
        folder = tmp_path / str(threads)
        done = run(*words, "--threads", threads, "--out", folder, *pattern)
        assert (done.returncode, done.stderr) == (0, "")
        assert "A partial result: stopped at 250.0 µs as was asked for, 0 of 48 ranks done\n" in done.stdout
        assert "Simulated until  250.0 µs\n" in done.stdout
        summary = check_partial(folder, "stop-at")
        assert (summary["makespan_s"], summary["threads"]) == (0.25e-3, threads)
        hashes.add(summary["outcome_hash"])
    assert len(hashes) == 1


def test_a_program_stops_at_a_time_with_the_places_of_its_ranks(tmp_path: Path) -> None:
    (tmp_path / "unequal.py").write_text(
        "def main(comm):\n"
        "    comm.compute(seconds=1e-3 * (comm.rank + 1))\n"
        "    if comm.rank > 0:\n"
        "        comm.recv(source=comm.rank - 1)\n"
    )
    done = run("crossbar", "-n", 3, "--stop-at", "2.5ms", "--out", "report", "unequal.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    summary = check_partial(tmp_path / "report", "stop-at")
    assert summary["ranks_finished"] == 1
    behind = [
        (rank["rank"], rank["call"], rank["since_s"], rank["place"]) for rank in summary["stopped"]["behind"]
    ]
    assert behind[0] == (2, "compute", 0.0, "unequal.py:2 in main")
    assert behind[1][:1] + behind[1][2:] == (1, 0.002, "unequal.py:4 in main")
    assert behind[1][1].startswith("MPI_Recv")
    ranks = read(tmp_path / "report").tables["ranks"].to_pydict()
    assert ranks["reached_s"] == [0.001, 0.002, 0.0]
    assert ranks["stands_in"] == ["", "MPI_Recv", "compute"]


def test_a_trace_stops_at_a_time(tmp_path: Path) -> None:
    trace = DATA / "dumpi-to-graph" / "synthetic" / "naive_all_to_all" / "procs4" / "run_0"
    if not trace.exists():
        pytest.skip("no recorded traces: set HOPCAST_DATA")
    done = run("hopper", "--stop-at", "1ms", "--out", tmp_path / "report", trace)
    assert done.returncode == 0, done.stderr
    assert check_partial(tmp_path / "report", "stop-at")["makespan_s"] == 1e-3


def test_a_function_stops_at_a_time_and_nothing_is_raised() -> None:
    def program(comm):
        comm.compute(seconds=1.0)
        return comm.rank

    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)]
    report = hopcast.run("crossbar", program, ranks=2, stop_at="0.25 s")
    assert report.partial and report.makespan_s == 0.25 and report.results == [None, None]
    report = hopcast.run("crossbar", program, ranks=2, stop_at="1 s")
    assert not report.partial and report.results == [0, 1]
    assert before == [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)]


@pytest.mark.parametrize(
    ("value", "why"), [("5", "has no unit"), ("5 GB", "unknown unit 'GB'"), ("-1s", "negative")]
)
def test_a_time_to_stop_at_is_a_time(tmp_path: Path, value: str, why: str) -> None:
    done = run("crossbar", "-n", 2, "--stop-at", value, "--out", tmp_path / "report", "ring")
    assert done.returncode == 2
    assert f"error: --stop-at: '{value}'" in done.stderr or f"in '{value}'" in done.stderr
    assert why in done.stderr and not (tmp_path / "report").exists()
    with pytest.raises(hopcast.InputError, match="stop_at: a time with its unit"):
        hopcast.run("crossbar", lambda comm: None, ranks=2, stop_at=5)


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="this system has no SIGUSR1")
@pytest.mark.parametrize(("threads", "end"), [(1, signal.SIGTERM), (2, signal.SIGINT)])
def test_a_run_says_where_it_stands_and_stops(tmp_path: Path, threads: int, end: signal.Signals) -> None:
    process = start(f"{LONG} --threads {threads} --out report", tmp_path)
    os.kill(process.pid, signal.SIGUSR1)
    said = process.stderr.readline() + process.stderr.readline()
    assert STATUS.fullmatch(said), said
    process.send_signal(end)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "A partial result: stopped at " in out and "by an interrupt, 0 of 64 ranks done" in out
    check_partial(tmp_path / "report", "interrupt")


def test_a_run_that_was_interrupted_is_the_one_up_to_that_time(tmp_path: Path) -> None:
    process = start(f"{LONG} --threads 2 --json", tmp_path)
    process.send_signal(signal.SIGINT)
    interrupted = json.loads(process.communicate(timeout=60)[0])
    at = f"{interrupted['makespan_s'] * 1e12:.0f}ps"
    again = json.loads(run(*LONG.split()[1:], "--json", "--stop-at", at).stdout)
    assert again["outcome_hash"] == interrupted["outcome_hash"]


def test_the_status_of_a_run_in_words() -> None:
    look = (1024, 1023, 1, (1.5e-3, 17))
    text = signals.status(2e-3, 3_000_000, (300_000.0, 1e-3), 10.0, 0.25, look)
    first = "10.0 s: simulated 2.000 ms, 3.00 million events, 300,000 events/s, 25.0 % done, 30 s left\n"
    second = "1,023 of 1,024 ranks done, 1 message in flight, "
    assert text == f"{first}{second}furthest behind is rank 17, in its call since 1.500 ms\n"
    assert signals.status(0.0, 0, (0.0, 0.0), 0.1, None, (1, 1, 0, None)).count("\n") == 2


def test_the_second_ctrl_c_breaks_a_run_off_but_not_the_same_one_twice() -> None:
    """Launchers pass a Ctrl-C on to processes that have had it from the terminal."""
    watch = signals.Signals(None)
    with watch:
        assert watch(0.0, 0, None, None) == signals.GO_ON
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        assert watch(0.0, 0, None, None) == signals.STOP
        time.sleep(0.6)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_long_instant_is_not_waited_for(tmp_path: Path, threads: int) -> None:
    """3,072 ranks begin an all-to-all at time zero: 9 million messages, which take long to begin."""
    line = f"run {UNIT} -n 3072 --model loggp --threads {threads} --json alltoall --bytes 16KiB"
    process = start(f"{line} --algorithm linear", tmp_path)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    summary = json.loads(out)
    stopped = summary["stopped"]
    assert (summary["partial"], stopped["by"]) == (True, "interrupt")
    # At time zero, unless this machine was so busy that the signal came late, for which there is no bound.
    assert 0 < summary["messages"] <= 3072 * 3071
    # It breaks an instant off and says so, unless it could end that one in the time that it gives itself.
    broken_off = any("only a part is in this report" in text for text in summary["warnings"])
    assert broken_off == (stopped["whole_until_s"] is not None)
    assert not broken_off or stopped["whole_until_s"] <= stopped["at_s"]


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_a_rank_that_computes_for_ever_is_broken_off(tmp_path: Path, end: signal.Signals) -> None:
    (tmp_path / "program.py").write_text(
        "def main(comm):\n"
        "    comm.barrier()\n"
        "    print('here', flush=True)\n"
        "    while comm.rank == 1:\n"
        "        pass\n"
    )
    words = [HOPCAST, "run", "crossbar", "-n", "2", "--quiet", "program.py"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(words, cwd=tmp_path, **pipes) as process:
        assert [process.stdout.readline() for _ in range(2)] == ["here\n"] * 2
        time.sleep(0.2)
        process.send_signal(end)
        out, error = process.communicate(timeout=30)
    assert process.returncode == 130, error
    assert out.endswith("partial\n") and "Traceback" not in error


@pytest.mark.parametrize(("stop", "whole"), [("300us", False), ("50us", True)])
def test_time_of_calls_that_have_not_ended_is_called_so(tmp_path: Path, stop: str, whole: bool) -> None:
    words = [
        "--stop-at",
        stop,
        "--model",
        "packet",
        "--out",
        tmp_path / "out",
        "alltoall",
        "--bytes",
        "64KiB",
    ]
    done = run("crossbar", "-n", 64, "--ppn", 1, *words, "--iterations", 4)
    assert done.returncode == 0, done.stderr
    summary = read(tmp_path / "out").summary
    shares = {words: share for _, words, share in causes.split(summary)}
    known_s = summary["time"]["compute_s"] + summary["time"]["transfer_s"] + summary["time"]["waiting_s"]
    of_all = known_s / (summary["ranks"] * summary["makespan_s"])
    assert shares[causes.OPEN_CALLS] == pytest.approx(1 - of_all) and sum(shares.values()) == pytest.approx(1)
    assert (of_all == 0) == whole
    assert (
        causes.OPEN_CALLS in done.stdout and causes.OPEN_CALLS in (tmp_path / "out/report.html").read_text()
    )
