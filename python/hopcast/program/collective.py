"""Collectives on objects and phantoms, blocking and non-blocking.

With `nbytes=` every member knows the length, and the call is one MPI collective; an object given with it
travels along. Without it, objects of any length move as mpi4py moves them: first the lengths (8 bytes
each), then the contents. Reductions are one collective: operands are as long on one rank as on another
(8 bytes for a number, the buffer of an array); only other objects first agree on the longest.
"""

from hopcast._core import (
    ALLGATHER,
    ALLGATHERV,
    ALLREDUCE,
    ALLTOALL,
    ALLTOALLV,
    ALLTOALLW,
    BARRIER,
    BCAST,
    EXSCAN,
    GATHER,
    GATHERV,
    REDUCE,
    REDUCE_SCATTER,
    REDUCE_SCATTER_BLOCK,
    SCAN,
    SCATTER,
    SCATTERV,
)
from hopcast.program.base import Base
from hopcast.program.exchange import lengths_bytes, lengths_bytes_of_one
from hopcast.program.operators import SUM, as_op
from hopcast.program.payload import known_length, pack, unpack, unpack_copy

_LENGTH_BYTES = 8
"""Length of a length on the wire: MPI_Count."""


def _element(obj, nbytes):
    """Bytes of one element of a reduction: an algorithm cuts between elements only."""
    itemsize = getattr(obj, "itemsize", None)
    if itemsize:
        return itemsize
    return 8 if nbytes % 8 == 0 else 1


def _length(obj, nbytes, call):
    """The length that all members know for `obj`, or an error that says how to give it."""
    length = known_length(obj) if nbytes is None else nbytes
    if length is None:
        raise TypeError(
            f"{call} of {type(obj).__name__}: the other ranks cannot know its length; "
            "give nbytes= on all of them"
        )
    return length


