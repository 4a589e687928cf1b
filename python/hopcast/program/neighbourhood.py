"""Collectives among the neighbours of a topology, on objects and phantoms."""

from abc import abstractmethod

from hopcast._core import (
    COMM_DUP,
    NEIGHBOR_ALLGATHER,
    NEIGHBOR_ALLGATHERV,
    NEIGHBOR_ALLTOALL,
    NEIGHBOR_ALLTOALLV,
    NEIGHBOR_ALLTOALLW,
)
from hopcast.program.comm import Comm
from hopcast.program.constants import PROC_NULL
from hopcast.program.exchange import lengths_bytes
from hopcast.program.payload import known_length, pack, unpack_copy


class Neighbourhood(Comm):
    """Collectives among the neighbours of a topology. `None` stands for a neighbour beyond the border."""

    __slots__ = ("_topology",)

    def __init__(self, process, number, members, topology):
        super().__init__(process, number, members)
        self._topology = topology

    def Dup(self, info=None):
        """A communicator of the same members with the same topology."""
        return self._new((COMM_DUP, self._id), self._members.ranks, type(self), self._topology)

    @abstractmethod
    def _sources(self):
        """The in-neighbours, in order."""

    @abstractmethod
    def _destinations(self):
        """The out-neighbours, in order."""

    @abstractmethod
    def _edge(self, place, source):
        """Place of the edge among the out-neighbours of `source`, the in-neighbour at `place`."""

    def _gathered(self, exchange):
        """One contribution of each in-neighbour, in order."""
        given = exchange.given
        return [None if source == PROC_NULL else unpack_copy(given.get(source)) for source in self._sources()]

    def _dealt(self, exchange):
        """Contribution of each in-neighbour for its edge to this rank, in order."""
        given, dealt = exchange.given, []
        for place, source in enumerate(self._sources()):
            parts = None if source == PROC_NULL else given.get(source)
            dealt.append(None if parts is None else unpack_copy(parts[self._edge(place, source)]))
        return dealt

    def _incoming(self, exchange):
        """The lengths that the in-neighbours send here."""
        lengths = []
        for place, source in enumerate(self._sources()):
            length = 0 if source == PROC_NULL else exchange.lengths[source]
            lengths.append(length[self._edge(place, source)] if isinstance(length, list) else length)
        return lengths

    def neighbor_allgather(self, sendobj=None, *, nbytes=None, algorithm=None):
        """The object of each in-neighbour, in order."""
        if nbytes is not None:
            return self._collective(*self._neighbor_allgather(sendobj, nbytes, algorithm))
        length, payload = pack(sendobj)
        number = self._next_number()
        exchange = self._members.join(number, self._rank, length, payload)
        self._collective(NEIGHBOR_ALLGATHER, 0, 8, 1, True, None)
        send = lengths_bytes([length] * len(self._destinations()))
        lengths = (send, lengths_bytes(self._incoming(exchange)))
        self._collective(NEIGHBOR_ALLGATHERV, 0, lengths, 1, True, algorithm)
        self._members.leave(number)
        return self._gathered(exchange)

    def ineighbor_allgather(self, sendobj=None, *, nbytes=None, algorithm=None):
        nbytes = known_length(sendobj) if nbytes is None else nbytes
        return self._icollective(*self._neighbor_allgather(sendobj, nbytes, algorithm))

    def _neighbor_allgather(self, sendobj, nbytes, algorithm):
        number = self._give(None if sendobj is None else pack(sendobj)[1])

        def finish():
            exchange = self._members.leave(number)
            return None if exchange is None else self._gathered(exchange)

        return NEIGHBOR_ALLGATHER, 0, nbytes, 1, True, algorithm, finish

    def neighbor_alltoall(self, sendobj=None, *, nbytes=None, algorithm=None):
        """One object for each out-neighbour; gives one of each in-neighbour."""
        if nbytes is not None:
            return self._collective(*self._neighbor_alltoall(sendobj, nbytes, algorithm))
        number = self._next_number()
        exchange = self._join_edges(number, sendobj)
        self._collective(NEIGHBOR_ALLTOALL, 0, 8, 1, True, None)
        lengths = (lengths_bytes(exchange.lengths[self._rank]), lengths_bytes(self._incoming(exchange)))
        self._collective(NEIGHBOR_ALLTOALLV, 0, lengths, 1, True, algorithm)
        self._members.leave(number)
        return self._dealt(exchange)

    def ineighbor_alltoall(self, sendobj=None, *, nbytes, algorithm=None):
        return self._icollective(*self._neighbor_alltoall(sendobj, nbytes, algorithm))

    def _join_edges(self, number, parts):
        packed = [pack(part) for part in parts]
        if len(packed) != len(self._destinations()):
            raise ValueError(f"{len(packed)} objects for {len(self._destinations())} neighbours")
        lengths = [length for length, _ in packed]
        return self._members.join(number, self._rank, lengths, [payload for _, payload in packed])

    def _neighbor_alltoall(self, sendobj, nbytes, algorithm):
        number = self._next_number()
        if sendobj is not None:
            self._join_edges(number, sendobj)

        def finish():
            exchange = self._members.leave(number)
            return None if exchange is None else self._dealt(exchange)

        return NEIGHBOR_ALLTOALL, 0, nbytes, 1, True, algorithm, finish

    def neighbor_alltoallv(self, sendobj=None, *, send_nbytes, recv_nbytes, algorithm=None):
        """As `neighbor_alltoall`, with the lengths to each out-neighbour and from each in-neighbour."""
        plan = self._neighbor_alltoallv(NEIGHBOR_ALLTOALLV, sendobj, send_nbytes, recv_nbytes, algorithm)
        return self._collective(*plan)

    def ineighbor_alltoallv(self, sendobj=None, *, send_nbytes, recv_nbytes, algorithm=None):
        plan = self._neighbor_alltoallv(NEIGHBOR_ALLTOALLV, sendobj, send_nbytes, recv_nbytes, algorithm)
        return self._icollective(*plan)

    def neighbor_alltoallw(self, sendobj=None, *, send_nbytes, recv_nbytes, algorithm=None):
        """As `neighbor_alltoallv`, for blocks of different types: lengths in bytes for count and type."""
        plan = self._neighbor_alltoallv(NEIGHBOR_ALLTOALLW, sendobj, send_nbytes, recv_nbytes, algorithm)
        return self._collective(*plan)

    def ineighbor_alltoallw(self, sendobj=None, *, send_nbytes, recv_nbytes, algorithm=None):
        plan = self._neighbor_alltoallv(NEIGHBOR_ALLTOALLW, sendobj, send_nbytes, recv_nbytes, algorithm)
        return self._icollective(*plan)

    def _neighbor_alltoallv(self, kind, sendobj, send_nbytes, recv_nbytes, algorithm):
        *_, finish = self._neighbor_alltoall(sendobj, 0, algorithm)
        lengths = (lengths_bytes(send_nbytes), lengths_bytes(recv_nbytes))
        return kind, 0, lengths, 1, True, algorithm, finish

    def neighbor_allgatherv(self, sendobj=None, *, nbytes, recv_nbytes, algorithm=None):
        """As `neighbor_allgather`: `nbytes` from here, `recv_nbytes` from each in-neighbour."""
        return self._collective(*self._neighbor_allgatherv(sendobj, nbytes, recv_nbytes, algorithm))

    def ineighbor_allgatherv(self, sendobj=None, *, nbytes, recv_nbytes, algorithm=None):
        return self._icollective(*self._neighbor_allgatherv(sendobj, nbytes, recv_nbytes, algorithm))

    def _neighbor_allgatherv(self, sendobj, nbytes, recv_nbytes, algorithm):
        *_, finish = self._neighbor_allgather(sendobj, 0, algorithm)
        send = lengths_bytes([nbytes] * len(self._destinations()))
        return NEIGHBOR_ALLGATHERV, 0, (send, lengths_bytes(recv_nbytes)), 1, True, algorithm, finish
