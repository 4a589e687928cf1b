"""nodecomm, simulated on four platforms: the fit of its text gives back the platform's own parameters.

Compared: start-up s, rates R_C (or R_Cb), R_Ci and R_N in each regime with the keys of the platform file.
nodecomm.c, compiled as for a real machine, runs with 1 to 16 pairs of processes in the model `max-rate`,
whose law it is, and for the regimes of long messages in `flow`, too; what it prints is read and fitted as
`hopcast calibrate rates` does, by the law of the platform's keys. s is the sum of overheads,
of the latency of the regime, of the NICs and of the routers, and above the eager limit of two messages of
the handshake. R_N is `nic_rate`, or what the NIC's bandwidth leaves to the payload.
Source: the platform files themselves; Gropp, Olson, Samfass, EuroMPI 2016, for the program and the laws.
Expected: within 1 %; the text has three digits, which alone move a time by 0.5 %. R_N is not identified
where it is infinite. In the published short regime of the Cray XE6, R_Ci is negative, and from five pairs
on nothing would move: hopcast keeps the rate of four, and the fit takes one to four. Dahu is taken without
the modes of its times, at their means. Its processes spend a time for each byte of short messages, which no
law of the NIC knows, so that one pair alone is fitted there. Short messages are left out under `flow`:
their packets come one after the other. The fit of `stampede` gives 0.525 GB/s for R_C there, as under
`packet`; the platform has 0.639.
"""

from __future__ import annotations

import math
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import hpl_platforms
import numpy as np
import results
from recordings import Absent
from results import Kind, Range, Result

from hopcast.calibrate import pair_times, rates
from hopcast.calibrate.pair_times import PairTimes
from hopcast.live import library

KIND = Kind.FORMULA
NO_NULL = "fits the parameters of a network, which an infinite one does not have"

PLATFORMS = Path(__file__).with_name("platforms")
PROCESSES = 16
TOLERANCE = 0.01
"""Accuracy that is wanted; the text's digits alone are half of it."""


@dataclass(frozen=True)
class Regime:
    """Parameters of a platform file between two sizes [B, s, B/s]."""

    above: float
    up_to: float
    values: dict[str, float]
    """By the names of the laws; R_N is infinite where nothing limits the NIC."""
    pairs_most: int = PROCESSES

    @property
    def law(self) -> str:
        """Law that has these parameters."""
        return "extended" if "R_Ci" in self.values else "max-rate"


@dataclass(frozen=True)
class Case:
    """A platform, and its regimes that nodecomm's sizes, 4 B times powers of two, cover."""

    platform: str
    regimes: dict[str, Regime] = field(default_factory=dict)


