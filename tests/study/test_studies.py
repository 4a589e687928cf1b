"""Studies as commands: tables, pages, failures, and what is killed goes on."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import in_process
import pytest
from pyarrow import parquet

import hopcast

HOPCAST = [sys.executable, "-m", "hopcast"]

HALO = """
platform = "fat-tree"
workload = "halo3d"
[options]
ranks = 64
[factors]
"--bytes" = ["1 KiB", "64 KiB"]
model = ["flow", "max-rate"]
[responses]
rate = "sent_B / makespan_s"
"""

SLOW = """
platform = "fat-tree"
workload = "halo3d --iterations 4"
[options]
ranks = 1024
model = "flow"
[factors]
"--bytes" = { from = 1000, to = 20000, step = 1000, unit = "B" }
"""


def study(folder: Path, text: str, *words: str) -> subprocess.CompletedProcess:
    (folder / "study.toml").write_text(text)
    return in_process.hopcast("study", "study.toml", "--out", "out", *words, folder=folder)


def started(folder: Path, text: str, *words: str) -> subprocess.Popen:
    (folder / "study.toml").write_text(text)
    command = [*HOPCAST, "study", "study.toml", "--out", "out", *words]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def kept(folder: Path) -> int:
    """Results in the store of a study that runs; it is copied, since the study has it for itself."""
    with tempfile.TemporaryDirectory() as place:
        for file in (folder / "out").glob("pieces.sqlite*"):
            with contextlib.suppress(FileNotFoundError):  # the store removes files of its own
                shutil.copy(file, place)
        connection = sqlite3.connect(Path(place) / "pieces.sqlite")
        try:
            return connection.execute("SELECT count(*) FROM pieces").fetchone()[0]
        except sqlite3.DatabaseError:
            return 0
        finally:
            connection.close()


def wait_for(folder: Path, results: int) -> None:
    until_s = time.monotonic() + 120
    while kept(folder) < results:
        assert time.monotonic() < until_s, "the study makes no progress"
        time.sleep(0.02)


def test_each_cell_is_what_a_run_predicts(tmp_path: Path) -> None:
    done = study(tmp_path, HALO)
    assert done.returncode == 0, done.stderr
    assert "4 cells: 4 done" in done.stdout
    rows = parquet.read_table(tmp_path / "out" / "results.parquet").to_pylist()
    assert len(rows) == 4
    for row in rows:
        report = hopcast.run("fat-tree", "halo3d", 64, kwargs={"bytes": row["--bytes"]}, model=row["model"])
        assert (row["makespan_s"], row["outcome_hash"]) == (report.makespan_s, report.outcome_hash)
        assert row["rate"] == report.bytes / report.makespan_s
        assert row["transfer_s"] == report.time["transfer_s"] / 64
    page = (tmp_path / "out" / "study.html").read_text()
    assert "makespan_s by --bytes" in page and "rate by model" in page
    costs = parquet.read_table(tmp_path / "out" / "costs.parquet").to_pylist()
    assert all(row["wall_s"] > 0 for row in costs)


def test_nothing_is_repeated_and_what_is_new_is_run(tmp_path: Path) -> None:
    study(tmp_path, HALO)
    again = study(tmp_path, HALO.replace('"64 KiB"', '"64 KiB", "2 KiB"'))
    assert "6 cells: 6 done, 4 of them from before" in again.stdout
    other = study(tmp_path, HALO + 'double = "2 * makespan_s"\n')
    assert "4 cells: 4 done, 4 of them from before" in other.stdout, "a response is made of results"
    rows = parquet.read_table(tmp_path / "out" / "results.parquet").to_pylist()
    assert all(row["double"] == 2 * row["makespan_s"] for row in rows)
    bad = study(tmp_path, HALO + 'bad = "1 / (messages - messages)"\n')
    assert "cell 0 failed: " in bad.stderr and "division by zero" in bad.stderr and bad.returncode == 3


def test_reports_are_linked(tmp_path: Path) -> None:
    study(tmp_path, HALO)
    done = study(tmp_path, HALO, "--reports")
    assert "from before" not in done.stdout, "cells without a report are run again"
    page = (tmp_path / "out" / "study.html").read_text()
    for number in range(4):
        link = f"reports/{number:06}/report.html"
        assert link in page and (tmp_path / "out" / link).is_file()
    ranking = page[page.index('<table id="ranking">') :].partition("</table>")[0]
    best = min(
        parquet.read_table(tmp_path / "out" / "results.parquet").to_pylist(),
        key=lambda row: row["makespan_s"],
    )
    first = ranking.split("<tr>")[2]
    assert f'href="reports/{best["cell"]:06}/report.html"' in first and best["model"] in first
    assert "makespan_s by --bytes and model" in page, "a picture of the interaction"
    assert "4 of them from before" in study(tmp_path, HALO, "--reports").stdout


def test_repetitions_give_the_ranking_intervals_and_the_analysis_an_error(tmp_path: Path) -> None:
    text = HALO.replace("halo3d", "uniform").replace("[factors]", "[factors]\nseed = [1, 2, 3]")
    done = study(tmp_path, text + '[ranking]\nby = "rate"\nbest = "largest"\n')
    assert done.returncode == 0, done.stderr
    rows = parquet.read_table(tmp_path / "out" / "results.parquet").to_pylist()
    page = (tmp_path / "out" / "study.html").read_text()
    first = page[page.index('<table id="ranking">') :].split("<tr>")[2].partition("</tr>")[0]
    means: dict = {}
    for row in rows:
        means.setdefault((row["--bytes"], row["model"]), []).append(row["rate"])
    best = max(means, key=lambda levels: sum(means[levels]))
    assert best[0] in first and best[1] in first and " to " in first, first
    cells = [row["cell"] for row in rows if (row["--bytes"], row["model"]) == best]
    assert all(f'href="#cell-{cell}"' in first and f'<tr id="cell-{cell}">' in page for cell in cells)
    assert "seed ×" not in page and "× seed" not in page, "seeds are the error"


def test_a_cell_that_fails_is_a_row_that_says_why(tmp_path: Path) -> None:
    (tmp_path / "half.py").write_text(
        "import sys\n\ndef main(comm):\n"
        "    if sys.argv[1] == 'hang' and comm.rank == 0:\n        comm.recv(source=1)\n"
    )
    text = 'platform = "fat-tree"\nworkload = "half.py {what}"\n[options]\nranks = 2\n'
    done = study(tmp_path, text + '[factors]\nwhat = ["go", "hang"]\n')
    assert done.returncode == 3
    rows = parquet.read_table(tmp_path / "out" / "results.parquet").to_pylist()
    assert [row["state"] for row in rows] == ["done", "failed"]
    assert "deadlock" in rows[1]["why"] and rows[1]["makespan_s"] is None
    assert rows[1]["why"] in (tmp_path / "out" / "study.html").read_text().replace("&#39;", "'")


def test_a_worker_that_dies_costs_its_cell_alone_and_the_cell_runs_again(tmp_path: Path) -> None:
    (tmp_path / "dies.py").write_text(
        "import os, sys\n\ndef main(comm):\n    if sys.argv[1] == '2' and not os.path.exists('healed'):\n"
        "        os.kill(os.getpid(), 9)\n"
    )
    text = 'platform = "fat-tree"\nworkload = "dies.py {n}"\n[options]\nranks = 2\n'
    text += "[factors]\nn = { from = 0, to = 4 }\n"
    study(tmp_path, text)
    rows = parquet.read_table(tmp_path / "out" / "results.parquet").to_pylist()
    assert [row["state"] for row in rows] == ["done", "done", "lost", "done", "done"]
    assert "SIGKILL" in rows[2]["why"]
    (tmp_path / "healed").touch()
    again = study(tmp_path, text)
    assert "5 cells: 5 done, 4 of them from before" in again.stdout


def test_a_cell_that_takes_too_long_has_failed(tmp_path: Path) -> None:
    (tmp_path / "sleeps.py").write_text("import time\n\ndef main(comm):\n    time.sleep(60)\n")
    text = 'platform = "fat-tree"\nworkload = "sleeps.py"\n[options]\nranks = 1\n'
    done = study(tmp_path, text, "--limit", "0.5 s")
    assert done.returncode == 3
    assert "took longer than 0.5 s" in done.stderr


def test_killed_twice_at_random_and_continued_it_gives_the_same_table(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    whole.mkdir(), killed.mkdir()
    assert study(whole, SLOW, "--quiet").returncode == 0
    for least in sorted(random.sample(range(1, 10), 2)):
        process = started(killed, SLOW, "--quiet")
        wait_for(killed, least)
        process.kill()
        process.communicate()
        assert not (killed / "out" / "results.parquet").exists()
    before = kept(killed)
    done = study(killed, SLOW, "--quiet")
    assert f"20 cells: 20 done, {before} of them from before" in done.stdout
    same = [(folder / "out" / "results.parquet").read_bytes() for folder in (whole, killed)]
    assert same[0] == same[1]


def workers_of(process: int) -> list[int]:
    children = Path(f"/proc/{process}/task/{process}/children")
    return [int(word) for word in children.read_text().split()]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks at /proc")
@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_an_end_in_order_leaves_a_table_and_no_end_leaves_workers(
    tmp_path: Path, end: signal.Signals
) -> None:
    process = started(tmp_path, SLOW.replace("20000", "400000"), "--quiet")
    wait_for(tmp_path, 3)
    workers = workers_of(process.pid)
    assert workers
    process.send_signal(end)
    out, error = process.communicate(timeout=60)
    if end is not signal.SIGKILL:
        assert process.returncode == 130, error
        assert "not run" in out and "the same command goes on" in error
        rows = parquet.read_table(tmp_path / "out" / "results.parquet").to_pylist()
        assert {row["state"] for row in rows} == {"done", "lost"}
    until_s = time.monotonic() + 10
    while any(is_alive(worker) for worker in workers):
        assert time.monotonic() < until_s, "a worker outlived its study"
        time.sleep(0.1)


def is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_two_studies_do_not_share_a_folder(tmp_path: Path) -> None:
    process = started(tmp_path, SLOW.replace("20000", "400000"), "--quiet")
    try:
        wait_for(tmp_path, 1)
        second = study(tmp_path, SLOW)
        assert second.returncode == 2
        assert "another process works on this folder" in second.stderr
    finally:
        process.terminate()
        process.communicate()


def test_other_files_stay(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").touch()
    done = study(tmp_path, HALO)
    assert done.returncode == 2
    assert "holds thesis.tex" in done.stderr


def test_cells_are_listed_without_a_run(tmp_path: Path) -> None:
    done = study(tmp_path, HALO, "--list")
    assert len(done.stdout.splitlines()) == 4
    assert not (tmp_path / "out").exists()


def test_the_help_loads_no_heavy_library() -> None:
    code = (
        "import sys\nfrom hopcast.cli import commands\n"
        "try:\n    commands.main(['study', '--help'])\nexcept SystemExit:\n    pass\n"
        "import json; json.dump(sorted(sys.modules), sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=dict(os.environ))
    loaded = set(json.loads(done.stderr))
    assert "hopcast.cli.study" in loaded
    assert not loaded & {"numpy", "pandas", "pyarrow", "scipy", "dask", "pebble", "asyncssh"}
