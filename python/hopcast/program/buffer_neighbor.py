"""mpi4py's upper-case collectives among neighbours: from buffer to buffer, one block for each edge."""

from hopcast._core import NEIGHBOR_ALLTOALLV, NEIGHBOR_ALLTOALLW
from hopcast.program.buffer import as_array, as_blocks, as_typed_blocks
from hopcast.program.buffer_collective import blocks_of, fill_blocks, into, pair
from hopcast.program.neighbourhood import Neighbourhood


class BufferNeighbor(Neighbourhood):
    """Upper-case collective methods of a communicator with a topology."""

    __slots__ = ()

    def _neighbor_allgather_buffer(self, sendbuf, recvbuf, *, algorithm=None):
        """The buffers of the in-neighbours, in equal blocks."""
        own = as_array(sendbuf)
        plan = self._neighbor_allgather(own, own.nbytes, algorithm)
        return into(plan, fill_blocks(recvbuf, len(self._sources())))

    Neighbor_allgather, Ineighbor_allgather = pair(_neighbor_allgather_buffer)

    def _neighbor_allgatherv_buffer(self, sendbuf, recvbuf, *, algorithm=None):
        """The buffers of the in-neighbours in blocks of `[buffer, counts, displs, type]`."""
        own, count = as_array(sendbuf), len(self._sources())
        lengths = as_blocks(recvbuf, count).lengths()
        plan = self._neighbor_allgatherv(own, own.nbytes, lengths, algorithm)
        return into(plan, fill_blocks(recvbuf, count))

    Neighbor_allgatherv, Ineighbor_allgatherv = pair(_neighbor_allgatherv_buffer)

    def _neighbor_alltoall_buffer(self, sendbuf, recvbuf, *, algorithm=None):
        """Equal blocks of the buffer, one for each out-neighbour."""
        parts, lengths = blocks_of(sendbuf, len(self._destinations()))
        count = len(self._sources())
        # Who only receives knows the length from there.
        nbytes = next(iter(lengths or as_blocks(recvbuf, count).lengths()), 0)
        return into(self._neighbor_alltoall(parts, nbytes, algorithm), fill_blocks(recvbuf, count))

    Neighbor_alltoall, Ineighbor_alltoall = pair(_neighbor_alltoall_buffer)

    def _neighbor_alltoallv_buffer(self, sendbuf, recvbuf, *, algorithm=None):
        """Blocks of `[buffer, counts, displs, type]`, one for each neighbour, on both sides."""
        return self._dealt_around(NEIGHBOR_ALLTOALLV, sendbuf, recvbuf, algorithm, as_blocks)

    Neighbor_alltoallv, Ineighbor_alltoallv = pair(_neighbor_alltoallv_buffer)

    def _neighbor_alltoallw_buffer(self, sendbuf, recvbuf, *, algorithm=None):
        """Blocks of `[buffer, counts, displs, types]`: a type for each neighbour, displs in bytes."""
        return self._dealt_around(NEIGHBOR_ALLTOALLW, sendbuf, recvbuf, algorithm, as_typed_blocks)

    Neighbor_alltoallw, Ineighbor_alltoallw = pair(_neighbor_alltoallw_buffer)

    def _dealt_around(self, kind, sendbuf, recvbuf, algorithm, cut):
        parts, send = blocks_of(sendbuf, len(self._destinations()), cut)
        count = len(self._sources())
        plan = self._neighbor_alltoallv(kind, parts, send, cut(recvbuf, count).lengths(), algorithm)
        return into(plan, fill_blocks(recvbuf, count, cut))
