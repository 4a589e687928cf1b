"""`Request`: an operation that goes on while its rank does something else."""

from hopcast._core import ALL, ANY, CANCEL, FREE, ISEND, SOME, START, TEST_SET, WAIT, WAIT_SET
from hopcast.program.constants import UNDEFINED


class Request:
    """An operation that was started. Without a number it is complete (mpi4py's REQUEST_NULL)."""

    __slots__ = ("_finish", "_id", "_process")

    def __init__(self, process, number, finish=None):
        """`finish` turns the payload that the core hands over into what `wait` returns."""
        self._process = process
        self._id = number
        self._finish = finish

    def _complete(self, payload):
        """Takes the result of an operation that the core calls complete."""
        if self._id is None:  # it stood twice in one wait
            return None
        self._process.give_request(self._id)
        self._id = None
        return None if self._finish is None else self._finish(payload)

    def wait(self, status=None):
        """Waits, and gives what was received (None for sends and phantoms)."""
        if self._id is None:
            return None
        if status is None:
            return self._complete(self._process.switch((WAIT, self._id, False)))
        payload, *about = self._process.switch((WAIT, self._id, True))
        status.fill(*about)
        return self._complete(payload)

    def test(self, status=None):
        """`(whether it is complete, what was received)`; never blocks."""
        flag, messages = Request.testall([self], None if status is None else [status])
        return flag, messages[0] if flag else None

    def Wait(self, status=None):
        self.wait(status)
        return True

    def Test(self, status=None):
        return self.test(status)[0]

    def cancel(self):
        """Takes back a receive or a message that nothing has matched; wait for the request all the same."""
        if self._id is not None:
            self._process.switch((CANCEL, self._id))

    Cancel = cancel

    def Free(self):
        """Forgets the request: its operation completes by itself."""
        if self._id is not None:
            self._process.switch((FREE, self._id))
            self._process.give_request(self._id)
            self._id = None

    free = Free

    def __bool__(self):
        return self._id is not None

    @staticmethod
    def waitall(requests, statuses=None):
        """Waits for all; gives what each received, in order."""
        messages = [None] * len(requests)
        active = _active(requests)
        if active:
            done = _ask(WAIT_SET, requests, active, ALL)
            _take(requests, active, done, messages, statuses)
        return messages

    @staticmethod
    def waitany(requests, status=None):
        """Waits for one; gives `(its index, what it received)`, `(UNDEFINED, None)` if none is active."""
        active = _active(requests)
        if not active:
            return UNDEFINED, None
        done = _ask(WAIT_SET, requests, active, ANY)
        return _take_one(requests, active, done, status)

    @staticmethod
    def waitsome(requests, statuses=None):
        """Waits for one at least; gives `(indices, what they received)`, `(None, None)` if none is active."""
        active = _active(requests)
        if not active:
            return None, None
        done = _ask(WAIT_SET, requests, active, SOME)
        return _take_some(requests, active, done, statuses)

    @staticmethod
    def testall(requests, statuses=None):
        """`(True, what each received)` if all are complete, else `(False, None)`."""
        active = _active(requests)
        messages = [None] * len(requests)
        if active:
            done = _ask(TEST_SET, requests, active, ALL)
            if done is None:
                return False, None
            _take(requests, active, done, messages, statuses)
        return True, messages

    @staticmethod
    def testany(requests, status=None):
        """`(index, whether one is complete, what it received)`."""
        active = _active(requests)
        if not active:
            return UNDEFINED, True, None
        done = _ask(TEST_SET, requests, active, ANY)
        if not done:
            return UNDEFINED, False, None
        index, message = _take_one(requests, active, done, status)
        return index, True, message

    @staticmethod
    def testsome(requests, statuses=None):
        """`(indices, what they received)` of those that are complete; `(None, None)` if none is active."""
        active = _active(requests)
        if not active:
            return None, None
        done = _ask(TEST_SET, requests, active, SOME)
        return _take_some(requests, active, done or [], statuses)

    @staticmethod
    def Waitall(requests, statuses=None):
        Request.waitall(requests, statuses)
        return True

    @staticmethod
    def Waitany(requests, status=None):
        return Request.waitany(requests, status)[0]

    @staticmethod
    def Waitsome(requests, statuses=None):
        return Request.waitsome(requests, statuses)[0]

    @staticmethod
    def Testall(requests, statuses=None):
        return Request.testall(requests, statuses)[0]

    @staticmethod
    def Testany(requests, status=None):
        return Request.testany(requests, status)[:2]

    @staticmethod
    def Testsome(requests, statuses=None):
        return Request.testsome(requests, statuses)[0]


class Prequest(Request):
    """A persistent request: prepared once, started any number of times.

    A receive, and a send of a phantom, is the core's own persistent operation. A send of contents packs
    them at each start, so it is a new send each time.
    """

    __slots__ = ("_active", "_contents", "_own")

    def __init__(self, process, number, finish=None, contents=None):
        """`contents()` gives the operation of one start; without it the core holds the operation."""
        super().__init__(process, None, finish)
        self._own = number
        self._contents = contents
        self._active = False

    def Start(self):
        """Begins the operation once more."""
        self._begin()
        if self._contents is None:
            self._process.switch((START, (self._own,)))

    start = Start

    def _begin(self):
        if self._active:
            raise RuntimeError("a persistent request is started again before it is complete")
        self._active = True
        self._id = self._own
        if self._contents is not None:
            self._process.switch((ISEND, *self._contents(), self._own))

    @staticmethod
    def Startall(requests):
        """Begins all of them."""
        own = []
        for request in requests:
            request._begin()
            if request._contents is None:
                own.append(request._own)
        if own:
            requests[0]._process.switch((START, tuple(own)))

    startall = Startall

    def _complete(self, payload):
        self._active = False
        self._id = None
        return None if self._finish is None else self._finish(payload)

    def Free(self):
        """Forgets the request; an operation that goes on completes by itself."""
        if self._own is None:
            return
        if self._contents is None or self._active:
            self._process.switch((FREE, self._own))
        self._process.give_request(self._own)
        self._own = self._id = None
        self._active = False

    free = Free


def _ask(operation, requests, active, until):
    """Waits for, or tests, those of `requests` whose places are in `active`."""
    return requests[active[0]]._process.switch((operation, [requests[place]._id for place in active], until))


def _active(requests):
    """The places of requests that are not complete."""
    return [
        place for place, request in enumerate(requests) if request is not None and request._id is not None
    ]


def _take(requests, active, done, messages, statuses):
    """Completes what is done: `(position in active, payload, source, tag, length, cancelled)` each."""
    for position, payload, *about in done:
        place = active[position]
        if statuses is not None and place < len(statuses):
            statuses[place].fill(*about)
        messages[place] = requests[place]._complete(payload)


def _take_one(requests, active, done, status):
    position, payload, *about = done[0]
    if status is not None:
        status.fill(*about)
    return active[position], requests[active[position]]._complete(payload)


def _take_some(requests, active, done, statuses):
    indices, messages = [], []
    for order, (position, payload, *about) in enumerate(done):
        if statuses is not None and order < len(statuses):
            statuses[order].fill(*about)
        indices.append(active[position])
        messages.append(requests[active[position]]._complete(payload))
    return indices, messages


REQUEST_NULL = None
"""No request: waits and tests skip it."""
