"""Arguments of `hopcast.run`: none is ignored, and wrong ones are refused before anything is simulated."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import hopcast
from hopcast import overrides

HOPCAST = Path(sys.executable).parent / "hopcast"


def says(words: str, folder: Path | None = None) -> subprocess.CompletedProcess:
    """Runs the command as a user would."""
    return subprocess.run([HOPCAST, *words.split()], cwd=folder, capture_output=True, text=True, timeout=60)


def test_arguments_of_a_pattern_are_those_of_the_command_line() -> None:
    def outcome(**how) -> str:
        return hopcast.run("crossbar", "allreduce", 16, **how).outcome_hash

    assert outcome(args=["--bytes", "3 KiB"]) == outcome(kwargs={"bytes": "3 KiB"}) != outcome()
    with pytest.raises(hopcast.InputError, match=r"allreduce: unexpected argument '64'; write --name value"):
        outcome(args=[64])
    with pytest.raises(hopcast.InputError, match="bytes is given twice"):
        outcome(args=["--bytes=1B"], kwargs={"bytes": "2B"})


def test_a_trace_takes_no_arguments(tmp_path: Path) -> None:
    (tmp_path / "trace").mkdir()
    with pytest.raises(hopcast.InputError, match="a trace takes no arguments, but here is 'bytes'"):
        hopcast.run("crossbar", tmp_path / "trace", kwargs={"bytes": "2B"})


def test_flags_of_programs_may_be_a_dict() -> None:
    with pytest.raises(
        hopcast.InputError, match="live: unknown option 'comput' of compiled programs; known: compute, "
    ):
        hopcast.run("crossbar", "ring", 2, live={"comput": "none"})
    with pytest.raises(
        hopcast.InputError, match="stack_size: it is for a compiled program or an mpi4py program"
    ):
        hopcast.run("crossbar", "ring", 2, live={"stack_size": "1MiB"})


def test_a_folder_that_cannot_be_written_is_told_before_anything_runs() -> None:
    """Nobody makes a folder in /proc, not even root."""
    began = []
    with pytest.raises(hopcast.InputError, match="--out /proc/report: cannot write into /proc"):
        hopcast.run("crossbar", began.append, 2, out="/proc/report")
    assert began == []


def test_quantities_are_understood_in_the_spellings_of_the_field() -> None:
    def outcome(bandwidth: str, rate: str) -> str:
        values = {"nic.bandwidth": bandwidth, "compute.flop_rate": rate}
        return hopcast.run("crossbar", "allreduce", 256, set=values, kwargs={"bytes": "1 MiB"}).outcome_hash

    assert (
        outcome("100 Gb/s", "40 GFLOPS")
        == outcome("100Gbps", "40 GFLOP/s")
        == outcome("12.5 GB/s", "40 Gflop/s")
    )


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["a.b=1", "a.c=1", " a.b = 2"], "--set a.b is given twice; give it once"),
        (["a.b=1", "a.b=1", "a.b=1"], "--set a.b is given 3 times; give it once"),
    ],
)
def test_a_value_is_overridden_once(flags: list[str], said: str) -> None:
    with pytest.raises(hopcast.InputError, match=f"^{re.escape(said)}$"):
        overrides.pairs_of(flags)


@pytest.mark.parametrize(
    ("flag", "words"),
    [
        ("--set nic.bandwidth", "run crossbar -n 2 --set nic.bandwidth=1GB/s --set nic.bandwidth=2GB/s ring"),
        ("--set a.b", "platform show crossbar --set a.b=1 --set a.b=2"),
        ("--set a.b", "tune crossbar -n 2 --library mpich --collectives bcast --set a.b=1 --set a.b=2"),
        ("--uncertain a.b", "run crossbar -n 2 --replicates 2 --uncertain a.b=1% --uncertain a.b=2% ring"),
    ],
)
def test_a_key_that_is_given_twice_is_bad_input(flag: str, words: str) -> None:
    done = says(words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"error: {flag} is given twice; give it once\n"


@pytest.mark.parametrize(
    "words",
    [
        "run pipe -n 2 ring",
        "run ./pipe -n 2 ring",
        "run crossbar -n 2 --placement pipe ring",
        "run --request pipe",
        "study pipe",
        "tune crossbar -n 2 --library mpich --collectives bcast --base pipe",
        "compare pipe pipe",
        "cluster fit pipe -o model.toml",
        "cluster draw pipe -o nodes.csv --nodes 2",
        "regress add pipe",
    ],
)
def test_a_named_pipe_is_refused_instead_of_awaited(words: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    done = says(words, tmp_path)
    assert done.returncode == 2, done.stderr
    assert "pipe: " in done.stderr and "it is a named pipe, for whose writer hopcast" in done.stderr


def test_a_named_pipe_is_no_folder_to_watch_and_one_in_it_is_no_run(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    done = says("watch pipe", tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: pipe: is no folder; name the one of --out, into which the run writes\n"
    (tmp_path / "out" / "live").mkdir(parents=True)
    os.mkfifo(tmp_path / "out" / "live" / "run.json")
    os.mkfifo(tmp_path / "out" / "report.json")
    done = says("watch out --wait 0.2", tmp_path)
    assert done.returncode == 2 and "no run writes rows here" in done.stderr


def test_a_platform_may_be_the_output_of_a_command() -> None:
    shell = 'exec "$0" run <("$0" platform show crossbar) -n 2 --quiet ring'
    line = ["bash", "-c", shell, HOPCAST]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout == says("run crossbar -n 2 --quiet ring").stdout
