"""Statistics with known answers: textbooks' examples, closed forms, and shares of many drawn samples."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys

import numpy as np
import pyDOE3
import pytest

from hopcast.errors import InputError
from hopcast.statistics import aliases, discoveries, effects, intervals, modes, order, rankings

# Life of a battery in hours by material and temperature. Source: Montgomery, "Design and Analysis of
# Experiments", 5th edition, table 5-1; its analysis of variance is table 5-5.
BATTERIES = {
    (1, 15): (130, 155, 74, 180),
    (1, 70): (34, 40, 80, 75),
    (1, 125): (20, 70, 82, 58),
    (2, 15): (150, 188, 159, 126),
    (2, 70): (136, 122, 106, 115),
    (2, 125): (25, 70, 58, 45),
    (3, 15): (138, 110, 168, 160),
    (3, 70): (174, 120, 150, 139),
    (3, 125): (96, 104, 82, 60),
}
BATTERY_TABLE = {
    "material": [material for (material, _), lives in BATTERIES.items() for _ in lives],
    "temperature": [temperature for (_, temperature), lives in BATTERIES.items() for _ in lives],
    "one": [1 for lives in BATTERIES.values() for _ in lives],
    "life_h": [life for lives in BATTERIES.values() for life in lives],
}


def test_students_interval() -> None:
    """1 to 5: mean 3, s²/n = ½, t(0.975; 4) = 2.776445."""
    found = intervals.student([1, 2, 3, 4, 5])
    assert found.value == 3 and found.high - 3 == pytest.approx(2.776445 / math.sqrt(2), rel=1e-6)
    assert 3 - found.low == pytest.approx(found.high - 3) and 3 in found and 5 not in found
    assert math.isnan(intervals.student([7]).low)


def test_bootstrap_intervals_hold_the_mean_as_often_as_they_say() -> None:
    """90 % of 200 samples of 40: binomial, deviation 2.1 %; skewed samples fall a little short."""
    random = np.random.default_rng(5)
    held = [
        1.0 in intervals.bootstrap(random.gamma(2, 0.5, 40), confidence=0.9, resamples=999)
        for _ in range(200)
    ]
    assert 0.83 < np.mean(held) < 0.965


def test_bootstrap_interval_of_a_median_and_of_equal_values() -> None:
    found = intervals.bootstrap(np.arange(101.0), np.median)
    # Order statistics: the 95 % interval of a median of 101 is from the 41st to the 61st value.
    assert (
        found.value == 50 and found.low == pytest.approx(40, abs=3) and found.high == pytest.approx(60, abs=3)
    )
    assert (intervals.bootstrap([2, 2, 2]).low, intervals.bootstrap([2, 2, 2]).high) == (2, 2)
    assert found == intervals.bootstrap(np.arange(101.0), np.median)


def test_central_interval_is_of_quantiles() -> None:
    found = intervals.central(np.arange(101.0), confidence=0.9)
    assert (found.low, found.value, found.high) == pytest.approx((5, 50, 95))


@pytest.mark.parametrize("values", [[], [1.0, math.nan], [math.inf]])
def test_what_is_no_measurement_is_refused(values: list[float]) -> None:
    with pytest.raises(InputError, match="measurement"):
        intervals.bootstrap(values)


def test_runs_of_alternating_and_of_ordered_values() -> None:
    """Ten above and ten below: mean 11, variance 200 × 180/(400 × 19)."""
    deviation = math.sqrt(200 * 180 / (400 * 19))
    alternating = order.runs([0, 1] * 10)
    assert (alternating.count, alternating.expected) == (20, 11)
    assert alternating.z == pytest.approx(9 / deviation) and alternating.p_value < 1e-4
    ordered = order.runs(np.arange(20))
    assert ordered.count == 2 and ordered.z == pytest.approx(-9 / deviation)


def test_runs_of_independent_values_are_seldom_significant() -> None:
    random = np.random.default_rng(1)
    found = np.mean([order.runs(random.random(60)).p_value < 0.05 for _ in range(400)])
    assert 0.01 < found < 0.09  # binomial, four deviations


def test_drift_of_a_line_and_of_few_values() -> None:
    """Five values in order: the exact probability of either order is 2/5!."""
    found = order.drift([1, 3, 5, 7, 9], [0, 10, 20, 30, 40])
    assert found.slope == pytest.approx(0.2) and found.p_value == pytest.approx(2 / 120)
    assert found.change == pytest.approx(8 / 5)
    assert order.drift([4, 4, 4]).p_value == 1


def test_second_pass_beside_the_first() -> None:
    """Five values all above five others: probability 2/252."""
    found = order.passes([1, 2, 3, 4, 5, 11, 12, 13, 14, 15])
    assert found.p_value == pytest.approx(2 / 252) and found.ratio == pytest.approx(13 / 3)


def test_two_modes_are_found_with_their_shares() -> None:
    random = np.random.default_rng(3)
    values = np.concatenate([random.normal(10, 0.5, 700), random.normal(14, 0.5, 300)])
    found = modes.find(values)
    assert [mode.at for mode in found.modes] == pytest.approx([10, 14], abs=0.25)
    assert [mode.share for mode in found.modes] == pytest.approx([0.7, 0.3], abs=0.01)
    assert found.p_value < 0.05


def test_one_mode_is_not_split() -> None:
    """Silverman's test is conservative: at most 5 % of 40 normal samples, and those by chance."""
    random = np.random.default_rng(4)
    counts = [len(modes.find(random.normal(5, 1, 200)).modes) for _ in range(40)]
    assert sum(count > 1 for count in counts) <= 4
    assert modes.find([3.0, 3.0, 3.0, 3.0]).modes == (modes.Mode(3.0, 1.0),)


