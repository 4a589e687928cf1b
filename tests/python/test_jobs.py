"""Files of several jobs: what they may say, what a run reports, and how much jobs slow each other down."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import hopcast
from hopcast.errors import InputError
from hopcast.report.html import page
from hopcast.report.screen import console, screen

MESH = """
name = "mesh"
[topology]
kind = "mesh"
sizes = [3, 3]
[link]
bandwidth = "5 GB/s"
latency = "0 s"
[host]
processes = 1
[host.memory]
latency = "0 s"
bandwidth = "5 GB/s"
[nic]
bandwidth = "infinite"
latency = "0.3 s"
[mpi]
eager_limit = "1 TiB"
[compute]
flop_rate = "1 Gflop/s"
"""

JOBS = """
[[job]]
name = "far"
run = "incast --bytes '1 GB'"
ranks = 2
hosts = "1,8"

[[job]]
run = "incast --bytes '1 GB'"
ranks = 2
hosts = "4,7"
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "mesh.toml").write_text(MESH)
    (tmp_path / "jobs.toml").write_text(JOBS)
    return tmp_path


def run(files: Path, **how) -> hopcast.Report:
    return hopcast.run(files / "mesh.toml", files / "jobs.toml", model="flow", **how)


def test_jobs_that_share_a_link_slow_each_other_down(files: Path):
    """1 GB takes 0.6 s + 0.2 s at 5 GB/s, and 0.6 s + 0.4 s at half of it, as in the scenario shared-link."""
    report = run(files, alone=True)
    assert [job["name"] for job in report.jobs] == ["far", "incast"]
    assert [job["makespan_s"] for job in report.jobs] == [1.0, 1.0]
    assert [job["alone_s"] for job in report.jobs] == [0.8, 0.8]
    assert [job["slowdown"] for job in report.jobs] == [1.25, 1.25]
    assert report.table("ranks")["job"].to_pylist() == ["far", "far", "incast", "incast"]
    out = console()
    with out.capture() as shown:
        out.print(screen(report.summary, 100))
    assert "slowdown" in shown.get()
    assert "1.25" in shown.get()
    assert "<td>incast</td>" in page(report)
    assert run(files, only=["incast"]).makespan_s == 0.8


def test_a_recording_can_be_one_of_the_jobs(files: Path):
    data = Path(os.environ.get("HOPCAST_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
    recording = data / "dumpi-sst" / "testtrace-0000.bin"
    if not recording.exists():
        pytest.skip(f"no recorded data at {data}")
    (files / "jobs.toml").write_text(f"[[job]]\nname = 'recorded'\nrun = '{recording}'\n" + JOBS)
    with_others = hopcast.run("crossbar", files / "jobs.toml", model="loggp", only=["recorded"], ppn=1)
    assert with_others.makespan_s == hopcast.run("crossbar", recording, model="loggp", ppn=1).makespan_s


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "it has no job"),
        ("jobs = 3", "unknown key 'jobs'; known: [[job]]"),
        ("[[job]]\nranks = 2", "job 1: run is missing"),
        ("[[job]]\nrun = 'ring'\nrank = 2", "job 1: unknown key 'rank'; known: name, run"),
        ("[[job]]\nrun = 'ring'\nranks = 0", "job 1: ranks is a whole number from 1"),
        ("[[job]]\nrun = 'ring'\nranks = 2\nmode = 'none'", "job 1: mode is for traces, and 'ring' is none"),
        (
            "[[job]]\nrun = 'rign'\nranks = 2",
            "job 'rign': rign: unknown pattern 'rign'; known: halo1d",
        ),
        ("[[job]]\nrun = 'ring --bytes'\nranks = 2", "job 1: ring: --bytes needs a value"),
        ("[[job]]\nrun = 'ring'\nranks = 2\nstart = '3'", "job 'ring': start: "),
        ("[[job]]\nrun = 'ring'", "job 'ring': -n: is missing"),
        ("[[job]]\nrun = 'ring'\nranks = 2\nhosts = '0-9'", "job 'ring': hosts: no host 9: there are 9"),
        ("[[job", "jobs.toml: "),
    ],
)
def test_what_is_wrong_with_a_file_of_jobs_is_named(files: Path, text: str, complaint: str):
    (files / "jobs.toml").write_text(text)
    with pytest.raises(InputError) as error:
        run(files)
    assert complaint in str(error.value)


@pytest.mark.parametrize(
    ("how", "complaint"),
    [
        ({"ranks": 4}, "-n 4: each job has its own number of ranks"),
        ({"only": ["near"]}, "--only near: no job is called so; known: far, incast"),
        ({"args": ["x"]}, "a file of jobs takes no arguments"),
    ],
)
def test_flags_that_do_not_fit_are_refused(files: Path, how: dict, complaint: str):
    with pytest.raises(InputError) as error:
        run(files, **how)
    assert complaint in str(error.value)
    with pytest.raises(InputError, match="only: it is for a file of several jobs, and 'ring' is a pattern"):
        hopcast.run("crossbar", "ring", ranks=2, only=["ring"])
