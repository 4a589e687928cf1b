"""Lines of `hopcast watch`: of bins as they are, and of samples without a message."""

from __future__ import annotations

import pyarrow
import pytest

from hopcast.cli import watch
from hopcast.live_tables import Standing


def line(**tables: pyarrow.Table) -> str:
    return watch._line(Standing(1.0, 5, tables, None))


def matrix(per_bin: int) -> pyarrow.Table:
    """Two pairs of bins in the period from 1 to 2 s."""
    return pyarrow.table(
        {
            "begin_s": [1.0, 1.0],
            "end_s": [2.0, 2.0],
            "source": [0, 4 * per_bin],
            "destination": [per_bin, 2 * per_bin],
            "ranks_per_bin": [per_bin, per_bin],
            "messages": [1, 1],
            "bytes": [1000, 3000],
        }
    )


@pytest.mark.parametrize(
    ("per_bin", "said"),
    [(1, "most from rank 4 to rank 2"), (8, "most from ranks 32 to 39 to ranks 16 to 23")],
)
def test_bins_are_not_ranks(per_bin: int, said: str) -> None:
    assert line(matrix_periods=matrix(per_bin)).endswith(said)


def test_an_empty_sample_is_said() -> None:
    kept = {"share": pyarrow.array([], pyarrow.float64()), "latency_s": pyarrow.array([], pyarrow.float64())}
    assert line(messages=pyarrow.table(kept)).endswith("no message in the sample")
    assert "sample" not in line()