def test_analysis_of_variance_of_a_textbook() -> None:
    found = {
        line.factors: line
        for line in effects.analysis_of_variance(
            BATTERY_TABLE, ["material", "temperature", "one"], "life_h"
        ).terms
    }
    expected = {
        ("material",): (10683.72, 2, 7.91),
        ("temperature",): (39118.72, 2, 28.97),
        ("material", "temperature"): (9613.78, 4, 3.56),
    }
    for factors, (squares, freedom, f) in expected.items():
        line = found.pop(factors)
        assert line.squares == pytest.approx(squares, abs=0.01) and line.freedom == freedom
        assert line.f == pytest.approx(f, abs=0.005)
        assert line.share == pytest.approx(squares / 77646.97, rel=1e-5)
    residual = found.pop((effects.RESIDUAL,))
    assert residual.squares == pytest.approx(18230.75) and residual.freedom == 27 and not found


def test_equal_responses_are_nothing_to_analyse() -> None:
    table = {"a": [0, 0, 1, 1], "b": [0, 1, 0, 1], "y": [2.0] * 4}
    with pytest.raises(InputError, match="y is the same in all cells"):
        effects.analysis_of_variance(table, ["a", "b"], "y", order=1)


def test_main_effects_and_interactions_of_a_textbook() -> None:
    """Table 5-1: means 83.17, 108.33 and 125.08 by material, 105.53 of all."""
    material, temperature = effects.main_effects(BATTERY_TABLE, ["material", "temperature"], "life_h")
    assert [level.levels for level in temperature.levels] == [(15,), (70,), (125,)]
    assert [level.mean.value for level in material.levels] == pytest.approx(
        [83.1667, 108.3333, 125.0833], rel=1e-5
    )
    assert material.span == pytest.approx(125.0833 - 83.1667, rel=1e-5)
    (both,) = effects.interactions(BATTERY_TABLE, ["material", "temperature"], "life_h")
    # 4 Σ effect² is the interaction's sum of squares.
    assert 4 * sum(level.effect**2 for level in both.levels) == pytest.approx(9613.78, abs=0.01)


def test_effects_that_a_design_does_not_tell_apart_are_aliases() -> None:
    table = {"a": [0, 0, 1, 1], "b": [0, 0, 1, 1], "y": [1, 2, 3, 4]}
    found = effects.analysis_of_variance(table, ["a", "b"], "y")
    assert [line.factors for line in found.terms] == [("a",), (effects.RESIDUAL,)]
    assert found.terms[0].aliases == (("b",),)
    with pytest.raises(InputError, match="no column 'c'"):
        effects.main_effects(table, ["c"], "y")


def test_without_repetitions_the_highest_order_is_the_error() -> None:
    table = {"a": [0, 0, 1, 1], "b": [0, 1, 0, 1], "y": [1.0, 2.0, 3.0, 5.0]}
    lines = effects.analysis_of_variance(table, ["a", "b"], "y").terms
    # Squares of contrasts over 4: (5 + 3 - 2 - 1)², (5 + 2 - 3 - 1)², (5 + 1 - 2 - 3)².
    assert [line.squares for line in lines] == pytest.approx([25 / 4, 9 / 4, 1 / 4])
    assert [line.factors for line in lines] == [("a",), ("b",), (effects.RESIDUAL,)]
    assert lines[0].f == pytest.approx(25) and sum(line.share for line in lines) == pytest.approx(1)
    with pytest.raises(InputError, match="repeat"):
        effects.analysis_of_variance({"a": [0, 1], "y": [1.0, 2.0]}, ["a"], "y")


