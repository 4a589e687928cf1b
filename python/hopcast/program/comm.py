"""`Comm`: a communicator, with mpi4py's names."""

import math

from hopcast._core import (
    ABORT,
    COMM_CART,
    COMM_CREATE,
    COMM_CREATE_GROUP,
    COMM_DUP,
    COMM_FREE,
    COMM_GRAPH,
    COMM_SPLIT,
    COMM_SPLIT_HOST,
    COMPUTE,
    COMPUTE_FLOPS,
    SLEEP_UNTIL,
    WTIME,
)
from hopcast.program.buffer_collective import BufferCollective
from hopcast.program.constants import CONGRUENT, IDENT, SIMILAR, UNDEFINED, UNEQUAL
from hopcast.program.exchange import split
from hopcast.program.group import Group
from hopcast.program.point_to_point import PointToPoint

WORLD = 0
"""The number of the communicator of all ranks."""
SELF = 1
"""The number of the communicator of the rank alone."""
_NULL = 2**32 - 1


class Comm(PointToPoint, BufferCollective):
    """A communicator, and the rank's way to compute."""

    __slots__ = ()

    def compute(self, seconds=None, *, flops=None, bytes=0):
        """Computes: for `seconds`, or `flops` operations with `bytes` of memory traffic on the platform."""
        if seconds is None:
            if flops is None and not bytes:
                raise TypeError("compute() takes seconds=, or flops= and bytes=")
            self._switch((COMPUTE_FLOPS, flops or 0.0, bytes))
        elif flops is not None or bytes:
            raise TypeError("compute() takes seconds=, or flops= and bytes=, not both")
        else:
            self._switch((COMPUTE, seconds))

    def sleep_until(self, time_s):
        """Does nothing until that simulated time [s]; returns at once if it has passed."""
        self._switch((SLEEP_UNTIL, time_s))

    def Wtime(self):
        """The rank's simulated time [s]. Asking takes the time that the platform names for MPI_Wtime."""
        clock = self._process.program.clock
        if not clock.wtime_costs:
            return clock.now_s
        now_s = clock.now_s
        self._switch((WTIME,))
        return now_s

    def Abort(self, errorcode=0):
        """Ends the whole program as a failure."""
        self._switch((ABORT, errorcode))

    def Get_group(self):
        return Group(self._members.ranks, self._process.rank)

    group = property(Get_group)

    def Get_name(self):
        return self.name

    def Set_name(self, name):
        self.name = name

    def Is_inter(self):
        return False

    def Is_intra(self):
        return True

    def Get_topology(self):
        """`UNDEFINED`; communicators with a topology say which."""
        return UNDEFINED

    @staticmethod
    def Compare(comm1, comm2):
        """`IDENT`, `CONGRUENT`, `SIMILAR` or `UNEQUAL`."""
        if comm1._id == comm2._id:
            return IDENT
        members = Group.Compare(comm1.Get_group(), comm2.Get_group())
        return {IDENT: CONGRUENT, SIMILAR: SIMILAR}.get(members, UNEQUAL)

    def Dup(self, info=None):
        """A communicator of the same members."""
        return self._new((COMM_DUP, self._id), self._members.ranks)

    def Clone(self):
        """As `Dup`."""
        return self.Dup()

    def Split(self, color=0, key=0):
        """One communicator for each colour, ordered by key; None for a rank with `UNDEFINED`."""
        colour = None if color is None or color == UNDEFINED else color
        return self._plain(*self._split((COMM_SPLIT, self._id, colour, key), colour, key))

    def Split_type(self, split_type, key=0, info=None):
        """One communicator for each host (`COMM_TYPE_SHARED`); None for a rank with `UNDEFINED`."""
        if split_type == UNDEFINED:
            return self.Split(UNDEFINED, key)
        host = self._process.program.host_of_rank[self._process.rank]
        return self._plain(*self._split((COMM_SPLIT_HOST, self._id, key), host, key))

    def Create(self, group):
        """A communicator of the group's members; all members of this one call, others get None."""
        members = self._members.places(group.members)
        return self._new((COMM_CREATE, self._id, members), tuple(group.members))

    def Create_group(self, group, tag=0):
        """As `Create`, but only the group's members call."""
        members = self._members.places(group.members)
        number = self._switch((COMM_CREATE_GROUP, self._id, members, tag))
        process = self._process
        waiting = process.program.created_groups
        # Groups without a common member may have one number.
        created = (number, tuple(group.members))
        order = self._members.next_group(self._rank, created[1])
        shared, left = waiting.pop(created, (None, None))
        if shared is None:
            shared = process.program.members(created[1], self._members, created[1], tag, order)
            left = shared.count_here()
        if left > 1:
            waiting[created] = (shared, left - 1)
        return Comm(process, number, shared)

    def Free(self):
        """Frees the communicator; collective."""
        self._switch((COMM_FREE, self._id))

    Disconnect = Free

    def Create_cart(self, dims, periods=None, reorder=False):
        """A communicator on a Cartesian grid, in row-major order; None for ranks beyond it."""
        from hopcast.program.topology import Cartcomm, Grid

        grid = Grid(dims, periods)
        if grid.size > self.size:
            raise ValueError(
                f"a grid of {grid.sizes} has {grid.size} ranks, the communicator only {self.size}"
            )

        ranks = self._members.ranks[: grid.size]
        return self._new((COMM_CART, self._id, grid.sizes, grid.periodic), ranks, Cartcomm, grid)

    def Create_dist_graph_adjacent(
        self, sources, destinations, sourceweights=None, destweights=None, info=None, reorder=False
    ):
        """A communicator on a graph: this rank's neighbours in order."""
        from hopcast.program.topology import Distgraphcomm

        sources, destinations = list(sources), list(destinations)
        operation = (COMM_GRAPH, self._id, sources, destinations)
        return self._new(operation, self._members.ranks, Distgraphcomm, (sources, destinations))

    def _split(self, operation, colour, key):
        """A split: the number of this rank's part, and who is in it; None for a rank without a colour."""
        exchange_number = self._next_number()
        contribution = (colour, key, self._process.rank)
        exchange = self._members.join(exchange_number, self._rank, 0, contribution)
        number = self._switch(operation)
        if exchange.result is None:
            colours = split(exchange.given)
            made = self._process.program.members
            exchange.result = {
                colour: made(tuple(ranks), self._members, exchange_number)
                for colour, ranks in colours.items()
            }
        self._members.leave(exchange_number)
        return number, exchange.result.get(colour)

    def _plain(self, number, members):
        return None if members is None else Comm(self._process, number, members)

    def _new(self, operation, ranks, kind=None, extra=None):
        """A communicator of `ranks`, which all members of this one make alike."""
        exchange_number = self._next_number()
        exchange = self._members.meet(exchange_number)
        number = self._switch(operation)
        if exchange.result is None:
            exchange.result = self._process.program.members(ranks, self._members, exchange_number)
        self._members.leave(exchange_number)
        if number == _NULL:
            return None
        if kind is None:
            return Comm(self._process, number, exchange.result)
        return kind(self._process, number, exchange.result, extra)

    @property
    def grid_side(self):
        """The side of the square grid of all ranks in row-major order."""
        side = math.isqrt(self.size)
        if side * side != self.size:
            raise ValueError(f"{self.size} ranks are not a square grid")
        return side

    def _beside(self, down, right):
        side = self.grid_side
        row, column = divmod(self._rank, side)
        return (row + down) % side * side + (column + right) % side

    left = property(lambda self: self._beside(0, -1), doc="The rank to the left on the square grid, a torus.")
    right = property(lambda self: self._beside(0, 1), doc="The rank to the right on the square grid.")
    up = property(lambda self: self._beside(-1, 0), doc="The rank above on the square grid.")
    down = property(lambda self: self._beside(1, 0), doc="The rank below on the square grid.")

    def __eq__(self, other):
        return isinstance(other, Comm) and self._id == other._id and self._process is other._process

    def __hash__(self):
        return hash((self._id, self._process.rank))

    def __repr__(self):
        return f"{type(self).__name__}(rank {self._rank} of {self.size})"