XE6 = Case(
    str(PLATFORMS / "xe6-4-parameters.toml"),
    {
        "short, 1 to 4 pairs": Regime(
            0, 512, {"s": 4e-6, "R_Cb": 0.63e9, "R_Ci": -0.18e9, "R_N": math.inf}, pairs_most=4
        ),
        "eager": Regime(512, 8192, {"s": 11e-6, "R_Cb": 1.7e9, "R_Ci": 0.062e9, "R_N": math.inf}),
        "rendezvous": Regime(8192, math.inf, {"s": 20e-6, "R_Cb": 3.6e9, "R_Ci": 0.61e9, "R_N": 5.5e9}),
    },
)
# Two NICs of 295.625 ns on one router; the links carry 64 of 96 bytes, so the NIC 2/3 of 10.105 GB/s.
_HOPPER_S = 2 * 295.625e-9
HOPPER = Case(
    "hopper-max-rate",
    {
        "short": Regime(0, 511, {"s": 1.3e-6 + _HOPPER_S, "R_C": 0.63e9, "R_N": 10.105e9 * 64 / 96}),
        "eager": Regime(
            511, 8191, {"s": 4.8e-6 + _HOPPER_S, "R_Cb": 1.7e9, "R_Ci": 0.062e9, "R_N": math.inf}
        ),
        "rendezvous": Regime(
            8191,
            math.inf,
            {"s": 5.3e-6 + _HOPPER_S + 2 * (1.3e-6 + _HOPPER_S), "R_Cb": 3.6e9, "R_Ci": 0.61e9, "R_N": 5.5e9},
        ),
    },
)
# Means of the modes of send and receive up to 8,133 B, and two links of 50 ns; above 64,000 B the mean of the
# latency's modes. A byte takes its sender 86.397 ps, its receiver 75.75 ps, and the wire 1 / 7.212 GB/s.
_DAHU_SEND = 0.801813 * 164.58e-9 + 0.197819 * 658.66e-9 + 0.000368 * 10393e-9
_DAHU_RECEIVE = 0.711313 * 868.56e-9 + 0.284429 * 2060.7e-9 + 0.003538 * 5612.3e-9 + 0.00072 * 14164e-9
_DAHU_S = _DAHU_SEND + _DAHU_RECEIVE + 2 * 50e-9
_DAHU_LATENCY = 0.959381 * 11260.9e-9 + 0.040619 * 25267.35e-9
DAHU = Case(
    "dahu",
    {
        "eager, 1 pair": Regime(
            0,
            8133,
            {"s": _DAHU_S, "R_C": 1 / (86.397e-12 + 75.75e-12 + 1 / 7.212e9), "R_N": math.inf},
            pairs_most=1,
        ),
        "longest": Regime(
            64000,
            math.inf,
            {"s": _DAHU_LATENCY + 2 * 50e-9 + 2 * _DAHU_S, "R_C": 12.2237e9, "R_N": 12.5e9},
        ),
    },
)
_STAMPEDE_S, _STAMPEDE_NIC = 2 * 479e-9 + 2 * 176e-9, 44.52e9 / 8
STAMPEDE = Case(
    "stampede",
    {
        "short": Regime(0, 150, {"s": _STAMPEDE_S, "R_C": 0.6387e9, "R_N": _STAMPEDE_NIC}),
        "eager": Regime(150, 17420, {"s": _STAMPEDE_S + 780e-9, "R_C": 2.858e9, "R_N": _STAMPEDE_NIC}),
        "rendezvous": Regime(
            17420, math.inf, {"s": 3 * _STAMPEDE_S + 1.7e-6, "R_C": 5.125e9, "R_N": _STAMPEDE_NIC}
        ),
    },
)
CASES = (XE6, HOPPER, DAHU, STAMPEDE)


def compare(out: Path, quick: bool) -> list[Result]:
    """All platforms; `quick` takes the first and the last."""
    if not library.LIBRARY.exists():
        raise Absent("skipped: built without the MPI library")
    rows = []
    for case in (XE6, STAMPEDE) if quick else CASES:
        name = Path(case.platform).stem
        for model in ("max-rate", "flow"):
            measured = measure(case.platform, model)
            for regime_name, regime in case.regimes.items():
                if model == "max-rate" or math.isinf(regime.up_to):
                    rows += _rows(f"{name}, {model}, {regime_name}", measured, regime)
    return rows


def measure(platform: str, model: str) -> PairTimes:
    """Text of nodecomm on two hosts of a platform in a model, one repetition of pairs that begin together."""
    with tempfile.TemporaryDirectory() as folder:
        hopcast = [sys.executable, "-m", "hopcast"]
        ranks = ["-n", str(2 * PROCESSES), "--ppn", str(PROCESSES)]
        words = [*hopcast, "calibrate", "measure", "--program", "nodecomm", "-o", folder]
        words += ["--arguments", "-ntest 1 -ntestlong 1 -together"]
        if platform == DAHU.platform:
            platform = str(hpl_platforms.write("C1_het", Path(folder) / "steady"))
        launcher = [*hopcast, "run", platform, *ranks, "--model", model, "--compute", "none"]
        done = subprocess.run([*words, "--", *launcher], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"nodecomm on {platform}: {done.stderr}")
        # Sockets of a host come before the network.
        return pair_times.read(Path(folder) / "nodecomm.txt")[-1]


def _rows(what: str, measured: PairTimes, regime: Regime) -> list[Result]:
    sizes, pairs = measured.sizes, measured.pairs
    inside = (sizes > regime.above) & (sizes <= regime.up_to) & (pairs <= regime.pairs_most)
    part = measured.where(inside)
    law = rates.fit(part, regime.law)
    rows = []
    for name, wanted in regime.values.items():
        found = law.values[name]
        if math.isinf(wanted):
            number = 0.0 if found is None else found
            rows.append(
                Result(f"{what}: R_N, where there is none", Range(high=0), number, "B/s", 0, "not identified")
            )
            continue
        unit = "s" if name == "s" else "B/s"
        why = f"{regime.law}, {len(np.unique(part.sizes))} sizes, k to {part.pairs.max():.0f}"
        rows.append(
            Result(f"{what}: {name}", wanted, math.nan if found is None else found, unit, TOLERANCE, why)
        )
    return rows


if __name__ == "__main__":
    results.main(compare, __doc__)
