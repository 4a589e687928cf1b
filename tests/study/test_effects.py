"""Effects of a study's factors: means, intervals, analysis of variance, and values as places on an axis."""

from __future__ import annotations

import pytest

from hopcast.study.effects import analysis, effects, quantities


def rows(*cells: tuple[object, object, float]) -> list[dict]:
    return [{"a": a, "b": b, "makespan_s": value, "state": "done"} for a, b, value in cells]


def test_effects_are_means_over_what_varies_beside_the_largest_first() -> None:
    table = rows((1, "x", 1.0), (1, "y", 2.0), (2, "x", 5.0), (2, "y", 6.0))
    table.append({"a": 3, "b": "x", "makespan_s": None, "state": "failed"})
    first, second = effects(table, ["b", "a"], "makespan_s")
    assert (first.factor, second.factor) == ("a", "b")
    assert [(level.value, level.mean, level.least, level.most) for level in first.levels] == [
        (1, 1.5, 1.0, 2.0),
        (2, 5.5, 5.0, 6.0),
    ]
    # Two values 1 and 2: 1.5 ± t(0.95; 1) · s/√2 = 6.3138 · 0.7071/1.4142
    assert first.levels[0].interval == pytest.approx((1.5 - 3.1569, 1.5 + 3.1569), abs=1e-3)


def test_equal_values_have_no_interval() -> None:
    (one,) = effects(rows((1, "x", 1.0), (1, "x", 1.0), (2, "x", 3.0)), ["a", "b"], "makespan_s")
    assert [level.interval for level in one.levels] == [None, None]


def test_the_analysis_tells_a_factor_from_noise() -> None:
    noise = (0.01, -0.02, 0.015, -0.005, 0.02, -0.01, 0.0, -0.015)
    table = rows(*((n % 2, "xy"[n // 4], 1.0 + n % 2 + noise[n]) for n in range(8)))
    terms, why = analysis(table, ["a", "b"], "makespan_s")
    assert why is None and terms[0].name == "a" and terms[0].share > 0.99 and terms[0].p_value < 1e-4
    assert {term.name for term in terms} == {"a", "b", "a × b", "residual"}
    assert next(term for term in terms if term.name == "b").p_value > 0.05


def test_an_analysis_that_cannot_be_says_why() -> None:
    many = rows(*((n, m, 1.0 + n + m) for n in range(30) for m in range(30)))
    assert analysis(many, ["a", "b"], "makespan_s")[1].startswith("No analysis of variance: 960 effects")
    assert analysis(many[:30], ["a", "b"], "makespan_s") == ([], None), "one factor alone has its picture"


def test_values_are_quantities_of_one_unit() -> None:
    assert quantities(["1 KiB", "512 B", "1 MiB"]) == [1024.0, 512.0, 2.0**20]
    assert quantities(["10 GB/s", "12.5 GB/s"]) == [10.0, 12.5]
    assert quantities(["10 GB/s", "12.5 MB/s"]) == [None, None]
    assert quantities([1, 2.5]) == [1.0, 2.5]
    assert quantities(["flow", "packet"]) == [None, None]
    assert quantities([True, False]) == [None, None]
