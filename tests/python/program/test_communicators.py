"""Communicators and groups."""

import pytest

from hopcast import MPI


def test_split_orders_by_key(go):
    def program(comm):
        part = comm.Split(color=comm.rank % 2, key=-comm.rank)
        return part.rank, part.size, part.allgather(comm.rank)

    results = go(program, 5)
    assert results[4] == (0, 3, [4, 2, 0])
    assert results[1] == (1, 2, [3, 1])


def test_split_leaves_out_who_is_undefined(go):
    def program(comm):
        part = comm.Split(MPI.UNDEFINED if comm.rank == 0 else 7)
        return None if part is None else (part.rank, part.allreduce(1))

    assert go(program, 3) == [None, (0, 2), (1, 2)]


def test_messages_of_communicators_do_not_mix(go):
    def program(comm):
        copy = comm.Dup()
        if comm.rank == 0:
            comm.send("world", dest=1)
            copy.send("copy", dest=1)
            return None
        got = copy.recv(source=0), comm.recv(source=0)
        return got, MPI.Intracomm.Compare(comm, copy), MPI.Intracomm.Compare(comm, comm)

    assert go(program, 2)[1] == (("copy", "world"), MPI.CONGRUENT, MPI.IDENT)


def test_splits_of_splits(go):
    def program(comm):
        half = comm.Split(comm.rank // 4, comm.rank)
        quarter = half.Split(half.rank // 2, half.rank)
        total = quarter.allreduce(comm.rank)
        quarter.Free()
        half.Free()
        return total

    assert go(program, 8) == [1, 1, 5, 5, 9, 9, 13, 13]


def test_create_takes_a_group(go):
    def program(comm):
        odd = comm.Get_group().Incl([3, 1])
        part = comm.Create(odd)
        return None if part is None else part.allgather(comm.rank)

    assert go(program, 5) == [None, [3, 1], None, [3, 1], None]


def test_only_members_create_a_group_communicator(go):
    def program(comm):
        low = comm.Get_group().Range_incl([(0, 2, 1)])
        high = comm.Get_group().Excl(range(3))
        part = comm.Create_group(low if comm.rank < 3 else high, tag=comm.rank // 3)
        again = comm.Create_group(low if comm.rank < 3 else high)
        return part.allgather(comm.rank), again.size

    assert go(program, 6) == [([0, 1, 2], 3)] * 3 + [([3, 4, 5], 3)] * 3


def test_ranks_of_a_host_are_found(go):
    def program(comm):
        node = comm.Split_type(MPI.COMM_TYPE_SHARED)
        return node.allgather(comm.rank), MPI.Get_processor_name()

    results = go(program, 6, set={"host.processes": 4})
    assert [ranks for ranks, _ in results] == [[0, 1, 2, 3]] * 4 + [[4, 5]] * 2
    assert len({name for _, name in results}) == 2


def test_the_world_and_oneself(go):
    def program(comm):
        alone = MPI.COMM_SELF
        assert alone.Dup().allreduce(comm.rank) == comm.rank
        return (
            MPI.COMM_WORLD is comm,
            alone.size,
            alone.allreduce(comm.rank),
            alone.Get_group() == comm.group.Incl([comm.rank]),
        )

    assert go(program, 3) == [(True, 1, rank, True) for rank in range(3)]


def test_groups(go):
    def program(comm):
        world = comm.Get_group()
        a, b = world.Incl([0, 1, 2]), world.Incl([2, 3])
        return {
            "union": MPI.Group.Union(a, b).members,
            "intersection": MPI.Group.Intersection(a, b).members,
            "difference": MPI.Group.Difference(a, b).members,
            "excl": world.Excl([1]).members,
            "ranges": world.Range_incl([(3, 1, -2)]).members,
            "without": world.Range_excl([(0, 3, 2)]).members,
            "size": (world.Get_size(), world.size, len(a)),
            "rank": (world.Get_rank(), b.rank),
            "translated": a.Translate_ranks([0, 2], b),
            "similar": MPI.Group.Compare(a, world.Incl([2, 1, 0])),
            "identical": MPI.Group.Compare(a, world.Excl([3])),
            "unequal": MPI.Group.Compare(a, b),
        }

    found = go(program, 4)[2]
    assert found == {
        "union": (0, 1, 2, 3),
        "intersection": (2,),
        "difference": (0, 1),
        "excl": (0, 2, 3),
        "ranges": (3, 1),
        "without": (1, 3),
        "size": (4, 4, 3),
        "rank": (2, 0),
        "translated": [MPI.UNDEFINED, 0],
        "similar": MPI.SIMILAR,
        "identical": MPI.IDENT,
        "unequal": MPI.UNEQUAL,
    }


@pytest.mark.parametrize(("ranks", "message"), [([0, 0], "each rank once"), ([9], "not in a group of 2")])
def test_impossible_groups_are_refused(go, ranks, message):
    def program(comm):
        try:
            comm.Get_group().Incl(ranks)
        except ValueError as error:
            return str(error)
        return ""

    assert message in go(program, 2)[0]
