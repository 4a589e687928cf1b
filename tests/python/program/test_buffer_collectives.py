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


def test_alltoallw(go):
    # To even ranks go two doubles, to odd ones one 32-bit integer; displacements are in bytes.
    def sent(comm):
        values = np.zeros(N, dtype=[("double", "<f8", 2), ("int", "<i4")])
        values["double"], values["int"] = comm.rank + 0.5, comm.rank
        even = [peer % 2 == 0 for peer in range(N)]
        places = [20 * peer + (0 if is_even else 16) for peer, is_even in enumerate(even)]
        types = [MPI.DOUBLE if is_even else MPI.INT for is_even in even]
        return [values, [2 if is_even else 1 for is_even in even], places, types]

    def make(comm):
        if comm.rank % 2 == 0:
            into = np.zeros(2 * N)
            return (sent(comm), [into, ([2] * N, [16 * peer for peer in range(N)]), ["d"] * N]), into
        into = np.zeros(N, dtype=np.int32)
        return (sent(comm), [into, [1] * N, [4 * peer for peer in range(N)], [MPI.INT] * N]), into

    doubles, ints = [0.5, 0.5, 1.5, 1.5, 2.5, 2.5, 3.5, 3.5], [0, 1, 2, 3]
    assert both(go, "Alltoallw", make) == [doubles, ints, doubles, ints]


def test_alltoallw_in_place_and_without_counts(go):
    def in_place(comm):
        into = np.arange(N) + 10 * comm.rank
        return (MPI.IN_PLACE, [into, [1] * N, [8 * peer for peer in range(N)], [MPI.LONG] * N]), into

    def first_element(comm):
        # As in mpi4py: one element from the begin of the buffer for each rank.
        into = np.zeros(N, dtype=np.int32)
        where = [1] * N, [4 * peer for peer in range(N)]
        return (
            [np.array([comm.rank, 99], dtype=np.int32), [MPI.INT] * N],
            [into, where, [MPI.INT] * N],
        ), into

    assert both(go, "Alltoallw", in_place) == [[10 * giver + rank for giver in range(N)] for rank in range(N)]
    assert both(go, "Alltoallw", first_element) == [[0, 1, 2, 3]] * N


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            np.zeros(2),
            "a buffer with a type for each block is written as [buffer, counts, displs, types]",
        ),
        ([np.zeros(2), [1], [0], [MPI.INT] * 2], "1 counts for 2 blocks"),
        ([np.zeros(2), [1, 1], [0], [MPI.INT] * 2], "1 displacements for 2 blocks"),
        ([np.zeros(2), [MPI.INT]], "1 datatypes for 2 blocks"),
        (
            [np.zeros(2), [1, 2], [0, 12], [MPI.DOUBLE, MPI.INT]],
            "a block of 2 int32 from byte 12 on lies outside of a buffer of 16 bytes",
        ),
    ],
)
def test_wrong_buffers_of_alltoallw_are_refused(go, spec, message):
    def program(comm):
        with pytest.raises(ValueError) as error:
            comm.Alltoallw(spec, spec)
        return str(error.value)

    assert go(program, 2) == [message] * 2


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
