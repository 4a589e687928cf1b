"""A part of `validation/model_agreement.py`: models agree where theory says so; hosts may be renumbered."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "validation"))

import model_agreement


def test_models_agree_or_it_is_said_why_not():
    ratios = model_agreement.sweep(quick=True)
    apart = [ratio for ratio in ratios if not ratio.agrees]
    assert not [(ratio.model, str(ratio.case), ratio.value) for ratio in apart if ratio.explanation is None]
    assert len(ratios) - len(apart) > 0.8 * len(ratios)


def test_an_explanation_has_an_end():
    ideal = model_agreement.MACHINES[0]
    case = model_agreement.Case(ideal, "gather", "linear", "64 KiB", 16)
    sound = [row for row in model_agreement.EXPLAINED if row.covers(case, "max-rate", 1 / 15)]
    assert sound
    assert not [row for row in model_agreement.EXPLAINED if row.covers(case, "max-rate", 1.3)]
    assert not [row for row in model_agreement.EXPLAINED if row.covers(case, "flow", 1 / 15)]


def test_equal_hosts_may_be_renumbered():
    found = model_agreement.spreads(quick=True)
    assert {model for _, model, _ in found} == set(model_agreement.MODELS)
    assert not [
        (model, str(case), change) for case, model, change in found if change > model_agreement.SPREAD
    ]


@pytest.mark.parametrize("model", ["max-rate", "loggp", "packet"])
def test_answers_are_taken_in_the_order_of_the_sends(model):
    """A k-nomial broadcast of 1 MiB on 32 ranks of an ideal switch, largest subtrees first.

    A child has its data one request, one answer and one latency after its parent had it, 3 us, and one
    transfer of n G = 104.8576 us for each child up to itself, since all answers come at once and the
    parent's NIC sends one after the other. The root serves 16, 4, 8, 12, 1, 2, 3; rank 16 serves 20, 24,
    28, 17, 18, 19; rank 28 serves 29, 30, 31. The last to have it is 31, as third child of the third
    child of the first: 3 * 3 us + (1 + 3 + 3) n G.
    """
    case = model_agreement.Case(model_agreement.MACHINES[0], "bcast", "knomial", "1 MiB", 32)
    assert case.seconds(model) == pytest.approx(9e-6 + 7 * 2**20 / 10e9, rel=1e-6)
