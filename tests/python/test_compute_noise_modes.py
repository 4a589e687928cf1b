"""Factors of computing in modes: of patterns, of rank programs in Python, and of recorded runs alike."""

from __future__ import annotations

import pytest

import hopcast

US = 1e-6


def set_to(modes: str) -> dict[str, str]:
    return {"compute.model": "noise", "compute.noise.modes": modes}


def computing(comm) -> list[float]:
    """Times of 4,000 computations of 100 µs."""
    times = []
    for _ in range(4000):
        start = comm.Wtime()
        comm.compute(seconds=100 * US)
        times.append(comm.Wtime() - start)
    return times


def test_times_are_those_of_the_modes() -> None:
    """A share π = 0.25 of 4,000 is off by √(π (1 − π) / 4,000) = 0.007; four times that is allowed."""
    modes = '[{ weight = 0.75, mean = "1" }, { weight = 0.25, mean = "3" }]'
    times = hopcast.run("hopper", computing, 1, set=set_to(modes)).results[0]
    assert {round(time / US) for time in times} == {100, 300}
    assert sum(time > 200 * US for time in times) / len(times) == pytest.approx(0.25, abs=0.028)


def test_each_seed_draws_its_own_and_the_same_again() -> None:
    modes = set_to('[{ weight = 0.5, mean = "1" }, { weight = 0.5, mean = "2", deviation = "0.1" }]')
    runs = [hopcast.run("hopper", computing, 2, set=modes, seed=seed).outcome_hash for seed in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]


def test_what_is_no_factor_is_refused() -> None:
    with pytest.raises(hopcast.InputError, match="'2 us' is not a factor"):
        hopcast.run("hopper", computing, 1, set=set_to('[{ mean = "2 us" }]'))
