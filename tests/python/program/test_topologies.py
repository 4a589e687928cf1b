"""Cartesian grids, graphs, and collectives among neighbours."""

import numpy as np
import pytest

import hopcast
from hopcast import MPI


def test_a_grid_is_in_row_major_order(go):
    def program(comm):
        grid = comm.Create_cart([2, 3], periods=[False, True])
        here = grid.Get_coords(grid.rank)
        return {
            "topo": grid.Get_topo(),
            "back": grid.Get_cart_rank(here),
            "wrapped": grid.Get_cart_rank([here[0], here[1] - 3]),
            "down": grid.Shift(0, 1),
            "right": grid.Shift(1, 1),
            "dim": (grid.Get_dim(), grid.dims, grid.Get_topology() == MPI.CART),
        }

    results = go(program, 6)
    assert [result["topo"][2] for result in results] == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
    assert [(result["back"], result["wrapped"]) for result in results] == [(rank, rank) for rank in range(6)]
    assert results[1]["down"] == (MPI.PROC_NULL, 4)
    assert results[4]["down"] == (1, MPI.PROC_NULL)
    assert [result["right"] for result in results[:3]] == [(2, 1), (0, 2), (1, 0)]
    assert results[0]["dim"] == (2, [2, 3], True)


def test_ranks_beyond_the_grid_get_none(go):
    assert go(lambda comm: comm.Create_cart([2, 2]) is None, 5) == [False] * 4 + [True]


def test_a_place_outside_of_the_grid_is_refused(go):
    def program(comm):
        with pytest.raises(ValueError, match="outside of a grid"):
            comm.Create_cart([2]).Get_cart_rank([2])

    go(program, 2)


def test_sub_grids(go):
    def program(comm):
        grid = comm.Create_cart([2, 3], periods=[True, False])
        rows, columns = grid.Sub([False, True]), grid.Sub([True, False])
        assert grid.Dup().Get_topo() == grid.Get_topo()
        assert columns.neighbor_allgather(grid.rank) == [(grid.rank + 3) % 6] * 2
        return rows.allgather(comm.rank), rows.periods, columns.allgather(comm.rank), columns.dims

    results = go(program, 6)
    assert results[4] == ([3, 4, 5], [False], [1, 4], [2])


def test_shifts_move_data_around(go):
    def program(comm):
        grid = comm.Create_cart([comm.size], periods=[True])
        source, dest = grid.Shift(0, 2)
        return grid.sendrecv(grid.rank, dest=dest, source=source)

    assert go(program, 5) == [3, 4, 0, 1, 2]


@pytest.mark.parametrize(
    ("ranks", "dims", "expected"),
    [
        (6, 2, [3, 2]),
        (7, 1, [7]),
        (7, 2, [7, 1]),
        (6, 3, [3, 2, 1]),
        (64, 3, [4, 4, 4]),
        (24, [0, 4, 0], [3, 4, 2]),
        (1000, 3, [10, 10, 10]),
        (16, [4, 4], [4, 4]),
    ],
)
def test_dimensions_are_as_equal_as_possible(ranks, dims, expected):
    # The first four are the examples of MPI_Dims_create in the standard.
    assert hopcast.Compute_dims(ranks, dims) == expected


def test_dimensions_that_do_not_divide_are_refused():
    with pytest.raises(ValueError, match="7 ranks cannot"):
        hopcast.Compute_dims(7, [2, 0])


def test_neighbours_on_a_grid(go):
    def program(comm):
        grid = comm.Create_cart([4], periods=[False])
        gathered = grid.neighbor_allgather(f"from {grid.rank}")
        dealt = grid.neighbor_alltoall([f"{grid.rank} down", f"{grid.rank} up"])
        return gathered, dealt

    results = go(program, 4)
    assert results[0] == ([None, "from 1"], [None, "1 down"])
    assert results[2] == (["from 1", "from 3"], ["1 up", "3 down"])
    assert results[3] == (["from 2", None], ["2 up", None])


@pytest.mark.parametrize("ranks", [1, 2])
def test_two_edges_to_one_neighbour_are_kept_apart(go, ranks):
    def program(comm):
        grid = comm.Create_cart([ranks], periods=[True])
        return grid.neighbor_alltoall([f"{grid.rank} down", f"{grid.rank} up"], nbytes=50)

    # What comes from below was sent up, and the other way round.
    other = {rank: (rank + 1) % ranks for rank in range(ranks)}
    assert go(program, ranks) == [[f"{other[rank]} up", f"{other[rank]} down"] for rank in range(ranks)]


