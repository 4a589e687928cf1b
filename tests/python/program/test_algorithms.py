"""Every algorithm of every collective delivers real objects, whenever the members come.

A member takes its result when the simulator calls its part complete; what the result needs must have been
given by then. Members come at scattered times, so that an algorithm that lets one go too early shows.
"""

import json
import random

import pytest

import hopcast
from hopcast import MPI, _core

REGISTRY = {registry["name"]: registry for registry in json.loads(_core.catalogue())}
ALGORITHMS = [entry["name"].split("/") for entry in REGISTRY["collectives"]["entries"]]


def call(comm, kind, options):
    """Calls a collective with objects that say who gave them; gives its result and what it must be."""
    n, me, root = comm.size, comm.rank, comm.size // 2
    everyone = list(range(n))
    mine = [(me, to) for to in range(n)]
    dealt = [(giver, me) for giver in range(n)]
    text = "".join(f"<{rank}>" for rank in range(n))
    upto = "".join(f"<{rank}>" for rank in range(me + 1))
    before = "".join(f"<{rank}>" for rank in range(me)) or None
    own = f"<{me}>"
    join = MPI.Op.Create(lambda a, b: a + b, commute=True)
    lengths = [options["nbytes"]] * n
    equal = {
        "barrier": lambda: (comm.barrier(algorithm=options["algorithm"]), None),
        "bcast": lambda: (comm.bcast("b" if me == root else None, root, **options), "b"),
        "scatter": lambda: (comm.scatter(everyone if me == root else None, root, **options), me),
        "gather": lambda: (comm.gather(me, root, **options), everyone if me == root else None),
        "allgather": lambda: (comm.allgather(me, **options), everyone),
        "alltoall": lambda: (comm.alltoall(mine, **options), dealt),
        "reduce": lambda: (comm.reduce(own, join, root, **options), text if me == root else None),
        "allreduce": lambda: (comm.allreduce(own, join, **options), text),
        "scan": lambda: (comm.scan(own, join, **options), upto),
        "exscan": lambda: (comm.exscan(own, join, **options), before),
        "reduce_scatter_block": lambda: (comm.reduce_scatter_block([own] * n, join, **options), text),
    }
    if kind in equal:
        return equal[kind]()
    varying = {**options, "nbytes": lengths}
    sides = {"algorithm": options["algorithm"], "send_nbytes": lengths, "recv_nbytes": lengths}
    return {
        "scatterv": lambda: (comm.scatterv(everyone if me == root else None, root, **varying), me),
        "gatherv": lambda: (comm.gatherv(me, root, **varying), everyone if me == root else None),
        "allgatherv": lambda: (comm.allgatherv(me, **varying), everyone),
        "alltoallv": lambda: (comm.alltoallv(mine, **sides), dealt),
        "alltoallw": lambda: (comm.alltoallw(mine, **sides), dealt),
        "reduce_scatter": lambda: (comm.reduce_scatter([own] * n, join, **varying), text),
    }[kind]()


def neighbours(comm, kind, options):
    """The same for the neighbours of a ring."""
    ring = comm.Create_cart([comm.size], periods=[True])
    down, up = ring.Shift(0, 1)
    edges = [options["nbytes"]] * 2
    sides = {"algorithm": options["algorithm"], "send_nbytes": edges, "recv_nbytes": edges}
    given = [f"{ring.rank} down", f"{ring.rank} up"]
    dealt, gathered = [f"{down} up", f"{up} down"], [down, up]
    return {
        "neighbor_allgather": lambda: (ring.neighbor_allgather(ring.rank, **options), gathered),
        "neighbor_allgatherv": lambda: (
            ring.neighbor_allgatherv(ring.rank, recv_nbytes=edges, **options),
            gathered,
        ),
        "neighbor_alltoall": lambda: (ring.neighbor_alltoall(given, **options), dealt),
        "neighbor_alltoallv": lambda: (ring.neighbor_alltoallv(given, **sides), dealt),
        "neighbor_alltoallw": lambda: (ring.neighbor_alltoallw(given, **sides), dealt),
    }[kind]()


def program(comm, kind, options):
    late = random.Random(comm.rank)
    for _ in range(3):
        comm.compute(seconds=late.choice([0, 1e-6, 1e-3]))
        got, expected = (neighbours if kind.startswith("neighbor") else call)(comm, kind, options)
        assert got == expected
    return comm._members


@pytest.mark.parametrize(("kind", "algorithm"), ALGORITHMS, ids=lambda name: name)
def test_an_algorithm_delivers(go, kind, algorithm):
    done = set()
    for ranks in (1, 2, 3, 4, 5, 8, 12):
        for nbytes in (8, 100_000):
            options = {"nbytes": nbytes, "algorithm": algorithm}
            try:
                members = go(program, ranks, kind, options, model="loggp")
            except hopcast.ProgramFailure as failure:
                # Some take powers of two or even numbers only, and say so.
                assert f"the algorithm '{algorithm}' cannot do {kind} on {ranks} ranks" in str(failure)
            else:
                assert members[0].exchanges == {}
                done.add(ranks)
    assert done >= {2, 4, 8}
