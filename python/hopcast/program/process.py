"""One rank of a program, the program that all ranks share, and the switch to the simulator.

A rank runs on a greenlet. A communicating method packs its operation into a tuple and switches to the
hub, the greenlet in which the simulator runs; the simulator switches back with the result when the
call returns in simulated time. While a rank waits, its stack holds Python frames only.
"""

import contextlib
import inspect
import os
import sys
import threading
import traceback

import greenlet

from hopcast._core import Clock
from hopcast.program.comm import SELF, WORLD, Comm
from hopcast.program.exchange import Members
from hopcast.program.spread import RankOutput, Spread
from hopcast.standing import place_of, shorten

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


class Process:
    """State that the communicators of one rank share: the switch, and the numbers of its requests."""

    __slots__ = ("_free", "_made", "program", "rank", "switch", "world")

    def __init__(self, program, rank):
        self.program = program
        self.rank = rank
        self.switch = program.switch
        self._free = []
        self._made = 0
        self.world = Comm(self, WORLD, program.world)

    def take_request(self):
        """A request number that is not in use: small and dense."""
        if self._free:
            return self._free.pop()
        self._made += 1
        return self._made - 1

    def give_request(self, number):
        """The number may be used again."""
        self._free.append(number)

    def self_comm(self):
        """The communicator of this rank alone."""
        return Comm(self, SELF, Members((self.rank,)))


class Program:
    """A rank function with its arguments, ready to run on `ranks` ranks.

    The core calls `start(rank)` once for each rank and then switches into the greenlet that it gives.
    """

    def __init__(self, function, ranks, args=(), kwargs=None):
        self.function = function
        self.args = args
        self.kwargs = kwargs or {}
        self.ranks = ranks
        self.clock = Clock()
        self.world = Members(range(ranks))
        # Filled when the first rank starts: by then the core knows that the platform has room for them.
        self.results = []
        self.processes = []
        self.created_groups = {}
        self.switch = None
        self.host_of_rank = None
        # The other processes that run ranks, if there are any.
        self.spread = None
        self.output = sys.stdout
        # Set by the core when the run has ended, for the ranks of this process.
        self.error = None
        self.unfinished = {}

    def spread_over(self, me, process_of_rank):
        """Ranks run in several processes: `me` is this one, and `process_of_rank` has that of each."""
        self.spread = Spread(me, process_of_rank, self.output)
        self.world = self.spread.world(self.world.ranks)

    @contextlib.contextmanager
    def printing(self, in_processes):
        """Directs what ranks print; `in_processes`: there are several, in which they may run."""
        if not in_processes:
            yield
            return
        self.output = sys.stdout
        with contextlib.redirect_stdout(RankOutput(self, self.output)):
            yield

    def members(self, ranks, parent, *birth):
        """The members of a communicator made from `parent`; `birth`: see `Spread.members`."""
        if self.spread is None:
            return Members(ranks)
        return self.spread.members(ranks, parent, *birth)

    def start(self, rank):
        """The greenlet of `rank`, which has not begun."""
        if self.switch is None:
            self.switch = _of_this_thread(greenlet.getcurrent().switch)
            self.results = [None] * self.ranks
            self.processes = [None] * self.ranks
        return greenlet.greenlet(self._body)

    def _body(self, rank):
        process = self.processes[rank] = Process(self, rank)
        try:
            result = self.function(process.world, *self.args, **self.kwargs)
            if inspect.isgenerator(result) or inspect.iscoroutine(result):
                kind = type(result).__name__
                raise TypeError(
                    f"a rank function is a plain function, but this one gave a {kind}: none of it ran"
                )
            self.results[rank] = result
        except SystemExit as leaving:
            if leaving.code not in (None, 0):
                raise
        self.processes[rank] = None

    @staticmethod
    def place(suspended):
        """Line of the user's program at which a waiting greenlet stands; None before it begins."""
        return place_of(suspended.gr_frame)

    def current(self):
        """The process whose code runs now."""
        process = self.processes[self.clock.rank]
        if process is None:
            raise RuntimeError("no rank is running: this is for use inside a rank function")
        return process


def _of_this_thread(switch):
    """`switch` with an error of ours for a rank that communicates from a thread that it has started."""

    def switch_here(operation):
        try:
            return switch(operation)
        except greenlet.error as error:
            if threading.current_thread() is home:
                raise
            name = threading.current_thread().name
            raise RuntimeError(
                f"a rank communicates from its thread '{name}': all ranks run in one thread, and their "
                "threads may compute, but only the rank function itself may communicate"
            ) from error

    home = threading.current_thread()
    return switch_here


def place_of_error(error):
    """Line at which an exception left the user's program, as `file:line`; None if it never was in it."""
    found, step = None, error.__traceback__
    while step is not None:
        file = step.tb_frame.f_code.co_filename
        if not file.startswith((_PACKAGE, "<frozen")):
            found = f"{shorten(file)}:{step.tb_lineno}"
        step = step.tb_next
    return found


def traceback_of_error(error):
    """The traceback of an exception that left a rank function, from the user's program on."""
    step = error.__traceback__
    while step is not None and step.tb_frame.f_code.co_filename.startswith(_PACKAGE):
        step = step.tb_next
    return "".join(traceback.format_exception(type(error), error, step or error.__traceback__))


class _Active(threading.local):
    """The program that runs in this thread, for the functions of MPI that take no communicator."""

    program = None


_active = _Active()


@contextlib.contextmanager
def running(program):
    """Makes `program` the one that `current` is about."""
    before, _active.program = _active.program, program
    try:
        yield
    finally:
        _active.program = before


def is_running():
    """True if a simulation runs in this thread."""
    return _active.program is not None


def current():
    """The process whose code runs now."""
    if _active.program is None:
        raise RuntimeError("no simulation is running: this is for use inside a rank function")
    return _active.program.current()


def end_all(greenlets):
    """Ends greenlets that wait: a failed or stopped run leaves them behind."""
    for waiting in greenlets:
        if waiting and not waiting.dead:
            try:
                waiting.throw(greenlet.GreenletExit)
            except Exception as error:  # what a rank's own cleaning up raises changes nothing any more
                print(f"hopcast: a rank that was ended raised {error!r}", file=sys.stderr)
