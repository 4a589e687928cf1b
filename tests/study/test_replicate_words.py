"""Words of replicates: an interval, or that nothing is random."""

from __future__ import annotations

import subprocess
import sys

import numpy
import pytest

from hopcast.study.replicates import Replicates, confidence, interval


def of(*makespans_s: float) -> Replicates:
    """Replicates of no source, whose interval is that of the middle."""
    middle = sorted(makespans_s)[len(makespans_s) // 2]
    return Replicates(makespans_s, middle, middle, middle, 0.1, (), 1.0)


def test_only_equal_times_are_called_equal() -> None:
    assert of(*[1.0] * 30).lines() == ["1.000 s in all 30 replicates: nothing in this run is random"]
    first = of(*[1.0] * 29, 2.0).lines()[0]
    assert first == "1.00 s, 90 % between 1.00 and 1.00 s (30 replicates)"


@pytest.mark.parametrize("count", [3, 8, 19, 20, 50])
def test_an_interval_holds_what_it_says(count: int) -> None:
    """A share of 20,000 further draws of a skewed distribution is known to a standard error of 0.3 %."""
    generator = numpy.random.default_rng(3)
    draws = generator.lognormal(0, 0.5, (20_000, count + 1))
    held = sum(low <= row[-1] <= high for row in draws for low, _, high in [interval(row[:-1])])
    assert held / len(draws) == pytest.approx(confidence(count), abs=0.01)
    assert confidence(count) == (0.9 if count >= 19 else (count - 1) / (count + 1))


def test_a_live_page_is_of_one_run() -> None:
    words = ["run", "crossbar", "-n", "2", "--live", "--replicates", "3", "pingpong"]
    done = subprocess.run(
        [sys.executable, "-m", "hopcast", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2 and "--live shows one run" in done.stderr, done.stderr
