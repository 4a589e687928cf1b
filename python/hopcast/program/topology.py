"""Communicators with a topology: Cartesian grids and graphs, and collectives among neighbours."""

import math
from itertools import product

from hopcast._core import (
    COMM_SUB,
)
from hopcast.program.buffer_neighbor import BufferNeighbor
from hopcast.program.constants import CART, DIST_GRAPH, PROC_NULL
from hopcast.program.exchange import same_neighbour


class Grid:
    """The shape of a Cartesian grid; ranks lie in row-major order, the last dimension fastest."""

    __slots__ = ("periodic", "size", "sizes")

    def __init__(self, dims, periods=None):
        """`dims`: ranks in each dimension, 1 or more. `periods`: whether each wraps around."""
        sizes = [int(size) for size in ([dims] if isinstance(dims, int) else dims)]
        if periods is None:
            periods = [False] * len(sizes)
        elif isinstance(periods, (bool, int)):
            periods = [bool(periods)] * len(sizes)
        if len(periods) != len(sizes):
            raise ValueError(f"{len(periods)} periods for {len(sizes)} dimensions")
        if any(size < 1 for size in sizes):
            raise ValueError(f"a grid of {sizes}: every dimension has at least one rank")
        self.sizes = sizes
        self.periodic = [bool(period) for period in periods]
        self.size = math.prod(sizes)

    def coordinates(self, rank):
        """Coordinates of a rank."""
        if not 0 <= rank < self.size:
            raise ValueError(f"rank {rank} is not on a grid of {self.sizes}")
        found = []
        for size in reversed(self.sizes):
            rank, place = divmod(rank, size)
            found.append(place)
        return found[::-1]

    def rank(self, coordinates):
        """The rank at coordinates; those of periodic dimensions wrap. None outside of the grid."""
        rank = 0
        for place, size, periodic in zip(coordinates, self.sizes, self.periodic, strict=True):
            if periodic:
                place %= size
            elif not 0 <= place < size:
                return None
            rank = rank * size + place
        return rank

    def beside(self, rank, dimension, displacement):
        """The rank so far along a dimension, `PROC_NULL` outside of the grid."""
        coordinates = self.coordinates(rank)
        coordinates[dimension] += displacement
        found = self.rank(coordinates)
        return PROC_NULL if found is None else found


class Cartcomm(BufferNeighbor):
    """A communicator on a Cartesian grid. Neighbours: for each dimension the one before, the one after."""

    __slots__ = ()

    def Get_topology(self):
        return CART

    def Get_dim(self):
        return len(self._topology.sizes)

    def Get_topo(self):
        """`(sizes, periods, own coordinates)`"""
        grid = self._topology
        return list(grid.sizes), list(grid.periodic), grid.coordinates(self._rank)

    def Get_coords(self, rank):
        return self._topology.coordinates(rank)

    def Get_cart_rank(self, coords):
        rank = self._topology.rank(coords)
        if rank is None:
            raise ValueError(
                f"{list(coords)} is outside of a grid of {self._topology.sizes} that does not wrap"
            )
        return rank

    def Shift(self, direction, disp):
        """`(source, destination)` of a shift along a dimension, `PROC_NULL` outside of the grid."""
        grid = self._topology
        return grid.beside(self._rank, direction, -disp), grid.beside(self._rank, direction, disp)

    def Sub(self, remain_dims):
        """The grid of the dimensions that remain: one communicator for each place in the others."""
        grid = self._topology
        places = grid.coordinates(self._rank)
        remain = [bool(remains) for remains in remain_dims]
        colour, key, sizes, periodic = 0, 0, [], []
        for place, size, wraps, remains in zip(places, grid.sizes, grid.periodic, remain, strict=True):
            if remains:
                key = key * size + place
                sizes.append(size)
                periodic.append(wraps)
            else:
                colour = colour * size + place
        number, members = self._split((COMM_SUB, self._id, remain), colour, key)
        return Cartcomm(self._process, number, members, Grid(sizes, periodic))

    dim = property(Get_dim)
    ndim = property(Get_dim)
    topo = property(Get_topo)
    dims = property(lambda self: list(self._topology.sizes))
    periods = property(lambda self: list(self._topology.periodic))
    coords = property(lambda self: self._topology.coordinates(self._rank))

    def _sources(self):
        grid = self._topology
        return [grid.beside(self._rank, *step) for step in product(range(len(grid.sizes)), (-1, 1))]

    _destinations = _sources

    def _edge(self, place, _source):
        """Edge at the other end: what the neighbour before sent went to the one after."""
        return place ^ 1


class Distgraphcomm(BufferNeighbor):
    """A communicator on a graph, whose edges each rank has given for itself."""

    __slots__ = ()

    def __init__(self, process, number, members, topology):
        super().__init__(process, number, members, topology)
        members.set_edges(self._rank, topology)

    def Get_topology(self):
        return DIST_GRAPH

    def Get_dist_neighbors_count(self):
        """`(in, out, whether weighted)`"""
        return len(self._topology[0]), len(self._topology[1]), False

    def Get_dist_neighbors(self):
        """`(sources, destinations, weights)`"""
        return list(self._topology[0]), list(self._topology[1]), None

    def _sources(self):
        return self._topology[0]

    def _destinations(self):
        return self._topology[1]

    def _edge(self, place, source):
        return same_neighbour(self._topology[0], place, self._members.graph[source][1], self._rank)


def Compute_dims(nnodes, dims):
    """Factors of `nnodes` as equal as possible, in falling order; entries of `dims` above 0 stay.

    `dims` may be the number of dimensions.
    """
    dims = [0] * dims if isinstance(dims, int) else list(dims)
    fixed = math.prod(size for size in dims if size > 0)
    if nnodes % fixed != 0:
        raise ValueError(f"{nnodes} ranks cannot be laid out with {dims}")
    free = [place for place, size in enumerate(dims) if size == 0]
    best = _factors(nnodes // fixed, len(free))
    for place, size in zip(free, best, strict=True):
        dims[place] = size
    return dims


def _factors(number, count):
    """`count` factors of `number` in falling order, the largest as small as possible, then the next."""
    if count == 0:
        if number != 1:
            raise ValueError(f"no dimension is left for {number} ranks")
        return []
    if count == 1:
        return [number]
    largest = _root_above(number, count)
    while True:
        if number % largest == 0:
            rest = _factors(number // largest, count - 1)
            if rest[0] <= largest:
                return [largest, *rest]
        largest += 1


def _root_above(number, count):
    """The smallest whole number whose `count`-th power is at least `number`."""
    root = max(1, round(number ** (1 / count)) - 1)
    while root**count < number:
        root += 1
    return root
