"""Lines and breakpoints: closed forms, and the published series where they are."""

from __future__ import annotations

import numpy as np
import pytest

from hopcast.calibrate import lines, piecewise

MEMCPY = (
    (16_000, 4.27e-8, 1.777e-11),
    (1_460_387, 0.0, 5.289e-11),
    (5_629_667, 0.0, 8.907e-11),
    (None, 0.0, 1.9218e-10),
)
"""Ends, start-ups [s] and slopes [s/B] of a memory copy (Cornebize, thesis, 2021, 4.3.2: three
breakpoints)."""
NOISES = {
    "none": lambda random, x: np.zeros_like(x),
    "the same for all": lambda random, x: random.normal(0, 5e-9, len(x)),
    "of the size": lambda random, x: random.normal(0, 2e-12 * x),
}


def memcpy_s(x: np.ndarray) -> np.ndarray:
    """The time of a copy by those lines."""
    ends = [end for end, _, _ in MEMCPY[:-1]]
    places = np.searchsorted(ends, x, side="left")
    return np.array([MEMCPY[place][1] for place in places]) + np.array([MEMCPY[p][2] for p in places]) * x


def test_weighted_least_squares_goes_through_points_on_a_line():
    x = np.array([1.0, 10.0, 100.0, 1000.0])
    line = lines.least_squares(x, 3 + 2 * x, 1 / x)
    assert line.intercept == pytest.approx(3) and line.slope == pytest.approx(2)


def test_standard_errors_are_those_of_the_textbook():
    """Slope error √(s² / Sxx): residuals ±1, ∓1 around y = x at 0, 1, 2, 3, with s² = 4/2 and Sxx = 5."""
    x = np.array([0.0, 1.0, 2.0, 3.0])
    residuals = np.array([1.0, -1.0, -1.0, 1.0])  # orthogonal to 1 and x
    line = lines.least_squares(x, x + residuals)
    assert line.slope == pytest.approx(1)
    assert line.slope_error == pytest.approx(np.sqrt(2 / 5))
    assert line.intercept_error == pytest.approx(np.sqrt(2 * (1 / 4 + 1.5**2 / 5)))


def test_the_logarithmic_fit_of_two_points_a_size_is_their_geometric_mean():
    """At each of two sizes times are f·√2 and f/√2: the logarithm's least squares goes through f."""
    x = np.array([10.0, 10.0, 1e6, 1e6])
    f = 1e-6 + 1e-9 * x
    line = lines.log_line(x, f * np.array([2**0.5, 2**-0.5] * 2))
    assert line.intercept == pytest.approx(1e-6, rel=1e-9) and line.slope == pytest.approx(1e-9, rel=1e-9)
    assert line.residual == pytest.approx(4 * np.log(2**0.5) ** 2)


def test_a_falling_time_has_no_slope():
    x = np.array([1.0, 2.0, 3.0, 4.0])
    line = lines.log_line(x, np.array([4.0, 3.0, 2.0, 1.0]))
    assert line.slope == 0 and line.intercept == pytest.approx(24**0.25) and np.isnan(line.slope_error)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("objective", piecewise.OBJECTIVES)
@pytest.mark.parametrize("method", ["both", "top-down"])
def test_a_copy_has_exactly_its_three_breakpoints(noise: str, objective: str, method: str):
    x = np.unique(np.append(np.floor(10 ** np.linspace(0.3, 8.5, 200)), [16_000, 1_460_387, 5_629_667]))
    for seed in range(3):
        y = memcpy_s(x) + NOISES[noise](np.random.default_rng(seed), x)
        found = piecewise.learn(x[y > 0], y[y > 0], objective=objective, method=method)
        assert found.breakpoints == (16_000, 1_460_387, 5_629_667)


def test_bottom_up_finds_a_jump_between_two_of_its_first_ranges():
    x = np.arange(1.0, 51.0)
    found = piecewise.learn(x, np.where(x <= 25, 1 + x, 1000 + x), method="bottom-up")
    assert found.breakpoints == (25.0,)


def test_one_line_with_noise_has_no_breakpoint():
    x = np.unique(np.floor(10 ** np.linspace(0, 6, 300)))
    for seed in range(5):
        y = (1e-6 + 1e-10 * x) * np.exp(0.1 * np.random.default_rng(seed).standard_normal(len(x)))
        assert piecewise.learn(x, y).breakpoints == ()


def test_scatter_between_neighbours_is_the_deviation_of_the_noise():
    """4,000 sizes: the median of 41 squares lies within some 30 % of σ², its median over sizes much
    closer."""
    x = np.linspace(1e3, 1e6, 4000)
    y = (1e-6 + 1e-9 * x) * np.exp(0.03 * np.random.default_rng(1).standard_normal(len(x)))
    assert np.median(piecewise.scatter_of(x, y)) == pytest.approx(0.03, rel=0.15)


def test_wanted_accuracy_decides_which_bends_are_regimes():
    """A bend of 3 %: a regime to 1 %, none to 5 %."""
    x = np.unique(np.floor(10 ** np.linspace(2, 6, 200)))
    y = np.where(x <= 10_000, 1e-6 + 1e-9 * x, 1.03 * (1e-6 + 1e-9 * x))
    assert piecewise.learn(x, y, accuracy=0.01).breakpoints == (x[x <= 10_000][-1],)
    assert piecewise.learn(x, y, accuracy=0.05).breakpoints == ()


def test_unknown_names_are_told_with_the_known():
    with pytest.raises(ValueError, match="unknown method 'greedy'; known: both, top-down, bottom-up"):
        piecewise.learn([1, 2], [1, 2], method="greedy")
    with pytest.raises(ValueError, match="unknown objective 'rss'; known: noise, program"):
        piecewise.learn([1, 2], [1, 2], objective="rss")
