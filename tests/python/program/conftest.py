"""Rank programs on a platform of round numbers."""

from pathlib import Path

import pytest

import hopcast

UNIT = Path(__file__).parent / "unit.toml"
LATENCY_S = 1e-6
BANDWIDTH = 1e9


def message_s(nbytes: float) -> float:
    """A message between two hosts of the unit platform, alone [s]."""
    return LATENCY_S + nbytes / BANDWIDTH


@pytest.fixture
def go():
    """Runs a rank function on the unit platform; gives what the ranks returned."""

    def go(program, ranks, *args, **options):
        return hopcast.run(UNIT, program, ranks, args, **{"model": "postal", **options}).results

    return go


@pytest.fixture
def predict():
    """Runs a rank function on the unit platform; gives the report."""

    def predict(program, ranks, *args, **options):
        return hopcast.run(UNIT, program, ranks, args, **{"model": "postal", **options})

    return predict
