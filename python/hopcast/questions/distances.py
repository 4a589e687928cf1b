"""Distances between hosts, and the mapping of parts to hosts by them.

The distance of two hosts is the time of an empty message between them on the idle network, which has all hops
of its way and their latencies in it. It is measured by a simulation: one rank on each host sends, step by
step, to the rank that is 1, 2, … further, each to one and from one at a time.

Parts of a communication graph are then mapped to hosts so that Σ bytes × distance is small: a quadratic
assignment. SciPy's FAQ finds a start, and its exchange of pairs (2-opt) ends at a map that no exchange of two
improves; of many hosts the exchanges are left out. The order that was given stays where it is no worse.

Source: Vogelstein et al., "Fast approximate quadratic programming for graph matching", PLOS ONE 10(4), 2015;
Hoefler, Snir, "Generic topology mapping strategies for large-scale parallel architectures", ICS 2011.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from hopcast.request import RunRequest

_STEP_S = 1.0
"""Time between two steps, in which all messages of one have come [s]."""
EXCHANGES_MOST = 100
"""Most hosts for which pairs are exchanged: each pass looks at all pairs."""


def between(request: RunRequest, hosts: np.ndarray) -> np.ndarray:
    """Times of empty messages between each two of these hosts of the request's platform [s]."""
    from hopcast.api import run

    count = len(hosts)
    found = np.zeros((count, count))
    # Messages of one step begin together, each alone on its NIC: only links that several cross are shared.

    def main(comm: Any) -> None:
        for step in range(1, count):
            comm.sleep_until(step * _STEP_S)
            target, source = (comm.rank + step) % count, (comm.rank - step) % count
            found[comm.rank, target] -= comm.Wtime()
            sent = comm.isend(None, dest=target, nbytes=0)
            comm.recv(source=source)
            found[source, comm.rank] += comm.Wtime()
            sent.wait()

    settings = {name: request.options[name] for name in ("set", "seed") if name in request.options}
    run(request.platform, main, count, placement=hosts.tolist(), model="flow", **settings)
    return (found + found.T) / 2


def are_equal(distances: np.ndarray) -> bool:
    """True where no host is further from another than any."""
    apart = distances[~np.eye(len(distances), dtype=bool)]
    return len(apart) == 0 or bool(apart.max() - apart.min() <= 1e-3 * apart.max())


def cost(bytes_: np.ndarray, hosts: np.ndarray, distances: np.ndarray) -> float:
    """Bytes times distance of all pairs of ranks [B s]; `hosts`: place of each rank in `distances`."""
    return float((bytes_ * distances[np.ix_(hosts, hosts)]).sum() / 2)


def mapped(parts: np.ndarray, bytes_: np.ndarray, distances: np.ndarray, seed: int = 1) -> np.ndarray:
    """Place of each rank in `distances`, where its part has come to; parts are numbered from 0."""
    from scipy.optimize import quadratic_assignment

    count = len(distances)
    member = np.zeros((len(parts), count))
    member[np.arange(len(parts)), parts] = 1
    flow = member.T @ bytes_ @ member
    np.fill_diagonal(flow, 0)
    # Both are scaled: the method's steps stop at differences of a fixed size.
    flow, far = flow / (flow.max() or 1), distances / (distances.max() or 1)
    stays = np.arange(count)
    best = quadratic_assignment(flow, far, options={"rng": np.random.default_rng(seed)}).col_ind
    starts = [stays, best]
    if count <= EXCHANGES_MOST:
        for start in list(starts):
            guess = np.column_stack([stays, start])
            options = {"partial_guess": guess, "rng": np.random.default_rng(seed)}
            starts.append(quadratic_assignment(flow, far, method="2opt", options=options).col_ind)
    costs = [float((flow * far[np.ix_(start, start)]).sum()) for start in starts]
    return starts[int(np.argmin(costs))][parts]
