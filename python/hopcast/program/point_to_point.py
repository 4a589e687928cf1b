"""Messages between two ranks: objects (lower case), buffers (upper case) and phantoms (`nbytes=`)."""

from functools import partial

from hopcast._core import (
    BUFFERED,
    IMPROBE,
    IMRECV,
    IPROBE,
    IRECV,
    ISEND,
    MPROBE,
    MRECV,
    PROBE,
    READY,
    RECV,
    RECV_INIT,
    SEND,
    SEND_INIT,
    SENDRECV,
    STANDARD,
    SYNCHRONOUS,
)
from hopcast.program.base import Base
from hopcast.program.buffer import as_array, fill
from hopcast.program.constants import ANY_SOURCE, ANY_TAG
from hopcast.program.payload import pack, unpack
from hopcast.program.request import Prequest, Request
from hopcast.program.status import Status


def _contents(obj, nbytes):
    """Length and payload of what a send carries: an object, one with a length of its own, or a phantom."""
    if nbytes is None:
        return pack(obj)
    return nbytes, None if obj is None else pack(obj)[1]


def _buffer_contents(buf):
    content = as_array(buf).tobytes()
    return len(content), content


def _via(nic, zero_copy):
    """The way of a message between hosts, as the core reads it: None where the platform decides."""
    if nic is None:
        return None if zero_copy is None else (None, zero_copy)
    return ((nic, nic) if isinstance(nic, int) else tuple(nic), zero_copy)


def _blocking_send(mode):
    def send(self, obj=None, dest=None, tag=0, *, nbytes=None, nic=None, zero_copy=None):
        if obj is None and nbytes is not None:
            payload = None
        else:
            nbytes, payload = _contents(obj, nbytes)
        via = None if nic is None and zero_copy is None else _via(nic, zero_copy)
        self._switch((SEND, self._id, dest, tag, nbytes, mode, payload, via))

    return send


def _nonblocking_send(mode):
    def isend(self, obj=None, dest=None, tag=0, *, nbytes=None, nic=None, zero_copy=None):
        if obj is None and nbytes is not None:
            payload = None
        else:
            nbytes, payload = _contents(obj, nbytes)
        via = None if nic is None and zero_copy is None else _via(nic, zero_copy)
        process = self._process
        request = process.take_request()
        self._switch((ISEND, self._id, dest, tag, nbytes, mode, payload, via, request))
        return Request(process, request)

    return isend


def _persistent_send(mode):
    def send_init(self, obj=None, dest=None, tag=0, *, nbytes=None, nic=None, zero_copy=None):
        """The object is packed at each start, so that it may change in between."""
        via = _via(nic, zero_copy)
        process = self._process
        request = process.take_request()
        if obj is None and nbytes is not None:
            self._switch((SEND_INIT, self._id, dest, tag, nbytes, mode, None, via, request))
            return Prequest(process, request)

        def contents():
            length, payload = _contents(obj, nbytes)
            return self._id, dest, tag, length, mode, payload, via

        return Prequest(process, request, contents=contents)

    return send_init


def _blocking_buffer_send(mode):
    def Send(self, buf, dest, tag=0, *, nic=None, zero_copy=None):
        length, content = _buffer_contents(buf)
        self._switch((SEND, self._id, dest, tag, length, mode, content, _via(nic, zero_copy)))

    return Send


def _nonblocking_buffer_send(mode):
    def Isend(self, buf, dest, tag=0, *, nic=None, zero_copy=None):
        length, content = _buffer_contents(buf)
        via = _via(nic, zero_copy)
        request = self._process.take_request()
        self._switch((ISEND, self._id, dest, tag, length, mode, content, via, request))
        return Request(self._process, request)

    return Isend


def _persistent_buffer_send(mode):
    def Send_init(self, buf, dest, tag=0, *, nic=None, zero_copy=None):
        via = _via(nic, zero_copy)

        def contents():
            length, content = _buffer_contents(buf)
            return self._id, dest, tag, length, mode, content, via

        return Prequest(self._process, self._process.take_request(), contents=contents)

    return Send_init


