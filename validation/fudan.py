"""HPCG and the Intel MPI Benchmarks on 16 processes of one host, replayed.

Compared: the recorded run time (the rank that ran longest, from its first call to its last return) and the
replay in mode `dependencies` on one host of 16 processes.
Source: DUMPI recordings of HPCG and of IMB's ping-pong, 16 ranks on a host named 'fudan', 2023, from the
public repository github.com/MPINET/MPINET. Nothing is published about that host.
Expected: HPCG within some percent, as nine tenths of it are recorded computing. The ping-pong benchmark
measures what is not known: that host's memory. The platform has the memory of another server (see
platforms/fudan.toml), and its model copies each message once at one rate, without caches and without what MPI
does for each segment: so no claim is made.
"""

from __future__ import annotations

from pathlib import Path

import null_model
import recordings
import results
from results import Kind, Result

import hopcast

KIND = Kind.MEASURED

PLATFORM = Path(__file__).with_name("platforms") / "fudan.toml"
RECORDINGS = {
    "HPCG-16ranks-fudan": ("HPCG", 0.05, "recorded; memory of another server"),
    "IMB-pingpong-16ranks-fudan": (
        "IMB ping-pong",
        None,
        "recorded; all communication, on memory of another server",
    ),
}


def compare(out: Path, quick: bool) -> list[Result]:
    """Both recordings; the short one alone if quick."""
    compared = []
    for name, (title, allowed, why) in RECORDINGS.items():
        if quick and title == "HPCG":
            continue
        trace = recordings.unpacked(name, out)
        report = hopcast.run(PLATFORM, trace, placement="linear", model=null_model.model("flow"))
        compared.append(
            Result(f"{title}, run time", recordings.wall_s(name), report.makespan_s, "s", allowed, why)
        )
        computing = report.time["compute_s"] / report.ranks
        recorded = (
            sum(float(r["wall_s"]) - float(r["mpi_wall_s"]) for r in recordings.ranks(name)) / report.ranks
        )
        compared.append(
            Result(
                f"{title}, outside of MPI, mean of ranks",
                recorded,
                computing,
                "s",
                0.01,
                "recorded",
                Kind.OWN,
            )
        )
    return compared


if __name__ == "__main__":
    results.main(compare, __doc__)
