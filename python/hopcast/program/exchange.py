"""Contents of collectives: what the members of a communicator give to one, and what they take from it.

The simulator moves lengths; the contents of a collective meet here, by (communicator, number of the
collective on it). A member takes its result when the simulator says that its call is complete: whatever
the result needs has been given by then, because a message had to come from there.
"""

from typing import Any

import numpy as np

from hopcast.program.payload import pack, unpack, unpack_copy


class Exchange:
    """One collective: payloads by rank, their lengths, and a result that is computed once."""

    __slots__ = ("given", "left", "lengths", "result")

    def __init__(self, size):
        self.given = {}
        self.lengths = {}
        self.left = size
        self.result = None

    def complete(self, size):
        """True if all `size` members have given something that is not a phantom."""
        return len(self.given) == size

    def fold(self, op, size):
        """All contributions combined in order of ranks, computed once; a copy for each caller."""
        if not self.complete(size):
            return None
        if self.result is None:
            operands = (unpack(self.given[rank]) for rank in range(size))
            self.result = (pack(op.fold(operands))[1],)
        return unpack_copy(self.result[0])

    def prefix(self, op, count):
        """The first `count` contributions combined, computed once; a copy for each caller."""
        prefixes = self.result
        if prefixes is None:
            prefixes = self.result = []
        while len(prefixes) < count:
            own = self.given.get(len(prefixes))
            if own is None:
                return None
            total = unpack_copy(own)
            if prefixes:
                total = op(unpack_copy(prefixes[-1]), total)
            prefixes.append(pack(total)[1])
        return unpack_copy(prefixes[count - 1])

    def fold_block(self, op, rank, size):
        """Block `rank` of everybody's blocks, combined in order of ranks."""
        if not self.complete(size):
            return None
        return op.fold(unpack_copy(self.given[giver][rank]) for giver in range(size))

    def everyone(self, size):
        """A copy of everybody's contribution, by rank; None for phantoms."""
        given = self.given
        return [unpack_copy(given.get(rank)) for rank in range(size)]


class Members:
    """A communicator as all of its members share it."""

    __slots__ = ("_asked", "_groups", "_index", "exchanges", "graph", "ranks")

    def __init__(self, ranks):
        """`ranks`: world ranks by rank of the communicator."""
        self.ranks = ranks
        self.exchanges = {}
        self.graph = {}
        self._groups = {}
        self._index = None
        self._asked: tuple[Any, list[int]] = (None, [])

    def find(self, world_rank):
        """The rank in this communicator of a world rank that is in it."""
        if isinstance(self.ranks, range):
            return self.ranks.index(world_rank)
        if self._index is None:
            self._index = {member: place for place, member in enumerate(self.ranks)}
        return self._index[world_rank]

    def places(self, world_ranks):
        """The ranks in this communicator of some of its members; all members ask for the same ones."""
        asked, found = self._asked
        if asked is not world_ranks and asked != world_ranks:
            found = [self.find(rank) for rank in world_ranks]
            self._asked = (world_ranks, found)
        return found

    def meet(self, number):
        """The exchange of collective `number`, for what members share without giving anything."""
        exchange = self.exchanges.get(number)
        if exchange is None:
            exchange = self.exchanges[number] = Exchange(len(self.ranks))
        return exchange

    def join(self, number, rank, length, payload):
        """Gives `payload` of `length` bytes to collective `number`."""
        exchange = self.meet(number)
        exchange.given[rank] = payload
        exchange.lengths[rank] = length
        return exchange

    def count_here(self):
        """Number of members in this process."""
        return len(self.ranks)

    def next_group(self, rank, group):
        """Number of communicators that this rank has made of this group before."""
        made = self._groups.get((rank, group), 0)
        self._groups[rank, group] = made + 1
        return made

    def set_edges(self, rank, edges):
        """Notes the in-neighbours and out-neighbours of a member."""
        self.graph[rank] = edges

    def leave(self, number):
        """The exchange of collective `number`, taken by one more member; None if all was phantom."""
        exchange = self.exchanges.get(number)
        if exchange is not None:
            exchange.left -= 1
            if exchange.left == 0:
                del self.exchanges[number]
        return exchange


def split(given):
    """World ranks by colour from `{rank: (colour, key, world rank)}`, ordered by key, then by rank."""
    colours: dict[int, list[tuple[int, int, int]]] = {}
    for rank in sorted(given):
        colour, key, world_rank = given[rank]
        if colour is not None:
            colours.setdefault(colour, []).append((key, rank, world_rank))
    return {colour: [world_rank for _, _, world_rank in sorted(ranks)] for colour, ranks in colours.items()}


def same_neighbour(sources, place, destinations_of_source, me):
    """Out-edge of the source that feeds the in-edge `place`: the n-th edge to me is my n-th from it."""
    earlier = sources[:place].count(sources[place])
    edges = (edge for edge, to in enumerate(destinations_of_source) if to == me)
    return next(edge for order, edge in enumerate(edges) if order == earlier)


def lengths_bytes(lengths):
    """A list of lengths as the core reads it: 64-bit unsigned, little endian."""
    return np.asarray(lengths, dtype="<u8").tobytes()


def lengths_bytes_of_one(length, rank, size):
    """As `lengths_bytes`, where only the length of `rank` is known and the others do not matter."""
    lengths = np.zeros(size, dtype="<u8")
    lengths[rank] = length
    return lengths.tobytes()