class Message:
    """A message that a matched probe took: only this object can receive it."""

    __slots__ = ("_comm", "_number")

    def __init__(self, comm, number):
        self._comm = comm
        self._number = number

    def recv(self, status=None):
        """Receives the object."""
        return unpack(_settle(self._comm._switch((MRECV, self._number, status is not None)), status))

    def irecv(self):
        """Begins to receive the object."""
        process = self._comm._process
        request = process.take_request()
        process.switch((IMRECV, self._number, request))
        return Request(process, request, unpack)

    def Recv(self, buf, status=None):
        """Receives into a buffer."""
        got = self._comm._switch((MRECV, self._number, status is not None))
        fill(as_array(buf), _settle(got, status))

    def Irecv(self, buf):
        """Begins to receive into a buffer."""
        process = self._comm._process
        request = process.take_request()
        process.switch((IMRECV, self._number, request))
        return Request(process, request, partial(fill, as_array(buf)))


def _settle(got, status):
    """The payload of a receive, whose status fields come with it when asked for."""
    if status is None:
        return got
    payload, *about = got
    status.fill(*about)
    return payload


class PointToPoint(Base):
    """Point-to-point methods of a communicator.

    `nbytes=` alone sends a phantom: a message of that length without contents, which is received as None.
    With an object it overrides the object's own length.

    Sends to other hosts may say how they go there, beyond mpi4py; otherwise the platform decides. `nic=`: the
    number of a NIC, from 0 on, at both hosts, or a pair of the sender's and the receiver's. `zero_copy=True`:
    NICs read and write the ranks' own memory, and the send waits for its receive; `False`: both ranks copy.
    """

    __slots__ = ()

    send = _blocking_send(STANDARD)
    bsend = _blocking_send(BUFFERED)
    ssend = _blocking_send(SYNCHRONOUS)
    rsend = _blocking_send(READY)
    isend = _nonblocking_send(STANDARD)
    ibsend = _nonblocking_send(BUFFERED)
    issend = _nonblocking_send(SYNCHRONOUS)
    irsend = _nonblocking_send(READY)
    send_init = _persistent_send(STANDARD)
    bsend_init = _persistent_send(BUFFERED)
    ssend_init = _persistent_send(SYNCHRONOUS)
    rsend_init = _persistent_send(READY)
    Send = _blocking_buffer_send(STANDARD)
    Bsend = _blocking_buffer_send(BUFFERED)
    Ssend = _blocking_buffer_send(SYNCHRONOUS)
    Rsend = _blocking_buffer_send(READY)
    Isend = _nonblocking_buffer_send(STANDARD)
    Ibsend = _nonblocking_buffer_send(BUFFERED)
    Issend = _nonblocking_buffer_send(SYNCHRONOUS)
    Irsend = _nonblocking_buffer_send(READY)
    Send_init = _persistent_buffer_send(STANDARD)
    Bsend_init = _persistent_buffer_send(BUFFERED)
    Ssend_init = _persistent_buffer_send(SYNCHRONOUS)
    Rsend_init = _persistent_buffer_send(READY)

    def recv(self, buf=None, source=ANY_SOURCE, tag=ANY_TAG, status=None, *, nbytes=None):
        """Receives an object (None for a phantom). `nbytes`: the room; a longer message is a truncation.

        `buf` is there because mpi4py has it; it is not used there either.
        """
        if status is None:
            return unpack(self._switch((RECV, self._id, source, tag, nbytes, False)))
        return unpack(_settle(self._switch((RECV, self._id, source, tag, nbytes, True)), status))

    def irecv(self, buf=None, source=ANY_SOURCE, tag=ANY_TAG, *, nbytes=None):
        """Begins to receive an object; `wait` gives it."""
        return self._receive_later(IRECV, Request, source, tag, nbytes, unpack)

    def recv_init(self, buf=None, source=ANY_SOURCE, tag=ANY_TAG, *, nbytes=None):
        """Prepares to receive an object, any number of times."""
        return self._receive_later(RECV_INIT, Prequest, source, tag, nbytes, unpack)

    def sendrecv(
        self,
        sendobj=None,
        dest=None,
        sendtag=0,
        recvbuf=None,
        source=ANY_SOURCE,
        recvtag=ANY_TAG,
        status=None,
        *,
        nbytes=None,
        nic=None,
        zero_copy=None,
    ):
        """Sends and receives at the same time; gives what was received."""
        if sendobj is None and nbytes is not None:
            payload = None
        else:
            nbytes, payload = _contents(sendobj, nbytes)
        about = status is not None, _via(nic, zero_copy)
        operation = (SENDRECV, self._id, dest, sendtag, nbytes, payload, source, recvtag, None, *about)
        return unpack(_settle(self._switch(operation), status))

    def Recv(self, buf, source=ANY_SOURCE, tag=ANY_TAG, status=None):
        """Receives into a buffer; a message longer than it is a truncation."""
        array = as_array(buf)
        got = self._switch((RECV, self._id, source, tag, array.nbytes, status is not None))
        fill(array, _settle(got, status))

    def Irecv(self, buf, source=ANY_SOURCE, tag=ANY_TAG):
        """Begins to receive into a buffer, which is filled by the wait."""
        array = as_array(buf)
        return self._receive_later(IRECV, Request, source, tag, array.nbytes, partial(fill, array))

    def Recv_init(self, buf, source=ANY_SOURCE, tag=ANY_TAG):
        """Prepares to receive into a buffer, any number of times."""
        array = as_array(buf)
        return self._receive_later(RECV_INIT, Prequest, source, tag, array.nbytes, partial(fill, array))

    def _receive_later(self, operation, kind, source, tag, room, finish):
        """A receive that leaves a request of `kind`, whose wait gives what `finish` makes of the payload."""
        process = self._process
        request = process.take_request()
        self._switch((operation, self._id, source, tag, room, request))
        return kind(process, request, finish)

    def Sendrecv(
        self,
        sendbuf,
        dest,
        sendtag=0,
        recvbuf=None,
        source=ANY_SOURCE,
        recvtag=ANY_TAG,
        status=None,
        *,
        nic=None,
        zero_copy=None,
    ):
        """Sends one buffer and receives into another at the same time."""
        length, content = _buffer_contents(sendbuf)
        array = as_array(recvbuf)
        sent = SENDRECV, self._id, dest, sendtag, length, content
        operation = (*sent, source, recvtag, array.nbytes, status is not None, _via(nic, zero_copy))
        fill(array, _settle(self._switch(operation), status))

    def Sendrecv_replace(self, buf, dest, sendtag=0, source=ANY_SOURCE, recvtag=ANY_TAG, status=None):
        """Sends a buffer and receives into the same."""
        self.Sendrecv(buf, dest, sendtag, buf, source, recvtag, status)

    def probe(self, source=ANY_SOURCE, tag=ANY_TAG, status=None):
        """Waits for a message without receiving it."""
        (status or Status()).fill(*self._switch((PROBE, self._id, source, tag)))
        return True

    def iprobe(self, source=ANY_SOURCE, tag=ANY_TAG, status=None):
        """True if a matching message can be received."""
        found = self._switch((IPROBE, self._id, source, tag))
        if found is not None and status is not None:
            status.fill(*found)
        return found is not None

    def mprobe(self, source=ANY_SOURCE, tag=ANY_TAG, status=None):
        """Waits for a message and takes it, so that only the `Message` given can receive it."""
        number, *about = self._switch((MPROBE, self._id, source, tag))
        if status is not None:
            status.fill(*about)
        return Message(self, number)

    def improbe(self, source=ANY_SOURCE, tag=ANY_TAG, status=None):
        """Takes a message if there is one, else gives None."""
        found = self._switch((IMPROBE, self._id, source, tag))
        if found is None:
            return None
        number, *about = found
        if status is not None:
            status.fill(*about)
        return Message(self, number)

    Probe = probe
    Iprobe = iprobe
    Mprobe = mprobe
    Improbe = improbe
