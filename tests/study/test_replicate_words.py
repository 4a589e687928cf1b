"""Words of replicates: an interval, or that nothing is random."""

from __future__ import annotations

from hopcast.study.replicates import Replicates


def of(*makespans_s: float) -> Replicates:
    """Replicates of no source, whose interval is that of the middle."""
    middle = sorted(makespans_s)[len(makespans_s) // 2]
    return Replicates(makespans_s, middle, middle, middle, 0.1, (), 1.0)


def test_only_equal_times_are_called_equal() -> None:
    assert of(*[1.0] * 30).lines() == ["1.000 s in all 30 replicates: nothing in this run is random"]
    first = of(*[1.0] * 29, 2.0).lines()[0]
    assert first == "1.00 s, 90 % between 1.00 and 1.00 s (30 replicates)"
