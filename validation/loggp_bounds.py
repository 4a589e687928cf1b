"""Broadcast and reduction on LogGP, against what is possible at all.

Compared: the optimal broadcast of Karp et al. (every process passes the message on as soon and as often as
it can), carried out message by message, against its bound; and the broadcasts and reductions that MPI
libraries have, which may not be faster. With one process per host, T = L + 2 o + n G from send to receipt
and B = max(o, g, n G) between two sends of a process, the most ranks that a broadcast reaches by time t is
N(t) = N(t - B) + N(t - T); the bound is the least t with N(t) >= ranks. A reduction is a broadcast with
time reversed. Vectors are not cut into segments.
Source: Karp, Sahay, Santos, Schauser, "Optimal broadcast and summation in the LogP model" (SPAA 1993),
whose figure 1 has 24 cycles for P = 8, L = 6, o = 2, g = 4; Alexandrov, Ionescu, Schauser, Scheiman,
"LogGP" (SPAA 1995).
Expected: the optimal broadcast takes exactly its bound. The binomial tree is close to it, and as good where
B is near T; chains and linear trees are far from it.
"""

from __future__ import annotations

import heapq
from pathlib import Path

import null_model
import pictures
import results
from results import Kind, Range, Result

import hopcast

KIND = Kind.FORMULA

PLATFORM = Path(__file__).with_name("platforms") / "loggp.toml"
L_S, O_S, GAP_S, PER_BYTE_S = 6e-6, 2e-6, 4e-6, 1e-9
ALGORITHMS = {
    "bcast": ("binomial", "binary-tree", "chain", "linear"),
    "reduce": ("binomial", "binary-tree", "chain", "linear"),
}
WHOLE = "1 TiB"
"""Segments as long as any vector, so that none is cut."""


def optimal(ranks: int, nbytes: int) -> tuple[float, list[list[int]]]:
    """The least time of a broadcast [s], and to whom each rank sends, in order."""
    time, busy = L_S + 2 * O_S + nbytes * PER_BYTE_S, max(O_S, GAP_S, nbytes * PER_BYTE_S)
    ready, last = [(0.0, 0)], 0.0
    children: list[list[int]] = [[] for _ in range(ranks)]
    for rank in range(1, ranks):
        sent, sender = heapq.heappop(ready)
        children[sender].append(rank)
        last = sent + time
        heapq.heappush(ready, (sent + busy, sender))
        heapq.heappush(ready, (last, rank))
    return last, children


def carried_out_s(ranks: int, nbytes: int) -> float:
    """The optimal broadcast, message by message [s]."""
    _, children = optimal(ranks, nbytes)

    def program(comm):
        if comm.rank > 0:
            comm.recv()
        requests = [comm.isend(nbytes=nbytes, dest=child) for child in children[comm.rank]]
        received = comm.Wtime() if not requests else 0.0
        for request in requests:
            request.wait()
        return received

    return max(hopcast.run(PLATFORM, program, ranks, model=null_model.model("loggp")).results)


def collective_s(name: str, algorithm: str, ranks: int, nbytes: int) -> float:
    """A broadcast or reduction of the MPI library [s]."""
    arguments = {"bytes": f"{nbytes} B", "algorithm": algorithm}
    segment = {"mpi.segment": WHOLE}
    return hopcast.run(
        PLATFORM, name, ranks, kwargs=arguments, model=null_model.model("loggp"), set=segment
    ).makespan_s


def plot(sizes: list[int], bounds: list[float], times: dict[str, dict[str, list[float]]], out: Path) -> None:
    """Time by ranks, the bound below all."""
    figure, panels = pictures.pyplot().subplots(1, 2, figsize=(12, 4.5), sharey=True)
    for axes, (name, by_algorithm) in zip(panels, times.items(), strict=True):
        axes.plot(sizes, [1e6 * bound for bound in bounds], color="black", linestyle="--", label="bound")
        for algorithm, row in by_algorithm.items():
            axes.plot(sizes, [1e6 * time for time in row], marker="o", label=algorithm)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set(xlabel="ranks", title=f"{name}, 0 bytes")
        axes.legend()
    panels[0].set_ylabel("time [µs]")
    pictures.save(figure, out, "loggp_bounds")


def compare(out: Path, quick: bool) -> list[Result]:
    """The published example; the optimal broadcast at other sizes; the libraries' algorithms."""
    compared = [
        Result(
            "optimal broadcast, 8 ranks, 0 B",
            24.0,
            1e6 * carried_out_s(8, 0),
            "µs",
            1e-9,
            "Karp et al., figure 1",
        )
    ]
    for ranks in (64,) if quick else (64, 1024):
        for nbytes in (0, 3_000, 100_000):
            bound, ours = 1e6 * optimal(ranks, nbytes)[0], 1e6 * carried_out_s(ranks, nbytes)
            compared.append(
                Result(f"optimal broadcast, {ranks:,} ranks, {nbytes:,} B", bound, ours, "µs", 1e-9, "N(t)")
            )
    sizes = [2**power for power in range(1, 7 if quick else 11)]
    times: dict[str, dict[str, list[float]]] = {}
    for name, algorithms in ALGORITHMS.items():
        for algorithm in algorithms:
            for nbytes in (0, 100_000):
                row = [collective_s(name, algorithm, ranks, nbytes) for ranks in sizes]
                if nbytes == 0:
                    times.setdefault(name, {})[algorithm] = row
                bounds = [optimal(ranks, nbytes)[0] for ranks in sizes]
                ratio, ranks = min(
                    (time / bound, ranks) for time, bound, ranks in zip(row, bounds, sizes, strict=True)
                )
                what = f"{name} {algorithm}, {nbytes:,} B: nearest to the bound, at {ranks} ranks"
                why = f"time over bound; at {sizes[-1]:,} ranks {row[-1] / bounds[-1]:.3g}"
                compared.append(Result(what, Range(low=1.0), ratio, "", 1e-9, why))
    plot(sizes, [optimal(ranks, 0)[0] for ranks in sizes], times, out)
    return compared


if __name__ == "__main__":
    results.main(compare, __doc__)
