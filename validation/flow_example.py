"""The example of flow simulation: two messages share the link B-E of a mesh.

Compared: a message of 1 GB over links of 5 GB/s with a latency of 0.6 s, alone: 0.6 + 1/5 = 0.8 s. From A
to H by A-B-E-H while another goes from B to F by B-E-F: each gets half of the link B-E: 0.6 + 1/2.5 = 1.0
s.
Source: Pakin, Yuan, Lang, "Predicting the performance of extreme-scale supercomputer networks" (The Next
Wave 20(2), 2013), figure 3 and the text around it.
Expected: no disagreement; the model `flow` is this law. Both ways of sharing give the same here.
"""

from __future__ import annotations

from pathlib import Path

import null_model
import results
from results import Kind, Result

import hopcast

KIND = Kind.FORMULA

PLATFORM = Path(__file__).with_name("platforms") / "mesh.toml"
GIGABYTE = 10**9


def arrivals_s(pairs: list[str], sharing: str) -> dict[str, float]:
    """Arrival times of the messages of `pairs` ("AH" is from A to H), all sent at time zero [s]."""
    to = {pair[0]: pair[1] for pair in pairs}
    senders = {pair[1]: pair[0] for pair in pairs}

    def program(comm):
        me = "ABCDEFGHI"[comm.rank]
        requests = []
        if me in to:
            requests.append(comm.isend(nbytes=GIGABYTE, dest="ABCDEFGHI".index(to[me])))
        if me in senders:
            comm.recv(source="ABCDEFGHI".index(senders[me]))
            arrived = comm.Wtime()
        for request in requests:
            request.wait()
        return arrived if me in senders else None

    report = hopcast.run(
        PLATFORM, program, 9, model=null_model.model("flow"), set={"network.flow.sharing": sharing}
    )
    return {pair: report.results["ABCDEFGHI".index(pair[1])] for pair in pairs}


def compare(out: Path, quick: bool) -> list[Result]:
    """Alone, and two through one link."""
    compared = []
    for sharing in ("max-min", "equal-share"):
        alone = arrivals_s(["AH"], sharing)
        both = arrivals_s(["AH", "BF"], sharing)
        source = f"0.6 s + 1 GB / 5 GB/s ({sharing})"
        compared.append(Result("A to H alone", 0.8, alone["AH"], "s", 1e-9, source))
        source = f"0.6 s + 1 GB / 2.5 GB/s ({sharing})"
        compared += [
            Result(f"{p[0]} to {p[1]}, sharing B-E", 1.0, at, "s", 1e-9, source) for p, at in both.items()
        ]
    return compared


if __name__ == "__main__":
    results.main(compare, __doc__)
