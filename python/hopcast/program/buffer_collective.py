"""mpi4py's upper-case collectives: contents go from buffer to buffer, and every length is known.

Each is written once, as the plan of a call; `pair` makes the blocking and the non-blocking method of it.
"""

import functools

from hopcast._core import ALLTOALLV, ALLTOALLW, EXSCAN, SCAN
from hopcast.program.buffer import as_array, as_blocks, as_typed_blocks, equal_blocks, fill
from hopcast.program.collective import Collective
from hopcast.program.constants import IN_PLACE
from hopcast.program.operators import SUM


def pair(plan):
    """The blocking and the non-blocking method of a collective's plan."""

    @functools.wraps(plan)
    def blocking(self, *args, **kwargs):
        self._collective(*plan(self, *args, **kwargs))

    @functools.wraps(plan)
    def nonblocking(self, *args, **kwargs):
        return self._icollective(*plan(self, *args, **kwargs))

    return blocking, nonblocking


def into(plan, write):
    """The plan of a call on objects, whose result goes to `write` instead."""
    *call, finish = plan

    def finish_into():
        result = finish()
        if result is not None:
            write(result)

    return *call, finish_into


def fill_blocks(spec, size, cut=as_blocks):
    """Writes a list of payloads to the blocks of a buffer; `cut` reads their specification."""

    def write(parts):
        blocks = cut(spec, size)
        for index, part in enumerate(parts):
            fill(blocks.block(index), part)

    return write


def blocks_of(spec, size, cut=as_blocks):
    """The contents of a buffer's blocks, and their lengths."""
    blocks = cut(spec, size)
    return [blocks.block(index) for index in range(size)], blocks.lengths()


