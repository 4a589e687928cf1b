"""`hopcast calibrate rates -o PLATFORM`: nodecomm on the platform takes what the fitted law says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from test_all_steps import HOPCAST, calibrate, needs_hopcast

from hopcast.calibrate import pair_times

S, R_C, R_N = 40e-6, 2e9, 4e9
PAIRS = 6
LENGTHS = (64, 1024, 8192, 20_000, 65_536)
"""In C ints: NIC and own path take the same time of 6 pairs at 8 kB; longer messages are the NIC's."""


def modified(pairs: int, nbytes: float) -> float:
    """T = max(k n / R_N, s + n / R_C)."""
    return max(pairs * nbytes / R_N, S + nbytes / R_C)


def max_rate(pairs: int, nbytes: float) -> float:
    """T = s + k n / min(R_N, k R_C)."""
    return S + pairs * nbytes / min(R_N, pairs * R_C)


def nodecomm_text(law) -> str:
    """Round trips of a law as nodecomm prints them, with more digits."""
    rows = [
        f"{length}\t" + "".join(f"{2 * law(pairs, 4 * length):.6e}\t" for pairs in range(1, PAIRS + 1))
        for length in LENGTHS
    ]
    heads = [
        f"{name} {', '.join(map(str, range(first, first + PAIRS)))}"
        for name, first in (("master: ", 0), ("partner:", PAIRS))
    ]
    return "\n".join(["Pingpong for", *heads, *rows]) + "\n"


@needs_hopcast
@pytest.mark.parametrize("law", [modified, max_rate])
@pytest.mark.parametrize("model", ["max-rate", "flow"])
def test_a_law_comes_back(tmp_path: Path, law, model: str) -> None:
    """Within 1 %, of which half are the three digits of nodecomm's text.

    Under `flow`, messages of a few packets come one after the other: most are there before the law's time,
    and none before that of one pair.
    """
    (tmp_path / "machine.txt").write_text(nodecomm_text(law))
    platform = tmp_path / "machine.toml"
    words = ["--model", law.__name__.replace("_", "-"), "--flop-rate", "1 Gflop/s"]
    done = calibrate("rates", tmp_path / "machine.txt", *words, "-o", platform)
    assert done.returncode == 0, done.stderr
    ranks = ["-n", str(2 * PAIRS), "--ppn", str(PAIRS), "--model", model, "--compute", "none"]
    lengths = ",".join(map(str, LENGTHS))
    done = calibrate(
        *("measure", "--program", "nodecomm", "-o", tmp_path / "again"),
        *("--arguments", f"-sizes {lengths} -ntest 1 -ntestlong 1 -together"),
        *("--", *HOPCAST, "run", platform, *ranks),
    )
    assert done.returncode == 0, done.stderr
    (again,) = pair_times.read(tmp_path / "again" / "nodecomm.txt")
    wanted = [law(int(k), n) for k, n in zip(again.pairs, again.sizes, strict=True)]
    assert len(wanted) == PAIRS * len(LENGTHS)
    alone = [law(1, n) for n in again.sizes]
    is_short = (model == "flow") & (again.sizes <= 4 * 1024)
    assert np.max(again.seconds / wanted) < 1.01
    assert np.min(again.seconds / np.where(is_short, alone, wanted)) > 0.99