class Collective(Base):
    """Collective methods of a communicator. `algorithm` names one of `hopcast list algorithms`."""

    __slots__ = ()

    def barrier(self, *, algorithm=None):
        """Waits until all members have come."""
        self._collective(BARRIER, 0, 0, 1, True, algorithm)

    def ibarrier(self, *, algorithm=None):
        return self._icollective(BARRIER, 0, 0, 1, True, algorithm)

    Barrier = barrier
    Ibarrier = ibarrier

    def _give(self, payload, length=0):
        """Joins the collective that begins; a phantom (None) only counts it."""
        number = self._next_number()
        if payload is not None:
            self._members.join(number, self._rank, length, payload)
        return number

    def bcast(self, obj=None, root=0, *, nbytes=None, algorithm=None):
        """The root's object for everyone."""
        if nbytes is not None:
            return self._collective(*self._bcast(obj, root, nbytes, algorithm))
        length, payload = pack(obj) if self._rank == root else (0, None)
        number = self._next_number()
        if self._rank == root:
            self._members.join(number, root, length, payload)
        self._collective(BCAST, root, _LENGTH_BYTES, 1, True, None)
        exchange = self._members.leave(number)
        self._collective(BCAST, root, exchange.lengths[root], 1, True, algorithm)
        return obj if self._rank == root else unpack_copy(exchange.given[root])

    def ibcast(self, obj=None, root=0, *, nbytes=None, algorithm=None):
        """As `bcast`; every rank gives `nbytes`, or a buffer of the root's length."""
        return self._icollective(*self._bcast(obj, root, _length(obj, nbytes, "ibcast"), algorithm))

    def _bcast(self, obj, root, nbytes, algorithm):
        is_root = self._rank == root
        number = self._give(pack(obj)[1] if is_root and obj is not None else None)

        def finish():
            exchange = self._members.leave(number)
            if is_root or exchange is None:
                return obj
            return unpack_copy(exchange.given[root])

        return BCAST, root, nbytes, 1, True, algorithm, finish

    def scatter(self, sendobj=None, root=0, *, nbytes=None, algorithm=None):
        """One object of the root's sequence for each rank. `nbytes`: length of each."""
        if nbytes is not None:
            return self._collective(*self._scatter(sendobj, root, nbytes, algorithm))
        number = self._next_number()
        if self._rank == root:
            self._join_parts(number, sendobj)
        self._collective(SCATTER, root, _LENGTH_BYTES, 1, True, None)
        exchange = self._members.leave(number)
        lengths = exchange.lengths[root]
        self._collective(SCATTERV, root, lengths_bytes(lengths), 1, True, algorithm)
        return unpack(exchange.given[root][self._rank])

    def iscatter(self, sendobj=None, root=0, *, nbytes, algorithm=None):
        return self._icollective(*self._scatter(sendobj, root, nbytes, algorithm))

    def _scatter(self, sendobj, root, nbytes, algorithm):
        number = self._next_number()
        if self._rank == root and sendobj is not None:
            self._join_parts(number, sendobj)
        return SCATTER, root, nbytes, 1, True, algorithm, lambda: self._part(number, root)

    def _join_parts(self, number, parts):
        """Gives one payload for each member."""
        packed = [pack(part) for part in parts]
        if len(packed) != self.size:
            raise ValueError(f"a sequence of {len(packed)} objects for {self.size} ranks")
        lengths = [length for length, _ in packed]
        self._members.join(number, self._rank, lengths, [payload for _, payload in packed])

    def _part(self, number, root):
        exchange = self._members.leave(number)
        return None if exchange is None else unpack(exchange.given[root][self._rank])

    def scatterv(self, sendobj=None, root=0, *, nbytes, algorithm=None):
        """As `scatter`, with lengths by rank: `nbytes` is the list at the root, the own length elsewhere."""
        return self._collective(*self._scatterv(sendobj, root, nbytes, algorithm))

    def iscatterv(self, sendobj=None, root=0, *, nbytes, algorithm=None):
        return self._icollective(*self._scatterv(sendobj, root, nbytes, algorithm))

    def _scatterv(self, sendobj, root, nbytes, algorithm):
        plan = self._scatter(sendobj, root, 0, algorithm)
        return SCATTERV, root, self._by_rank(nbytes), *plan[3:]

    def _by_rank(self, nbytes):
        """Lengths by rank; a member that knows only its own, and needs only that, gives a number."""
        if not hasattr(nbytes, "__len__"):
            return lengths_bytes_of_one(nbytes, self._rank, self.size)
        if len(nbytes) != self.size:
            raise ValueError(f"{len(nbytes)} lengths for {self.size} ranks")
        return lengths_bytes(nbytes)

    def gather(self, sendobj=None, root=0, *, nbytes=None, algorithm=None):
        """Everybody's object at the root, by rank; None elsewhere."""
        if nbytes is not None:
            return self._collective(*self._gather(sendobj, root, nbytes, algorithm))
        length, payload = pack(sendobj)
        number = self._next_number()
        exchange = self._members.join(number, self._rank, length, payload)
        self._collective(GATHER, root, _LENGTH_BYTES, 1, True, None)
        is_root = self._rank == root
        lengths = [exchange.lengths[rank] for rank in range(self.size)] if is_root else length
        self._collective(GATHERV, root, self._by_rank(lengths), 1, True, algorithm)
        self._members.leave(number)
        return [unpack(exchange.given[rank]) for rank in range(self.size)] if is_root else None

    def igather(self, sendobj=None, root=0, *, nbytes=None, algorithm=None):
        nbytes = _length(sendobj, nbytes, "igather")
        return self._icollective(*self._gather(sendobj, root, nbytes, algorithm))

    def _gather(self, sendobj, root, nbytes, algorithm):
        number = self._give(None if sendobj is None else pack(sendobj)[1])

        def finish():
            exchange = self._members.leave(number)
            return exchange.everyone(self.size) if exchange is not None and self._rank == root else None

        return GATHER, root, nbytes, 1, True, algorithm, finish

    def gatherv(self, sendobj=None, root=0, *, nbytes, algorithm=None):
        """As `gather`, with lengths by rank: `nbytes` is the list at the root, the own length elsewhere."""
        return self._collective(*self._gatherv(sendobj, root, nbytes, algorithm))

    def igatherv(self, sendobj=None, root=0, *, nbytes, algorithm=None):
        return self._icollective(*self._gatherv(sendobj, root, nbytes, algorithm))

    def _gatherv(self, sendobj, root, nbytes, algorithm):
        plan = self._gather(sendobj, root, 0, algorithm)
        return GATHERV, root, self._by_rank(nbytes), *plan[3:]

    def allgather(self, sendobj=None, *, nbytes=None, algorithm=None):
        """Everybody's object for everyone, by rank."""
        if nbytes is not None:
            return self._collective(*self._allgather(sendobj, nbytes, algorithm))
        length, payload = pack(sendobj)
        number = self._next_number()
        exchange = self._members.join(number, self._rank, length, payload)
        self._collective(ALLGATHER, 0, _LENGTH_BYTES, 1, True, None)
        if exchange.result is None:
            exchange.result = lengths_bytes([exchange.lengths[rank] for rank in range(self.size)])
        self._collective(ALLGATHERV, 0, exchange.result, 1, True, algorithm)
        self._members.leave(number)
        return exchange.everyone(self.size)

    def iallgather(self, sendobj=None, *, nbytes=None, algorithm=None):
        return self._icollective(*self._allgather(sendobj, _length(sendobj, nbytes, "iallgather"), algorithm))

    def _allgather(self, sendobj, nbytes, algorithm):
        number = self._give(None if sendobj is None else pack(sendobj)[1])

        def finish():
            exchange = self._members.leave(number)
            return None if exchange is None else exchange.everyone(self.size)

        return ALLGATHER, 0, nbytes, 1, True, algorithm, finish

    def allgatherv(self, sendobj=None, *, nbytes, algorithm=None):
        """As `allgather`; `nbytes`: the lengths by rank, the same list on all ranks."""
        return self._collective(*self._allgatherv(sendobj, nbytes, algorithm))

    def iallgatherv(self, sendobj=None, *, nbytes, algorithm=None):
        return self._icollective(*self._allgatherv(sendobj, nbytes, algorithm))

    def _allgatherv(self, sendobj, nbytes, algorithm):
        plan = self._allgather(sendobj, 0, algorithm)
        return ALLGATHERV, 0, self._by_rank(nbytes), *plan[3:]

    def alltoall(self, sendobj=None, *, nbytes=None, algorithm=None):
        """Object j of rank i goes to place i of rank j. `nbytes`: length of each."""
        if nbytes is not None:
            return self._collective(*self._alltoall(sendobj, nbytes, algorithm))
        number = self._next_number()
        self._join_parts(number, sendobj)
        self._collective(ALLTOALL, 0, _LENGTH_BYTES, 1, True, None)
        exchange = self._members.leave(number)
        mine = self._rank
        send = lengths_bytes(exchange.lengths[mine])
        receive = lengths_bytes([exchange.lengths[rank][mine] for rank in range(self.size)])
        self._collective(ALLTOALLV, 0, (send, receive), 1, True, algorithm)
        return [unpack(exchange.given[rank][mine]) for rank in range(self.size)]

    def ialltoall(self, sendobj=None, *, nbytes, algorithm=None):
        return self._icollective(*self._alltoall(sendobj, nbytes, algorithm))

    def _alltoall(self, sendobj, nbytes, algorithm):
        number = self._next_number()
        if sendobj is not None:
            self._join_parts(number, sendobj)
        return ALLTOALL, 0, nbytes, 1, True, algorithm, lambda: self._parts(number)

    def _parts(self, number):
        """Contribution of each member for this rank; None where it gave nothing."""
        exchange = self._members.leave(number)
        if exchange is None:
            return None
        given, mine = exchange.given, self._rank
        return [unpack(given[rank][mine]) if rank in given else None for rank in range(self.size)]

    def alltoallv(self, sendobj=None, *, send_nbytes, recv_nbytes, algorithm=None):
        """As `alltoall`, with the lengths that this rank sends to and receives from each."""
        return self._collective(*self._alltoallv(ALLTOALLV, sendobj, send_nbytes, recv_nbytes, algorithm))

    def ialltoallv(self, sendobj=None, *, send_nbytes, recv_nbytes, algorithm=None):
        return self._icollective(*self._alltoallv(ALLTOALLV, sendobj, send_nbytes, recv_nbytes, algorithm))

    def alltoallw(self, sendobj=None, *, send_nbytes, recv_nbytes, algorithm=None):
        """As `alltoallv`, for blocks of different types: a length in bytes stands for count and type."""
        return self._collective(*self._alltoallv(ALLTOALLW, sendobj, send_nbytes, recv_nbytes, algorithm))

    def ialltoallw(self, sendobj=None, *, send_nbytes, recv_nbytes, algorithm=None):
        return self._icollective(*self._alltoallv(ALLTOALLW, sendobj, send_nbytes, recv_nbytes, algorithm))

    def _alltoallv(self, kind, sendobj, send_nbytes, recv_nbytes, algorithm):
        plan = self._alltoall(sendobj, 0, algorithm)
        return kind, 0, (self._by_rank(send_nbytes), self._by_rank(recv_nbytes)), *plan[3:]

    def _agree(self, obj, nbytes):
        """The length of a reduction's operand; objects but numbers and buffers agree on the longest first."""
        if nbytes is not None or (nbytes := known_length(obj)) is not None:
            return nbytes
        length, _ = pack(obj)
        number = self._next_number()
        exchange = self._members.join(number, self._rank, length, length)
        self._collective(ALLREDUCE, 0, _LENGTH_BYTES, _LENGTH_BYTES, True, None)
        self._members.leave(number)
        return max(exchange.lengths.values())

    def _reduction(self, kind, obj, op, root, nbytes, algorithm, result):
        """A reduction whose result is `result(exchange, op)`."""
        op = as_op(op)
        number = self._give(None if obj is None else pack(obj)[1])

        def finish():
            exchange = self._members.leave(number)
            return None if exchange is None else result(exchange, op)

        return kind, root, nbytes, _element(obj, nbytes), op.commutative, algorithm, finish

    def reduce(self, sendobj=None, op=SUM, root=0, *, nbytes=None, algorithm=None):
        """Everybody's object combined, at the root; None elsewhere."""
        nbytes = self._agree(sendobj, nbytes)
        return self._collective(*self._reduce(sendobj, op, root, nbytes, algorithm))

    def ireduce(self, sendobj=None, op=SUM, root=0, *, nbytes=None, algorithm=None):
        nbytes = _length(sendobj, nbytes, "ireduce")
        return self._icollective(*self._reduce(sendobj, op, root, nbytes, algorithm))

    def _reduce(self, obj, op, root, nbytes, algorithm):
        def result(exchange, op):
            return exchange.fold(op, self.size) if self._rank == root else None

        return self._reduction(REDUCE, obj, op, root, nbytes, algorithm, result)

    def allreduce(self, sendobj=None, op=SUM, *, nbytes=None, algorithm=None):
        """Everybody's object combined, for everyone."""
        nbytes = self._agree(sendobj, nbytes)
        return self._collective(*self._allreduce(sendobj, op, nbytes, algorithm))

    def iallreduce(self, sendobj=None, op=SUM, *, nbytes=None, algorithm=None):
        nbytes = _length(sendobj, nbytes, "iallreduce")
        return self._icollective(*self._allreduce(sendobj, op, nbytes, algorithm))

    def _allreduce(self, obj, op, nbytes, algorithm):
        def result(exchange, op):
            return exchange.fold(op, self.size)

        return self._reduction(ALLREDUCE, obj, op, 0, nbytes, algorithm, result)

    def scan(self, sendobj=None, op=SUM, *, nbytes=None, algorithm=None):
        """The objects of the ranks up to this one, combined."""
        nbytes = self._agree(sendobj, nbytes)
        return self._collective(*self._scan(SCAN, sendobj, op, nbytes, algorithm))

    def iscan(self, sendobj=None, op=SUM, *, nbytes=None, algorithm=None):
        nbytes = _length(sendobj, nbytes, "iscan")
        return self._icollective(*self._scan(SCAN, sendobj, op, nbytes, algorithm))

    def exscan(self, sendobj=None, op=SUM, *, nbytes=None, algorithm=None):
        """The objects of the ranks before this one, combined; None at rank 0."""
        nbytes = self._agree(sendobj, nbytes)
        return self._collective(*self._scan(EXSCAN, sendobj, op, nbytes, algorithm))

    def iexscan(self, sendobj=None, op=SUM, *, nbytes=None, algorithm=None):
        nbytes = _length(sendobj, nbytes, "iexscan")
        return self._icollective(*self._scan(EXSCAN, sendobj, op, nbytes, algorithm))

    def _scan(self, kind, obj, op, nbytes, algorithm):
        count = self._rank + 1 if kind == SCAN else self._rank

        def result(exchange, op):
            return exchange.prefix(op, count) if count else None

        return self._reduction(kind, obj, op, 0, nbytes, algorithm, result)

    def reduce_scatter_block(self, sendobj=None, op=SUM, *, nbytes=None, algorithm=None):
        """Block i of everybody's sequence combined, at rank i. `nbytes`: length of one block."""
        return self._collective(*self._reduce_scatter_block(sendobj, op, nbytes, algorithm))

    def ireduce_scatter_block(self, sendobj=None, op=SUM, *, nbytes=None, algorithm=None):
        return self._icollective(*self._reduce_scatter_block(sendobj, op, nbytes, algorithm))

    def _reduce_scatter_block(self, parts, op, nbytes, algorithm):
        if nbytes is None:
            nbytes = max(_length(part, None, "reduce_scatter_block") for part in parts)
        return self._block_reduction(REDUCE_SCATTER_BLOCK, parts, op, nbytes, nbytes, algorithm)

    def reduce_scatter(self, sendobj=None, op=SUM, *, nbytes=None, algorithm=None):
        """As `reduce_scatter_block`; `nbytes`: the blocks' lengths by rank, the same list on all ranks."""
        return self._collective(*self._reduce_scatter(sendobj, op, nbytes, algorithm))

    def ireduce_scatter(self, sendobj=None, op=SUM, *, nbytes=None, algorithm=None):
        return self._icollective(*self._reduce_scatter(sendobj, op, nbytes, algorithm))

    def _reduce_scatter(self, parts, op, nbytes, algorithm):
        if nbytes is None:
            nbytes = [_length(part, None, "reduce_scatter") for part in parts]
        lengths = self._by_rank(nbytes)
        common = 0 if all(length % 8 == 0 for length in nbytes) else 1
        return self._block_reduction(REDUCE_SCATTER, parts, op, lengths, common, algorithm)

    def _block_reduction(self, kind, parts, op, lengths, nbytes, algorithm):
        op = as_op(op)
        number = self._next_number()
        if parts is not None:
            self._join_parts(number, parts)
        element = _element(None if parts is None else parts[0], nbytes)

        def finish():
            exchange = self._members.leave(number)
            return None if exchange is None else exchange.fold_block(op, self._rank, self.size)

        return kind, 0, lengths, element, op.commutative, algorithm, finish
