"""A replay that computes what was counted between the calls of a recording (`--compute-by`)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from test_replay import seconds
from written_traces import receive, send, slow_network, write

import hopcast
from hopcast.errors import InputError
from hopcast.options import of_replay

COUNTS = ("instructions", "flops")


@pytest.fixture
def question(tmp_path: Path) -> Path:
    """Rank 0 computes, then asks; rank 1 computes, then answers. Each message takes 1 ms.

    Recorded were 10 ms of each, on a machine that others used, too: 6 million instructions and 4 million
    floating-point operations on rank 0, half of both on rank 1.
    """
    work = {"gap_us": 10_000, "instructions": 6_000_000, "flops": 4_000_000}
    half = {"gap_us": 10_000, "instructions": 3_000_000, "flops": 2_000_000}
    asks, answers = [send(1, 1000) | work, receive(1)], [receive(0), send(0, 1000) | half]
    return write(tmp_path / "question.hct", [asks, answers], counts=COUNTS)


@pytest.mark.parametrize(
    "how, expected_s",
    [
        ({}, 10e-3 + 1e-3 + 10e-3 + 1e-3),
        # 6 and 3 million over 2 a nanosecond.
        ({"compute_by": "instructions=2e9/s"}, 3e-3 + 1e-3 + 1.5e-3 + 1e-3),
        ({"compute_by": "instructions=2 G/s"}, 3e-3 + 1e-3 + 1.5e-3 + 1e-3),
        # The platform's 1 Gflop/s, and a given rate.
        ({"compute_by": "flops"}, 4e-3 + 1e-3 + 2e-3 + 1e-3),
        ({"compute_by": "flops=4 Gflop/s"}, 1e-3 + 1e-3 + 0.5e-3 + 1e-3),
        ({"compute_by": "flops", "set": {"compute.flop_rate": "4 Gflop/s"}}, 1e-3 + 1e-3 + 0.5e-3 + 1e-3),
        # The later of: the question, after 3 ms; the answer, after 1.5 ms, which waits for nothing.
        ({"compute_by": "instructions=2e9/s", "ignore": "dependencies"}, 3e-3 + 1e-3),
        ({"compute_by": "flops", "ignore": "dependencies"}, 4e-3 + 1e-3),
    ],
)
def test_a_gap_is_its_count_over_the_rate(question: Path, how: dict, expected_s: float) -> None:
    # Sends and receives cost next to nothing on this platform.
    assert seconds(question, **how) == pytest.approx(expected_s, rel=1e-3)


def test_the_command_says_and_shows_it(question: Path, tmp_path: Path) -> None:
    slow_network(tmp_path)

    def command(*words: str | Path) -> subprocess.CompletedProcess:
        words = [sys.executable, "-m", "hopcast", *map(str, words)]
        return subprocess.run(words, capture_output=True, text=True, check=False)

    run = ["run", tmp_path / "slow.toml", question, "--model", "flow", "--json", "--compute-by"]
    report = json.loads(command(*run, "instructions=2e9/s").stdout)
    assert report["makespan_s"] == pytest.approx(6.5e-3, rel=1e-3)
    counts = json.loads(command("trace", "info", "--json", question).stdout)["counts"]
    assert [(count["name"], count["total"]) for count in counts] == [
        ("instructions", 9_000_000),
        ("flops", 6_000_000),
    ]
    assert "6000000 instructions, 4000000 flops" in command("trace", "dump", question).stdout
    refused = command(*run, "cycles=2e9/s")
    assert refused.returncode == 2
    assert "it counts instructions, flops" in refused.stderr


@pytest.mark.parametrize(
    "how, complaint",
    [
        (
            {"compute_by": "cycles=1e9/s"},
            "--compute-by: the recording does not say how many cycles there were",
        ),
        ({"compute_by": "instructions"}, "--compute-by instructions: how fast.* Write instructions=2.4e9/s"),
        ({"compute_by": "instructions=2400"}, "'2400' has no unit; write a rate like \"2.4e9/s\""),
        ({"compute_by": "instructions=0/s"}, "a rate is at least 1/s"),
        ({"compute_by": "flops=2.4e9/s"}, "unknown unit '/s'.* a compute rate takes one of: flop/s"),
        ({"compute_by": "instructions=1 G/s", "mode": "timestamps"}, "is for the mode dependencies"),
        ({"compute_by": "instructions=1 G/s", "ignore": "compute"}, "is for the mode dependencies"),
        (
            {"compute_by": "flops", "compute_scale": 2.0},
            "--compute-scale: is for recorded times, which --compute-by replaces",
        ),
    ],
)
def test_what_it_cannot_go_by_is_refused(question: Path, how: dict, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        seconds(question, **how)


def test_a_recording_that_counts_nothing_says_so(tmp_path: Path) -> None:
    plain = write(tmp_path / "plain.hct", [[send(1)], [receive(0)]])
    with pytest.raises(InputError, match=r"\(hopcast trace record --count\): it counts nothing"):
        seconds(plain, compute_by="flops")


def test_each_of_several_jobs_goes_by_its_own(question: Path, tmp_path: Path) -> None:
    """Two jobs do not meet: the one that computes by instructions is done when it would be alone."""
    slow_network(tmp_path)
    job = "[[job]]\nname = '{}'\nrun = 'question.hct'\n{}\n"
    both = job.format("counted", "compute_by = 'instructions=2e9/s'") + job.format("timed", "")
    (tmp_path / "jobs.toml").write_text(both)
    ends = [
        hopcast.run(tmp_path / "slow.toml", tmp_path / "jobs.toml", model="flow", only=[name]).makespan_s
        for name in ("counted", "timed")
    ]
    assert ends == pytest.approx([6.5e-3, 22e-3], rel=1e-3)


@pytest.mark.parametrize(
    "how",
    [
        {"mode": "timestamps"},
        {"mode": "timestamps", "time_shift": True},
        {"ignore": "dependencies"},
        {"rematch": True},
        {"check_clocks": False},
        {"compute_by": "flops"},
        {"compute_scale": 2},
        {"compute_scale": 0.5, "ignore": "dependencies"},
    ],
)
def test_the_keys_of_a_job_are_the_flags_of_a_run(how: dict, question: Path, tmp_path: Path) -> None:
    """A trace that is the only job takes as long as by itself, whatever says how it is replayed."""
    keys = "".join(f"{key} = {json.dumps(value)}\n" for key, value in how.items())
    (tmp_path / "jobs.toml").write_text(f"[[job]]\nrun = 'question.hct'\n{keys}")
    slow_network(tmp_path)
    alone = hopcast.run(tmp_path / "slow.toml", tmp_path / "jobs.toml", model="flow")
    assert alone.makespan_s == seconds(question, **how)


def test_every_flag_of_a_replay_is_a_key_of_a_job(tmp_path: Path) -> None:
    """A key that no job takes is refused, naming those that are known."""
    (tmp_path / "jobs.toml").write_text("[[job]]\nrun = 'ring'\ncompute-scale = 2\n")
    with pytest.raises(InputError) as refused:
        hopcast.run("crossbar", tmp_path / "jobs.toml")
    known = str(refused.value).partition("known: ")[2].split(", ")
    assert set(of_replay()) <= set(known)


@pytest.mark.parametrize(
    "value, complaint",
    [
        ("'twice'", "job 1: compute_scale is a number, not 'twice'"),
        ("true", "job 1: compute_scale is a number, not True"),
        ("-1.0", "--compute-scale: a finite factor of 0 or more, not -1"),
        ("2\nmode = 'timestamps'", "--compute-scale: is for --mode dependencies"),
    ],
)
def test_a_job_is_refused_what_a_run_is(value: str, complaint: str, question: Path, tmp_path: Path) -> None:
    (tmp_path / "jobs.toml").write_text(f"[[job]]\nrun = '{question.name}'\ncompute_scale = {value}\n")
    with pytest.raises(InputError, match=complaint):
        hopcast.run("crossbar", tmp_path / "jobs.toml")
