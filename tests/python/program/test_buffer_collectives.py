"""mpi4py's upper-case collectives fill the buffers that they are given."""

import numpy as np
import pytest

from hopcast import MPI

N = 4


def both(go, name, make):
    """Runs the blocking and the non-blocking method; `make(comm)` gives its arguments and what to return."""

    def blocking(comm):
        arguments, result = make(comm)
        getattr(comm, name)(*arguments)
        return np.asarray(result).tolist()

    def nonblocking(comm):
        arguments, result = make(comm)
        getattr(comm, f"I{name.lower()}")(*arguments).Wait()
        return np.asarray(result).tolist()

    results = go(blocking, N)
    assert results == go(nonblocking, N)
    return results


def test_bcast(go):
    def make(comm):
        buf = np.arange(3.0) if comm.rank == 1 else np.zeros(3)
        return (buf, 1), buf

    assert both(go, "Bcast", make) == [[0, 1, 2]] * N


def test_scatter_and_gather(go):
    def scatter(comm):
        into = np.zeros(2, dtype=int)
        return (np.arange(2 * N) if comm.rank == 0 else None, into, 0), into

    def gather(comm):
        into = np.zeros(2 * N, dtype=int) if comm.rank == 0 else None
        return (np.array([comm.rank, -comm.rank]), into, 0), [] if into is None else into

    assert both(go, "Scatter", scatter) == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert both(go, "Gather", gather)[0] == [0, 0, 1, -1, 2, -2, 3, -3]


def test_scatterv_and_gatherv(go):
    counts, displacements = [1, 2, 3, 4], [0, 1, 3, 6]

    def scatter(comm):
        into = np.zeros(counts[comm.rank])
        spec = [np.arange(10.0), counts, displacements, MPI.DOUBLE] if comm.rank == 0 else None
        return (spec, into, 0), into

    def gather(comm):
        into = np.zeros(10)
        spec = [into, (counts, displacements), MPI.DOUBLE] if comm.rank == 0 else None
        return (np.full(counts[comm.rank], float(comm.rank)), spec, 0), into

    assert both(go, "Scatterv", scatter) == [[0], [1, 2], [3, 4, 5], [6, 7, 8, 9]]
    assert both(go, "Gatherv", gather)[0] == [0, 1, 1, 2, 2, 2, 3, 3, 3, 3]


def test_allgather(go):
    def make(comm):
        into = np.zeros(N, dtype=int)
        return (np.array([comm.rank * 2]), into), into

    def in_place(comm):
        into = np.full(N, -1)
        into[comm.rank] = comm.rank
        return (MPI.IN_PLACE, into), into

    assert both(go, "Allgather", make) == [[0, 2, 4, 6]] * N
    assert both(go, "Allgather", in_place) == [[0, 1, 2, 3]] * N


def test_allgatherv(go):
    def make(comm):
        into = np.zeros(10, dtype=int)
        return (np.full(comm.rank + 1, comm.rank), [into, [1, 2, 3, 4]]), into

    assert both(go, "Allgatherv", make) == [[0, 1, 1, 2, 2, 2, 3, 3, 3, 3]] * N


def test_alltoall(go):
    def make(comm):
        into = np.zeros(N, dtype=int)
        return (np.arange(N) + 10 * comm.rank, into), into

    assert both(go, "Alltoall", make) == [[giver * 10 + rank for giver in range(N)] for rank in range(N)]


def test_alltoallv(go):
    def make(comm):
        # Rank r sends r + 1 elements to everyone.
        own = comm.rank + 1
        into = np.zeros(10, dtype=int)
        return ([np.full(own * N, comm.rank), [own] * N], [into, [1, 2, 3, 4]]), into

    assert both(go, "Alltoallv", make) == [[0, 1, 1, 2, 2, 2, 3, 3, 3, 3]] * N


@pytest.mark.parametrize("in_place", [False, True])
def test_reductions(go, in_place):
    def make(comm, *rest):
        mine = np.array([comm.rank + 1.0, 2.0])
        into = mine.copy() if in_place else np.zeros(2)
        return (MPI.IN_PLACE if in_place else mine, into, *rest), into

    assert both(go, "Allreduce", make) == [[10, 8]] * N
    assert both(go, "Allreduce", lambda comm: make(comm, MPI.MAX)) == [[4, 2]] * N
    assert both(go, "Reduce", lambda comm: make(comm, MPI.SUM, 2))[2] == [10, 8]
    assert both(go, "Scan", make) == [[1, 2], [3, 4], [6, 6], [10, 8]]
    assert both(go, "Exscan", make)[1:] == [[1, 2], [3, 4], [6, 6]]


def test_reduce_scatter(go):
    def block(comm):
        into = np.zeros(1)
        return (np.arange(N) + comm.rank * 1.0, into), into

    def uneven(comm):
        into = np.zeros(comm.rank + 1)
        return (np.arange(10.0), into, [1, 2, 3, 4]), into

    rise = 0 + 1 + 2 + 3
    assert both(go, "Reduce_scatter_block", block) == [[rise + N * rank] for rank in range(N)]
    assert both(go, "Reduce_scatter", uneven) == [[0], [4, 8], [12, 16, 20], [24, 28, 32, 36]]
