"""MPI_Allreduce on all 156,672 cores of Hopper, packet by packet.

Compared: that two cores are enough for the scaling experiment for which the authors of the Gemini model took
12 to 3,072 cores: one allreduce of 1 KiB and of 4 KiB over one process for each core of Hopper; run time and
memory, and the predicted time beside what it cannot be shorter than.
Source: Ahmed et al., "An Integrated Interconnection Network Model for Large-Scale Performance Prediction"
(SIGSIM-PADS 2016), section 8 and Fig. 12. The text gives neither run times nor the predicted time.
Derivation: MPICH's recursive doubling on p ranks, 24 to a node in order: a first exchange makes p' = 2^17
ranks of them, which take 17 steps with partners 1, 2, 4, ... ranks away among those; the last 12 of them
are all to other nodes (32 ranks away and more). Each takes at least the 1.27 us between the nearest nodes.
And a node that holds n of the p' ranks, 20 on average, puts 12 n messages of m bytes on its link of 10.105
GB/s, 96 bytes for each 64: 12 x 20 x 1.5 m / 10.105 GB/s, whoever waits for whom.
Expected: longer than either, as messages share the torus's links, and as a rank's step waits for that of
others. Ranks of few nodes lie in one slab of the torus, which is not cut in two: then one thread is used.
"""

from __future__ import annotations

from pathlib import Path

import results
from results import Kind, Range, Result
from run_cache import cached, cost, facts

import hopcast

KIND = Kind.FORMULA
NO_NULL = "compares with the least possible time, and measures the simulation"

HOPPER = Path(__file__).parent / "platforms" / "hopper-2016.toml"
"""The platform of the paper, whose messages cost no processor's time."""
NODES, CORES = 6_528, 24
LATENCY_S = 1.27e-6
NODE_BPS = 10.105e9


def allreduce(ranks: int, size: int) -> dict:
    """One allreduce of `size` bytes."""
    report = hopcast.run(
        HOPPER,
        "allreduce",
        ranks,
        kwargs={"bytes": f"{size} B", "algorithm": "recursive-doubling"},
        model="packet",
        threads=2,
    )
    return facts(report)


def least_s(ranks: int, size: int) -> tuple[float, str]:
    """Lower bound of its time, and the reason [s]."""
    powers = ranks.bit_length() - 1
    steps = powers - (CORES - 1).bit_length()
    here = CORES * 2**powers / ranks
    latency_s, link_s = steps * LATENCY_S, steps * here * 1.5 * size / NODE_BPS
    if latency_s > link_s:
        return latency_s, f"{steps} x 1.27 µs"
    return link_s, f"{steps} x {here:.3g} messages of a node through its link"


def compare(out: Path, quick: bool) -> list[Result]:
    """1 KiB and 4 KiB; on 64 nodes if quick."""
    ranks = CORES * (64 if quick else NODES)
    compared = []
    for size in (1024, 4096):
        one = cached(out, f"gemini-allreduce-{ranks}-{size}", allreduce, ranks, size)
        what = f"{size // 1024} KiB on {ranks:,} ranks"
        least, why = least_s(ranks, size)
        predicted_us = 1e6 * one["makespan_s"]
        compared.append(Result(f"{what}, predicted", Range(1e6 * least), predicted_us, "µs", 0.0, why))
        cores = float(one["threads"])
        compared.append(
            Result(f"{what}, cores", Range(None, 3072.0), cores, "", 0.0, f"Fig. 12; {cost(one)}")
        )
        minutes = one["wall_s"] / 60
        compared.append(
            Result(f"{what}, run time", Range(None, 60.0), minutes, "min", 0.0, "an hour at the most")
        )
    return compared


if __name__ == "__main__":
    results.main(compare, __doc__)
