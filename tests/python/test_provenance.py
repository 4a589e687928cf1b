"""Provenance of reports: overrides, options, the platform in full, inputs and their hashes, versions."""

from __future__ import annotations

import hashlib
import json
import platform as python_platform
import shlex
import subprocess
import sys
import tarfile
from datetime import datetime
from pathlib import Path

import written_traces

import hopcast

HOPCAST = Path(sys.executable).with_name("hopcast")


def _run(folder: Path, *words: str) -> dict:
    command = [HOPCAST, "run", words[0], "--out", "report", "--quiet", *words[1:]]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return json.loads((folder / "report" / "report.json").read_text())["made_by"]


def _inputs(made: dict) -> dict[str, dict]:
    return {entry["role"]: entry for entry in made["inputs"]}


def test_command_options_overrides_and_platform(tmp_path: Path) -> None:
    words = ["crossbar", "-n", "4", "--ppn", "2", "--set", "nic.latency=3 us", "pingpong", "--bytes", "64KiB"]
    made = _run(tmp_path, *words)
    assert made["command"] == ["hopcast", "run", "crossbar", "--out", "report", "--quiet", *words[1:]]
    assert made["directory"] == str(tmp_path)
    assert made["overrides"] == [{"key": "nic.latency", "value": "3 us"}]
    assert made["options"] | {"ranks": 4, "ppn": 2, "seed": 1, "threads": 1} == made["options"]
    assert made["arguments"] == ["bytes=64KiB"]
    assert made["platform"]["name"] == "crossbar"
    assert 'latency = "3 us"' in made["platform"]["toml"]
    assert "processes_per_host = 2" in made["platform"]["toml"]
    assert made["hopcast_version"] == hopcast.__version__
    assert made["python"] == python_platform.python_version()
    assert made["host"] == python_platform.node()
    assert abs((datetime.now().astimezone() - datetime.fromisoformat(made["date"])).total_seconds()) < 3600


def test_the_platform_in_full_makes_the_same_again(tmp_path: Path) -> None:
    first = hopcast.run("crossbar", "alltoall", ranks=8, set={"nic.latency": "3 us"}, seed=5)
    copy = tmp_path / "copy.toml"
    copy.write_text(first.made_by["platform"]["toml"])
    again = hopcast.run(copy, "alltoall", ranks=8, seed=first.made_by["options"]["seed"])
    assert again.outcome_hash == first.outcome_hash
    assert _inputs(again.made_by)["platform"]["sha256"] == hashlib.sha256(copy.read_bytes()).hexdigest()
    assert first.made_by["command"] is None
    assert first.made_by["overrides"] == [{"key": "nic.latency", "value": "3 us"}]


def test_a_program_file_is_named_with_size_and_hash(tmp_path: Path) -> None:
    program = tmp_path / "ring.py"
    program.write_text("def main(comm):\n    comm.barrier()\n")
    made = _run(tmp_path, "crossbar", "-n", "4", "ring.py", "--own", "flag")
    entry = _inputs(made)["program"]
    assert entry["path"] == str(program)
    assert entry["size_B"] == program.stat().st_size
    assert entry["sha256"] == hashlib.sha256(program.read_bytes()).hexdigest()
    assert made["arguments"] == ["--own", "flag"]


def test_a_rank_function_is_named_by_its_file() -> None:
    report = hopcast.run("crossbar", lambda comm: comm.barrier(), ranks=2)
    entry = _inputs(report.made_by)["program"]
    assert entry["path"] == str(Path(__file__).resolve())
    assert entry["sha256"] == hashlib.sha256(Path(__file__).read_bytes()).hexdigest()


def test_a_trace_of_several_files_has_the_hash_of_their_list(tmp_path: Path) -> None:
    folder = tmp_path / "trace"
    written_traces.write(folder, [[written_traces.allreduce()] for _ in range(2)])
    listed = subprocess.run(
        "LC_ALL=C sha256sum $(LC_ALL=C ls)", shell=True, cwd=folder, capture_output=True, check=True
    )
    report = hopcast.run("crossbar", folder)
    entry = _inputs(report.made_by)["trace"]
    assert entry["files"] == len(list(folder.iterdir()))
    assert entry["size_B"] == sum(file.stat().st_size for file in folder.iterdir())
    assert entry["sha256"] == hashlib.sha256(listed.stdout).hexdigest()
    archive = tmp_path / "trace.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(folder, "trace")
    entry = _inputs(hopcast.run("crossbar", archive).made_by)["trace"]
    assert (entry["files"], entry["sha256"]) == (1, hashlib.sha256(archive.read_bytes()).hexdigest())


def test_jobs_name_their_file_and_their_traces(tmp_path: Path) -> None:
    folder = tmp_path / "trace"
    written_traces.write(folder, [[written_traces.allreduce()] for _ in range(2)])
    jobs = tmp_path / "two.toml"
    jobs.write_text('[[job]]\nrun = "trace"\nname = "first"\n[[job]]\nrun = "alltoall"\nranks = 4\n')
    inputs = _inputs(hopcast.run("crossbar", jobs).made_by)
    assert inputs["jobs"]["sha256"] == hashlib.sha256(jobs.read_bytes()).hexdigest()
    assert inputs["trace of job 'first'"]["files"] == len(list(folder.iterdir()))


def test_neither_date_nor_host_is_part_of_the_outcome() -> None:
    first, again = (hopcast.run("crossbar", "alltoall", ranks=8) for _ in range(2))
    again.summary["made_by"]["date"] = "another"
    assert first.outcome_hash == again.outcome_hash


def test_three_reports_are_compared_by_what_differs(tmp_path: Path) -> None:
    for name, latency in (("a", "1 us"), ("b", "2 us"), ("c", "4 us")):
        hopcast.run("crossbar", "pingpong", ranks=2, set={"nic.latency": latency}, out=tmp_path / name)
    done = subprocess.run(
        [HOPCAST, "compare", "a", "b", "c", "--out", "page.html"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    differs = next(number for number, line in enumerate(lines) if line.startswith("What differs"))
    results = next(number for number, line in enumerate(lines) if line.startswith("Results"))
    assert differs < results
    latency = [line for line in lines[differs:results] if line.startswith("nic.latency")]
    assert [line.split() for line in latency] == [["nic.latency", *["1", "us", "2", "us", "4", "us"]]]
    assert "seed" not in "".join(lines[differs:results])
    assert "nic.latency" in (tmp_path / "page.html").read_text()
    one = subprocess.run([HOPCAST, "compare", "a"], cwd=tmp_path, capture_output=True, text=True)
    assert one.returncode == 2
    assert "two reports or more" in one.stderr


def test_the_page_shows_the_command_as_a_shell_takes_it(tmp_path: Path) -> None:
    words = ["crossbar", "-n", "2", "--set", "nic.latency=3 us", "pingpong"]
    _run(tmp_path, *words)
    text = (tmp_path / "report" / "report.html").read_text()
    command = shlex.join(["hopcast", "run", "crossbar", "--out", "report", "--quiet", *words[1:]])
    assert command.replace("'", "&#39;") in text
