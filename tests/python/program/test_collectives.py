"""Collectives give every rank what MPI says, for any number of ranks, with objects and phantoms."""

import operator
from functools import reduce

import numpy as np
import pytest

from hopcast import MPI

SIZES = [1, 2, 3, 4, 5, 8, 13]


@pytest.fixture(params=SIZES)
def ranks(request):
    return request.param


@pytest.mark.parametrize("obj", [{"a": 1}, np.arange(3), 5, "x" * 1000], ids=["dict", "array", "int", "long"])
def test_bcast(go, ranks, obj):
    def program(comm):
        root = comm.size - 1
        return comm.bcast(obj if comm.rank == root else None, root=root)

    for received in go(program, ranks):
        np.testing.assert_equal(received, obj)


def test_bcast_gives_each_rank_a_copy_of_its_own(go):
    def program(comm):
        got = comm.bcast([0] if comm.rank == 0 else None)
        comm.barrier()
        got.append(comm.rank)
        return got

    assert go(program, 3) == [[0, 0], [0, 1], [0, 2]]


def test_scatter_and_gather(go, ranks):
    def program(comm):
        root = comm.size // 2
        given = [[rank, "x" * rank] for rank in range(comm.size)] if comm.rank == root else None
        mine = comm.scatter(given, root=root)
        return mine, comm.gather(mine, root=root)

    results = go(program, ranks)
    whole = [[rank, "x" * rank] for rank in range(ranks)]
    assert [mine for mine, _ in results] == whole
    assert [gathered for _, gathered in results] == [
        whole if rank == ranks // 2 else None for rank in range(ranks)
    ]


def test_allgather_of_different_lengths(go, ranks):
    results = go(lambda comm: comm.allgather("y" * comm.rank), ranks)
    assert results == [["y" * rank for rank in range(ranks)]] * ranks


def test_alltoall(go, ranks):
    results = go(lambda comm: comm.alltoall([(comm.rank, to) for to in range(comm.size)]), ranks)
    assert results == [[(giver, rank) for giver in range(ranks)] for rank in range(ranks)]


REDUCTIONS = [
    (MPI.SUM, operator.add),
    (MPI.PROD, operator.mul),
    (MPI.MAX, max),
    (MPI.MIN, min),
    (MPI.BAND, operator.and_),
    (MPI.BOR, operator.or_),
    (MPI.BXOR, operator.xor),
    (MPI.LAND, lambda a, b: bool(a and b)),
    (MPI.LOR, lambda a, b: bool(a or b)),
    (MPI.LXOR, lambda a, b: bool(a) != bool(b)),
]


@pytest.mark.parametrize(("op", "function"), REDUCTIONS, ids=lambda op: getattr(op, "name", ""))
def test_reductions(go, op, function):
    values = [3, 6, 5, 1, 7]

    def program(comm):
        mine = values[comm.rank]
        return (
            comm.allreduce(mine, op),
            comm.reduce(mine, op, root=2),
            comm.scan(mine, op),
            comm.exscan(mine, op),
        )

    total = reduce(function, values)
    for rank, (everywhere, rooted, scanned, before) in enumerate(go(program, 5)):
        assert everywhere == total
        assert rooted == (total if rank == 2 else None)
        assert scanned == reduce(function, values[: rank + 1])
        assert before == (reduce(function, values[:rank]) if rank else None)


def test_places_of_extremes(go, ranks):
    values = [(rank * 7) % 5 for rank in range(ranks)]

    def program(comm):
        pair = (values[comm.rank], comm.rank)
        return comm.allreduce(pair, MPI.MAXLOC), comm.allreduce(pair, MPI.MINLOC)

    most, least = max(values), min(values)
    expected = ((most, values.index(most)), (least, values.index(least)))
    assert go(program, ranks) == [expected] * ranks


def test_a_python_function_reduces_in_order_of_ranks(go, ranks):
    def join(a, b):
        return a + b

    results = go(lambda comm: comm.allreduce(f"<{comm.rank}>", join), ranks)
    assert results == ["".join(f"<{rank}>" for rank in range(ranks))] * ranks


def test_arrays_are_reduced_by_element_and_not_shared(go, ranks):
    def program(comm):
        mine = np.array([comm.rank, -comm.rank, 1.0])
        total = comm.allreduce(mine)
        mine[:] = 99
        comm.barrier()
        total += comm.rank
        return (total - comm.rank).tolist(), comm.allreduce(np.array([comm.rank]), MPI.MAX).tolist()

    rise = ranks * (ranks - 1) / 2
    assert go(program, ranks) == [([rise, -rise, ranks], [ranks - 1])] * ranks


def test_reduce_scatter(go, ranks):
    def program(comm):
        parts = [np.full(2, comm.rank * 100 + to) for to in range(comm.size)]
        uneven = [np.full(to + 1, comm.rank) for to in range(comm.size)]
        return comm.reduce_scatter_block(parts).tolist(), comm.reduce_scatter(uneven).tolist()

    rise = ranks * (ranks - 1) // 2
    for rank, (even, uneven) in enumerate(go(program, ranks)):
        assert even == [100 * rise + ranks * rank] * 2
        assert uneven == [rise] * (rank + 1)