class BufferCollective(Collective):
    """Upper-case collective methods of a communicator."""

    __slots__ = ()

    def _bcast_buffer(self, buf, root=0, *, algorithm=None):
        """The root's buffer in everybody's."""
        array = as_array(buf)
        plan = self._bcast(array if self._rank == root else None, root, array.nbytes, algorithm)
        return into(plan, lambda content: None if self._rank == root else fill(array, content))

    Bcast, Ibcast = pair(_bcast_buffer)

    def _scatter_buffer(self, sendbuf, recvbuf, root=0, *, algorithm=None):
        """Equal blocks of the root's buffer, one for each rank."""
        parts = None
        if self._rank == root:
            parts, lengths = blocks_of(sendbuf, self.size)
            nbytes = lengths[0]
        if recvbuf is IN_PLACE:
            return into(self._scatter(parts, root, nbytes, algorithm), lambda part: None)
        array = as_array(recvbuf)
        return into(self._scatter(parts, root, array.nbytes, algorithm), functools.partial(fill, array))

    Scatter, Iscatter = pair(_scatter_buffer)

    def _scatterv_buffer(self, sendbuf, recvbuf, root=0, *, algorithm=None):
        """Blocks of the root's `[buffer, counts, displs, type]`, one for each rank."""
        parts, lengths = None, None
        if self._rank == root:
            parts, lengths = blocks_of(sendbuf, self.size)
        if recvbuf is IN_PLACE:
            return into(self._scatterv(parts, root, lengths, algorithm), lambda part: None)
        array = as_array(recvbuf)
        nbytes = array.nbytes if lengths is None else lengths
        return into(self._scatterv(parts, root, nbytes, algorithm), functools.partial(fill, array))

    Scatterv, Iscatterv = pair(_scatterv_buffer)

    def _own_block(self, sendbuf, recvbuf):
        """Block that this rank contributes: its send buffer, or in place its block of the receive buffer."""
        if sendbuf is IN_PLACE:
            return as_blocks(recvbuf, self.size).block(self._rank)
        return as_array(sendbuf)

    def _gather_buffer(self, sendbuf, recvbuf=None, root=0, *, algorithm=None):
        """Everybody's buffer in the root's, in equal blocks."""
        own = self._own_block(sendbuf, recvbuf)
        plan = self._gather(own, root, own.nbytes, algorithm)
        return into(plan, fill_blocks(recvbuf, self.size))

    Gather, Igather = pair(_gather_buffer)

    def _gatherv_buffer(self, sendbuf, recvbuf=None, root=0, *, algorithm=None):
        """Everybody's buffer in the root's `[buffer, counts, displs, type]`."""
        own = self._own_block(sendbuf, recvbuf)
        nbytes = own.nbytes if self._rank != root else as_blocks(recvbuf, self.size).lengths()
        plan = self._gatherv(own, root, nbytes, algorithm)
        return into(plan, fill_blocks(recvbuf, self.size))

    Gatherv, Igatherv = pair(_gatherv_buffer)

    def _allgather_buffer(self, sendbuf, recvbuf, *, algorithm=None):
        """Everybody's buffer in everybody's, in equal blocks."""
        own = self._own_block(sendbuf, recvbuf)
        return into(self._allgather(own, own.nbytes, algorithm), fill_blocks(recvbuf, self.size))

    Allgather, Iallgather = pair(_allgather_buffer)

    def _allgatherv_buffer(self, sendbuf, recvbuf, *, algorithm=None):
        """Everybody's buffer in everybody's `[buffer, counts, displs, type]`."""
        own = self._own_block(sendbuf, recvbuf)
        lengths = as_blocks(recvbuf, self.size).lengths()
        return into(self._allgatherv(own, lengths, algorithm), fill_blocks(recvbuf, self.size))

    Allgatherv, Iallgatherv = pair(_allgatherv_buffer)

    def _alltoall_buffer(self, sendbuf, recvbuf, *, algorithm=None):
        """Block j of rank i goes to block i of rank j."""
        parts, lengths = blocks_of(recvbuf if sendbuf is IN_PLACE else sendbuf, self.size)
        return into(self._alltoall(parts, lengths[0], algorithm), fill_blocks(recvbuf, self.size))

    Alltoall, Ialltoall = pair(_alltoall_buffer)

    def _alltoallv_buffer(self, sendbuf, recvbuf, *, algorithm=None):
        """As `Alltoall`, with `[buffer, counts, displs, type]` on both sides."""
        return self._dealt_out(ALLTOALLV, sendbuf, recvbuf, algorithm, as_blocks)

    Alltoallv, Ialltoallv = pair(_alltoallv_buffer)

    def _alltoallw_buffer(self, sendbuf, recvbuf, *, algorithm=None):
        """As `Alltoallv`, with `[buffer, counts, displs, types]`: a type for each block, displs in bytes."""
        return self._dealt_out(ALLTOALLW, sendbuf, recvbuf, algorithm, as_typed_blocks)

    Alltoallw, Ialltoallw = pair(_alltoallw_buffer)

    def _dealt_out(self, kind, sendbuf, recvbuf, algorithm, cut):
        parts, send = blocks_of(recvbuf if sendbuf is IN_PLACE else sendbuf, self.size, cut)
        receive = cut(recvbuf, self.size).lengths()
        plan = self._alltoallv(kind, parts, send, receive, algorithm)
        return into(plan, fill_blocks(recvbuf, self.size, cut))

    def _reduce_buffer(self, sendbuf, recvbuf=None, op=SUM, root=0, *, algorithm=None):
        """Everybody's elements combined, at the root."""
        own = as_array(recvbuf if sendbuf is IN_PLACE else sendbuf)
        plan = self._reduce(own, op, root, own.nbytes, algorithm)
        return into(plan, lambda total: fill(as_array(recvbuf), total))

    Reduce, Ireduce = pair(_reduce_buffer)

    def _allreduce_buffer(self, sendbuf, recvbuf, op=SUM, *, algorithm=None):
        """Everybody's elements combined, for everyone."""
        own = as_array(recvbuf if sendbuf is IN_PLACE else sendbuf)
        plan = self._allreduce(own, op, own.nbytes, algorithm)
        return into(plan, functools.partial(fill, as_array(recvbuf)))

    Allreduce, Iallreduce = pair(_allreduce_buffer)

    def _scan_buffer(self, sendbuf, recvbuf, op=SUM, *, algorithm=None):
        """The elements of the ranks up to this one, combined."""
        own = as_array(recvbuf if sendbuf is IN_PLACE else sendbuf)
        plan = self._scan(SCAN, own, op, own.nbytes, algorithm)
        return into(plan, functools.partial(fill, as_array(recvbuf)))

    Scan, Iscan = pair(_scan_buffer)

    def _exscan_buffer(self, sendbuf, recvbuf, op=SUM, *, algorithm=None):
        """The elements of the ranks before this one, combined; rank 0 receives nothing."""
        own = as_array(recvbuf if sendbuf is IN_PLACE else sendbuf)
        plan = self._scan(EXSCAN, own, op, own.nbytes, algorithm)
        return into(plan, functools.partial(fill, as_array(recvbuf)))

    Exscan, Iexscan = pair(_exscan_buffer)

    def _reduce_scatter_block_buffer(self, sendbuf, recvbuf, op=SUM, *, algorithm=None):
        """Equal blocks: block i of everybody's elements combined, at rank i."""
        array = as_array(recvbuf if sendbuf is IN_PLACE else sendbuf)
        blocks = equal_blocks(array, self.size)
        parts = [blocks.block(index) for index in range(self.size)]
        plan = self._reduce_scatter_block(parts, op, parts[0].nbytes, algorithm)
        return into(plan, functools.partial(fill, as_array(recvbuf)))

    Reduce_scatter_block, Ireduce_scatter_block = pair(_reduce_scatter_block_buffer)

    def _reduce_scatter_buffer(self, sendbuf, recvbuf, recvcounts=None, op=SUM, *, algorithm=None):
        """Blocks of `recvcounts` elements: block i of everybody's elements combined, at rank i."""
        array = as_array(recvbuf if sendbuf is IN_PLACE else sendbuf)
        spec = array if recvcounts is None else [array, list(recvcounts)]
        parts, lengths = blocks_of(spec, self.size)
        plan = self._reduce_scatter(parts, op, lengths, algorithm)
        return into(plan, functools.partial(fill, as_array(recvbuf)))

    Reduce_scatter, Ireduce_scatter = pair(_reduce_scatter_buffer)
