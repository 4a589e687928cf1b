"""Effects of a study's factors: means, intervals, analysis of variance, and values as places on an axis."""

from __future__ import annotations

import pytest

from hopcast.study.effects import Analysis, analysis, effects, interactions, quantities


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
    found = analysis(table, ["a", "b"], "makespan_s")
    terms = found.terms
    assert not found.notes and terms[0].name == "a" and terms[0].share > 0.99 and terms[0].p_value < 1e-4
    assert {term.name for term in terms} == {"a", "b", "a × b", "residual"}
    assert next(term for term in terms if term.name == "b").p_value > 0.05


def test_an_analysis_that_cannot_be_says_why() -> None:
    many = rows(*((n, m, 1.0 + n + m) for n in range(30) for m in range(30)))
    (note,) = analysis(many, ["a", "b"], "makespan_s").notes
    assert note.startswith("No analysis of variance: 960 effects")
    assert analysis(many[:30], ["a", "b"], "makespan_s") == Analysis(), "one factor alone has its picture"


def test_repetitions_are_the_error_and_aliases_are_named() -> None:
    """A half of 2^3 with c = ab, twice: three lines, each with the interaction of the two others."""
    cells = [(a, b, a * b, seed) for seed in (1, 2) for a in (-1, 1) for b in (-1, 1)]
    table = [
        {"a": a, "b": b, "c": c, "seed": seed, "makespan_s": 5 + a + 0.01 * b * seed, "state": "done"}
        for a, b, c, seed in cells
    ]
    found = analysis(table, ["a", "b", "c", "seed"], "makespan_s", ["seed"])
    assert [term.name for term in found.terms][:1] == ["a = b × c"]
    assert {term.name for term in found.terms} == {"a = b × c", "b = a × c", "c = a × b", "residual"}
    assert found.notes[0].startswith("Terms with = between them are aliases")
    assert next(term for term in found.terms if term.name == "residual").freedom == 4
    one = analysis(table, ["a", "seed"], "makespan_s", ["seed"])
    assert [term.name for term in one.terms] == ["a", "residual"], "repetitions allow one factor"


def test_interactions_are_what_the_main_effects_leave() -> None:
    """1, 2, 3, 8: means 1.5, 5.5 and 2, 5 around 3.5; 1 − 1.5 − 2 + 3.5 = 1 is left, of 3.5."""
    table = rows((1, "x", 1.0), (1, "y", 2.0), (2, "x", 3.0), (2, "y", 8.0))
    (found,) = interactions(table, ["a", "b"], "makespan_s")
    assert found.size == pytest.approx(1 / 3.5)
    assert found.lines == (("x", (1.0, 3.0)), ("y", (2.0, 8.0)))
    del table[3]
    assert interactions(table, ["a", "b"], "makespan_s") == [], "a missing corner shows none"


def test_values_are_quantities_of_one_unit() -> None:
    assert quantities(["1 KiB", "512 B", "1 MiB"]) == [1024.0, 512.0, 2.0**20]
    assert quantities(["10 GB/s", "12.5 GB/s"]) == [10.0, 12.5]
    assert quantities(["10 GB/s", "12.5 MB/s"]) == [None, None]
    assert quantities([1, 2.5]) == [1.0, 2.5]
    assert quantities(["flow", "packet"]) == [None, None]
    assert quantities([True, False]) == [None, None]
