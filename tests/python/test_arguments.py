"""Arguments of `hopcast.run`: none is ignored, and wrong ones are refused before anything is simulated."""

from __future__ import annotations

from pathlib import Path

import pytest

import hopcast


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