def fraction(generators: str) -> dict[str, list]:
    signs = pyDOE3.fracfact(generators)
    return {name: signs[:, number].tolist() for number, name in enumerate("abcdefgh"[: signs.shape[1]])}


def test_aliases_of_fractions_are_those_of_their_defining_relations() -> None:
    """2^(3-1), c = ab: each factor is the other two. 2^(4-1), d = abc: ab = cd, ac = bd, ad = bc."""
    found = aliases.of_design(fraction("a b ab"), "abc", 2)
    assert found.apart == [("a",), ("b",), ("c",)] and not found.lost
    assert found.aliases == {("c",): [("a", "b")], ("b",): [("a", "c")], ("a",): [("b", "c")]}
    found = aliases.of_design(fraction("a b c abc"), "abcd", 2)
    assert found.apart[4:] == [("a", "b"), ("a", "c"), ("a", "d")]
    assert found.aliases == {("a", "b"): [("c", "d")], ("a", "c"): [("b", "d")], ("a", "d"): [("b", "c")]}
    # 2^(5-1) with e = abcd has all interactions of two by themselves; a full factorial of three levels, too.
    assert not aliases.of_design(fraction("a b c d abcd"), "abcde", 2).aliases
    rows = list(itertools.product("xyz", "pq", "uv"))
    table = {name: [row[number] for row in rows] for number, name in enumerate("abc")}
    assert not aliases.of_design(table, "abc", 2).aliases and not aliases.of_design(table, "abc", 2).lost


def test_an_analysis_of_a_fraction_finds_the_effects_under_their_aliases() -> None:
    """2^(6-2), 16 cells, with e = abc, f = bcd: y = 10 + 3 a + 2 b d, bd = cf; squares: 16 effect²."""
    table = fraction("a b c d abc bcd")
    noise = [0.01 * (-1) ** (number * number // 3) for number in range(16)]
    table["y"] = [
        10 + 3 * a + 2 * b * d + e
        for a, b, d, e in zip(table["a"], table["b"], table["d"], noise, strict=True)
    ]
    found = effects.analysis_of_variance(table, list("abcdef"), "y")
    by_name = {line.factors: line for line in found.terms}
    assert found.order == 2 and not found.lost
    assert by_name["a",].squares == pytest.approx(16 * 9, rel=0.01)
    assert by_name["b", "d"].squares == pytest.approx(16 * 4, rel=0.01)
    assert by_name["b", "d"].aliases == (("c", "f"),)
    assert by_name["b", "d"].p_value < 1e-3 and by_name["c",].share < 1e-4
    assert sum(line.share for line in found.terms) == pytest.approx(1)


def test_terms_of_an_incomplete_design_that_it_tells_in_part_are_named() -> None:
    """Three by three levels without a corner: of the interaction's four columns one is left."""
    rows = [(a, b) for a in range(3) for b in range(3) if a == 0 or b == 0] + [(1, 1)]
    table = {
        "a": [a for a, _ in rows],
        "b": [b for _, b in rows],
        "y": [a + b + 0.1 * a * b for a, b in rows],
    }
    found = effects.analysis_of_variance(table, ["a", "b"], "y")
    assert found.lost == (("a", "b"),)
    assert [line.factors for line in found.terms] == [("a",), ("b",), (effects.RESIDUAL,)]


def test_rankings_and_their_agreement() -> None:
    places = rankings.ranked({"a": [3, 3.1], "b": [1, 1.1], "c": [1.05, 1.15]}, smaller_is_better=True)
    assert [place.name for place in places] == ["b", "c", "a"]
    assert [place.tied for place in places] == [True, True, False]
    first, second = dict(zip("abcd", [1, 2, 3, 4], strict=True)), dict(zip("abcd", [1, 2, 4, 3], strict=True))
    found = rankings.agreement(first, second, smaller_is_better=False)
    # One of six pairs is the other way: τ = (5 - 1)/6; d is chosen, 3, where 4 was to be had.
    assert found.tau == pytest.approx(2 / 3) and found.regret == pytest.approx(1 / 4)
    assert rankings.agreement(first, second, smaller_is_better=True).regret == 0


def test_false_discoveries_of_the_source() -> None:
    """Benjamini and Hochberg's example, section 3.2: four of fifteen at 5 %, where Bonferroni keeps three."""
    p_values = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240]
    p_values += [0.4262, 0.5719, 0.6528, 0.7590, 1.0]
    assert discoveries.accepted(p_values, 0.05).tolist() == [True] * 4 + [False] * 11
    assert discoveries.expected_false(944, 0.9999) == pytest.approx(0.0944)


def test_the_command_line_loads_no_statistics() -> None:
    code = "import sys, hopcast.cli, hopcast.statistics; print({'scipy', 'pandas'} & set(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "set()"
