"""Ranks of a program in several processes: what they tell each other beside the simulator's messages.

The simulator carries the lengths of messages from process to process, and numbers for their contents. The
contents themselves, and what members give to a collective, travel with the same exchange at the end of a
window: nothing that the simulator delivers after a window can depend on contents that were given later.
"""

import hashlib
import io
import pickle
import sys
import weakref
from operator import itemgetter

from hopcast.program.exchange import Members

_WORLD = b"world"
_SERIAL_BITS = 40


class Spread:
    """Exchange of this process with the others that run ranks of the program."""

    def __init__(self, me, process_of_rank, output):
        """`me`: number of this process. `process_of_rank`: that of each rank. `output`: standard output."""
        self.me = me
        self._output = output
        self.process_of_rank = process_of_rank
        self.printed = []
        self._due = []
        self._outgoing = {}
        self._messages = {}
        self._serial = 0
        self._members = {}
        self._early = {}
        self._gone = set()

    def world(self, ranks):
        """The communicator of all `ranks`."""
        return self._enrolled(ranks, _WORLD)

    def members(self, ranks, parent, *birth):
        """A communicator made from `parent`; `birth` tells it from all others that are made from it."""
        if all(self.process_of_rank[rank] == self.me for rank in ranks):
            return Members(ranks)
        about = repr((parent.key, birth, ranks[0])).encode()
        return self._enrolled(ranks, hashlib.blake2b(about, digest_size=16).digest())

    def _enrolled(self, ranks, key):
        members = SharedMembers(ranks, key, self)
        self._members[key] = weakref.ref(members, lambda _: self._forget(key))
        for contribution in self._early.pop(key, ()):
            members.accept(*contribution)
        return members

    def _forget(self, key):
        del self._members[key]
        self._gone.add(key)

    def give(self, process, item):
        """Sends an item to another process at the end of the window."""
        self._outgoing.setdefault(process, []).append(item)

    def give_message(self, receiver, payload):
        """Sends a payload to the process of a rank; gives the number for `take_message` there."""
        self._serial += 1
        number = self.me << _SERIAL_BITS | self._serial
        self.give(self.process_of_rank[receiver], (number, payload))
        return number

    def take_message(self, number):
        """The payload of a message that has been received."""
        return self._messages.pop(number)

    def take_contents(self):
        """`(process, bytes)` for each process that gets something at the end of this window."""
        printed, self.printed = self.printed, []
        if self.me == 0:
            self._print_due()
            self._due = printed
        elif printed:
            self.give(0, (None, printed))
        outgoing, self._outgoing = self._outgoing, {}
        return [
            (process, pickle.dumps(items, pickle.HIGHEST_PROTOCOL)) for process, items in outgoing.items()
        ]

    def receive_contents(self, contents):
        """Takes what another process has given in the last window."""
        for key, *item in pickle.loads(contents):
            if isinstance(key, int):
                (self._messages[key],) = item
            elif key is None:
                self._due += item[0]
            elif key in self._members:
                self._members[key]().accept(*item)
            elif key not in self._gone:
                self._early.setdefault(key, []).append(item)

    def _print_due(self):
        """Writes the output of a window, which is complete, in the order of simulated time."""
        for _, text in sorted(self._due, key=itemgetter(0)):
            self._output.write(text)
        self._due = []

    def close(self, share):
        """Writes the output that is left; `share`: see `hopcast.processes.Peers`."""
        for told in share(pickle.dumps(self.printed)):
            self._due += pickle.loads(told)
        if self.me == 0:
            self._print_due()


class RankOutput(io.TextIOBase):
    """Standard output of ranks: the first process writes that of all, in the order of simulated time."""

    def __init__(self, program, output):
        """`output`: standard output in the first process."""
        self._program = program
        self._output = output

    def writable(self):
        return True

    def isatty(self):
        return self._output.isatty()

    @property
    def encoding(self):  # type: ignore[override]
        return self._output.encoding

    @property
    def buffer(self):
        """Bytes go to the standard output of the process itself."""
        return (sys.__stdout__ or self._output).buffer

    def write(self, text):
        spread = self._program.spread
        if spread is None:
            return self._output.write(text)
        spread.printed.append((self._program.clock.now_s, text))
        return len(text)

    def flush(self):
        if self._program.spread is None:
            self._output.flush()


class SharedMembers(Members):
    """A communicator with members in several processes, as those of this process share it."""

    __slots__ = ("__weakref__", "_all_before", "_finished", "_here", "_left", "_others", "_spread", "key")

    def __init__(self, ranks, key, spread):
        """`key`: the same in all processes, and of no other communicator."""
        super().__init__(ranks)
        self.key = key
        self._spread = spread
        processes = [spread.process_of_rank[rank] for rank in ranks]
        self._here = processes.count(spread.me)
        self._others = sorted(set(processes) - {spread.me})
        # Members here that have not left a collective, and the collectives that all of them have left.
        self._left = {}
        self._finished = set()
        self._all_before = 0

    def count_here(self):
        return self._here

    def join(self, number, rank, length, payload):
        for process in self._others:
            self._spread.give(process, (self.key, number, rank, length, payload))
        return super().join(number, rank, length, payload)

    def accept(self, number, rank, length, payload):
        """Takes what a member in another process has given; without a number, its edges."""
        if number is None:
            self.graph[rank] = payload
        elif number >= self._all_before and number not in self._finished:
            super().join(number, rank, length, payload)

    def leave(self, number):
        exchange = self.exchanges.get(number)
        left = self._left.pop(number, self._here) - 1
        if left > 0:
            self._left[number] = left
            return exchange
        self.exchanges.pop(number, None)
        self._finished.add(number)
        while self._all_before in self._finished:
            self._finished.remove(self._all_before)
            self._all_before += 1
        return exchange

    def set_edges(self, rank, edges):
        super().set_edges(rank, edges)
        for process in self._others:
            self._spread.give(process, (self.key, None, rank, 0, edges))