def test_sized_objects_travel_in_one_collective(predict, ranks):
    def program(comm):
        return [
            comm.bcast("b" if comm.rank == 0 else None, nbytes=100),
            comm.scatter(list(range(comm.size)) if comm.rank == 0 else None, nbytes=100),
            comm.gather(comm.rank, nbytes=100),
            comm.allgather(comm.rank, nbytes=100),
            comm.alltoall(list(range(comm.size)), nbytes=100),
        ]

    report = predict(program, ranks)
    everyone = list(range(ranks))
    for rank, got in enumerate(report.results):
        assert got == ["b", rank, everyone if rank == 0 else None, everyone, [rank] * ranks]
    counts = {call["call"]: call["count"] for call in report.calls}
    assert counts == dict.fromkeys(
        ["MPI_Bcast", "MPI_Scatter", "MPI_Gather", "MPI_Allgather", "MPI_Alltoall"], ranks
    )


def test_varying_lengths(go, ranks):
    lengths = [100 * rank for rank in range(ranks)]

    def program(comm):
        is_root = comm.rank == 0
        mine = lengths[comm.rank]
        given = [f"for {rank}" for rank in range(comm.size)]
        return (
            comm.scatterv(given if is_root else None, nbytes=lengths if is_root else mine),
            comm.gatherv(comm.rank, nbytes=lengths if is_root else mine),
            comm.allgatherv(comm.rank, nbytes=lengths),
            comm.alltoallv(given, send_nbytes=[mine] * comm.size, recv_nbytes=lengths),
            comm.ialltoallw(given, send_nbytes=[mine] * comm.size, recv_nbytes=lengths).wait(),
        )

    everyone = list(range(ranks))
    for rank, (part, gathered, all_gathered, dealt, typed) in enumerate(go(program, ranks)):
        assert part in (f"for {rank}", None if lengths[rank] == 0 else part)
        assert gathered == (everyone if rank == 0 else None)
        assert all_gathered == everyone
        assert dealt[1:] == typed[1:] == [f"for {rank}"] * (ranks - 1)


PHANTOMS = {
    "barrier": {},
    "bcast": {"nbytes": 1000},
    "reduce": {"nbytes": 1000},
    "allreduce": {"nbytes": 1000},
    "gather": {"nbytes": 1000},
    "scatter": {"nbytes": 1000},
    "allgather": {"nbytes": 1000},
    "alltoall": {"nbytes": 1000},
    "scan": {"nbytes": 1000},
    "exscan": {"nbytes": 1000},
    "reduce_scatter_block": {"nbytes": 1000},
}


@pytest.mark.parametrize("name", PHANTOMS)
def test_phantoms_take_the_same_time_blocking_and_not(predict, ranks, name):
    def blocking(comm):
        return getattr(comm, name)(**PHANTOMS[name])

    def nonblocking(comm):
        return getattr(comm, f"i{name}")(**PHANTOMS[name]).wait()

    one, other = predict(blocking, ranks), predict(nonblocking, ranks)
    assert one.results == other.results == [None] * ranks
    assert one.makespan_s == other.makespan_s
    assert (one.makespan_s > 0) == (ranks > 1)
    assert one.messages == other.messages


def test_phantoms_of_varying_lengths(predict):
    def program(comm):
        lengths = [1000] * comm.size
        own = lengths if comm.rank == 0 else 1000
        comm.gatherv(nbytes=own)
        comm.scatterv(nbytes=own)
        comm.allgatherv(nbytes=lengths)
        comm.alltoallv(send_nbytes=lengths, recv_nbytes=lengths)
        comm.alltoallw(send_nbytes=lengths, recv_nbytes=lengths)
        comm.reduce_scatter(nbytes=lengths)
        for request in (
            comm.igatherv(nbytes=own),
            comm.iscatterv(nbytes=own),
            comm.iallgatherv(nbytes=lengths),
            comm.ialltoallv(send_nbytes=lengths, recv_nbytes=lengths),
            comm.ialltoallw(send_nbytes=lengths, recv_nbytes=lengths),
            comm.ireduce_scatter(nbytes=lengths),
        ):
            request.wait()

    report = predict(program, 6)
    names = ["Gatherv", "Scatterv", "Allgatherv", "Alltoallv", "Alltoallw", "Reduce_scatter"]
    counts = {call["call"]: call["count"] for call in report.calls}
    expected = {f"MPI_{name}": 6 for name in names} | {f"MPI_I{name.lower()}": 6 for name in names}
    assert expected.items() <= counts.items()


def test_an_exchange_is_freed_when_all_have_taken_it(go):
    def program(comm):
        for _ in range(3):
            comm.allreduce(comm.rank)
            comm.bcast(comm.rank)
            comm.gather(comm.rank)
        return comm._members

    members = go(program, 4)
    assert members[0] is members[3]
    assert members[0].exchanges == {}


def test_a_length_that_others_cannot_know_must_be_given(go):
    def program(comm):
        try:
            comm.ibcast({"a": 1} if comm.rank == 0 else None)
        except TypeError as error:
            return str(error)
        return None

    assert all("nbytes=" in text for text in go(program, 2))
