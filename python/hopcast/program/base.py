"""Base of all parts of a communicator: its number, its members, and the way to the simulator."""

from hopcast._core import COLLECTIVE, ICOLLECTIVE
from hopcast.program.request import Request


class Base:
    """A communicator as one rank holds it. Methods that communicate are in the classes built on it."""

    __slots__ = ("_id", "_members", "_number", "_process", "_rank", "_switch", "name")

    def __init__(self, process, number, members):
        self._id = number
        self._process = process
        self._switch = process.switch
        self._members = members
        self._rank = members.find(process.rank)
        self._number = 0
        self.name = ""

    def Get_rank(self):
        return self._rank

    def Get_size(self):
        return len(self._members.ranks)

    rank = property(Get_rank)
    size = property(Get_size)

    def _next_number(self):
        """The number of the collective that begins: the same on all members."""
        number = self._number
        self._number = number + 1
        return number

    def _collective(self, kind, root, lengths, element, commutative, algorithm, finish=None):
        """A blocking collective; `finish` makes its result."""
        self._switch((COLLECTIVE, self._id, kind, root, lengths, element, commutative, algorithm))
        return None if finish is None else finish()

    def _icollective(self, kind, root, lengths, element, commutative, algorithm, finish=None):
        """A non-blocking collective; waiting for the request gives its result."""
        process = self._process
        request = process.take_request()
        self._switch((ICOLLECTIVE, self._id, kind, root, lengths, element, commutative, algorithm, request))
        return Request(process, request, None if finish is None else lambda _payload: finish())
