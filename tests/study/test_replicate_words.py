"""Words of replicates: an interval, or that nothing is random."""

from __future__ import annotations

import subprocess
import sys

from hopcast.study.replicates import Replicates


def of(*makespans_s: float) -> Replicates:
    """Replicates of no source, whose interval is that of the middle."""
    middle = sorted(makespans_s)[len(makespans_s) // 2]
    return Replicates(makespans_s, middle, middle, middle, 0.1, (), 1.0)


def test_only_equal_times_are_called_equal() -> None:
    assert of(*[1.0] * 30).lines() == ["1.000 s in all 30 replicates: nothing in this run is random"]
    first = of(*[1.0] * 29, 2.0).lines()[0]
    assert first == "1.00 s, 90 % between 1.00 and 1.00 s (30 replicates)"


def test_a_live_page_is_of_one_run() -> None:
    words = ["run", "crossbar", "-n", "2", "--live", "--replicates", "3", "pingpong"]
    done = subprocess.run(
        [sys.executable, "-m", "hopcast", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2 and "--live shows one run" in done.stderr, done.stderr