def test_neighbours_on_a_graph(go):
    def program(comm):
        # Everyone sends to the next two, and so receives from the two before.
        sources = [(comm.rank - 1) % comm.size, (comm.rank - 2) % comm.size]
        destinations = [(comm.rank + 1) % comm.size, (comm.rank + 2) % comm.size]
        graph = comm.Create_dist_graph_adjacent(sources, destinations)
        return (
            graph.neighbor_allgather(comm.rank),
            graph.neighbor_alltoall([f"{comm.rank}+1", f"{comm.rank}+2"]),
            graph.Get_dist_neighbors_count(),
            graph.ineighbor_alltoall([comm.rank, comm.rank], nbytes=8).wait(),
        )

    assert go(program, 5)[3] == ([2, 1], ["2+1", "1+2"], (2, 2, False), [2, 1])


def test_neighbour_collectives_of_buffers(go):
    def program(comm):
        grid = comm.Create_cart([comm.size], periods=[True])
        results = []

        def both(name, send, recv, into):
            getattr(grid, f"Neighbor_{name}")(send, recv)
            blocking = into.tolist()
            into[:] = 0
            getattr(grid, f"Ineighbor_{name}")(send, recv).Wait()
            assert into.tolist() == blocking
            results.append(blocking)

        four, five = np.zeros(4), np.zeros(5)
        own, mine = np.full(2, float(grid.rank)), np.full(5, grid.rank * 1.0)
        both("allgather", own, four, four)
        both("allgatherv", own, [four, [2, 2], [2, 0], MPI.DOUBLE], four)
        both("alltoall", np.array([grid.rank, grid.rank, 10.0, 10.0]), four, four)
        both("alltoallv", [mine, [2, 3]], [five, [3, 2]], five)
        # Down goes the first number as eight bytes, up the second as one integer.
        values = np.array([grid.rank, grid.rank + 10], dtype=np.int64)
        three = np.zeros(3, dtype=np.int64)
        down_up = [values, [8, 1], [0, 8], [MPI.BYTE, MPI.LONG]]
        both("alltoallw", down_up, [three, ([1, 1], [16, 0]), [MPI.LONG, "i8"]], three)
        return results

    assert go(program, 3)[1] == [
        [0, 0, 2, 2],
        [2, 2, 0, 0],
        [10, 10, 2, 2],
        [0, 0, 0, 2, 2],
        [2, 0, 10],
    ]


def test_who_only_receives_takes_the_length_from_its_own_buffer(go):
    def program(comm):
        gives = comm.rank == 0
        graph = comm.Create_dist_graph_adjacent(*([], [1]) if gives else ([0], []))
        into = np.zeros(0 if gives else 2)
        graph.Neighbor_alltoall(np.array([3.0, 4.0] if gives else []), into)
        return into.tolist()

    assert go(program, 2) == [[], [3, 4]]


def test_phantoms_among_neighbours(predict):
    def program(comm):
        grid = comm.Create_cart([2, 2], periods=[True, True])
        edges = [1000] * 4
        grid.neighbor_allgather(nbytes=1000)
        grid.neighbor_alltoall(nbytes=1000)
        grid.neighbor_alltoallv(send_nbytes=edges, recv_nbytes=edges)
        grid.neighbor_alltoallw(send_nbytes=edges, recv_nbytes=edges)
        grid.ineighbor_alltoallw(send_nbytes=edges, recv_nbytes=edges).wait()
        grid.neighbor_allgatherv(nbytes=1000, recv_nbytes=edges)
        grid.ineighbor_allgather(nbytes=1000).wait()

    report = predict(program, 4)
    assert {call["call"] for call in report.calls} >= {
        "MPI_Neighbor_allgather",
        "MPI_Neighbor_alltoall",
        "MPI_Neighbor_alltoallv",
        "MPI_Neighbor_alltoallw",
        "MPI_Ineighbor_alltoallw",
        "MPI_Neighbor_allgatherv",
    }


def test_the_square_grid_of_the_design(go):
    def program(comm):
        return comm.grid_side, comm.left, comm.right, comm.up, comm.down

    assert go(program, 9)[0] == (3, 2, 1, 6, 3)
    with pytest.raises(hopcast.ProgramError, match="not a square grid"):
        go(program, 8)
