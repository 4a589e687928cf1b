"""Sends that name their NICs, and that are copied or not."""

import numpy as np
import pytest

import hopcast
from hopcast import MPI

from .conftest import LATENCY_S, message_s

SIZE = 1_000_000
COPY_RATE = 2e9
TWO_NICS = {"nic.count": 2, "mpi.eager_limit": "8 MiB"}
SENDS = ["send", "ssend", "bsend", "rsend", "isend", "issend", "ibsend", "irsend", "send_init", "ssend_init"]


def begin(comm, name, **way):
    """Begins one send of a phantom to rank 1, and gives its request if it has one."""
    if name[0].islower():
        request = getattr(comm, name)(nbytes=SIZE, dest=1, **way)
    else:
        request = getattr(comm, name)(np.zeros(SIZE, np.uint8), dest=1, **way)
    if name.endswith("_init"):
        request.Start()
    return request


def two_messages(comm, name, ways):
    if comm.rank == 0:
        comm.sleep_until(1e-3)
        requests = [begin(comm, name, **way) for way in ways]
        MPI.Request.waitall([request for request in requests if request is not None])
    else:
        requests = [comm.irecv(source=0) for _ in ways]
        MPI.Request.waitall(requests)
    return comm.Wtime()


@pytest.mark.parametrize("model", ["loggp", "packet"])
@pytest.mark.parametrize("name", ["isend", "Isend", "send_init", "Send_init"])
def test_messages_by_two_nics_do_not_meet(go, name, model):
    options = {"model": model, "set": TWO_NICS}
    apart = go(two_messages, 2, name, [{"nic": 0}, {"nic": 1}], **options)[1]
    together = go(two_messages, 2, name, [{"nic": 1}, {"nic": 1}], **options)[1]
    assert apart == pytest.approx(1e-3 + message_s(SIZE), rel=1e-3)
    assert together == pytest.approx(1e-3 + LATENCY_S + 2 * SIZE / 1e9, rel=1e-3)


def test_both_ends_have_their_own(go):
    ways = [{"nic": (0, 1)}, {"nic": (1, 1)}]
    last = go(two_messages, 2, "isend", ways, model="loggp", set=TWO_NICS)[1]
    assert last == pytest.approx(1e-3 + LATENCY_S + 2 * SIZE / 1e9, rel=1e-3)


@pytest.mark.parametrize("name", SENDS + [name.capitalize() for name in SENDS])
def test_every_send_has_both_arguments(go, name):
    copies = {"mpi.copy_rate": "2 GB/s"}
    alone = go(two_messages, 2, name, [{}], set=copies)[1]
    copied = go(two_messages, 2, name, [{"nic": 0, "zero_copy": False}], set=copies)[1]
    # A buffered send is copied by its sender in any case.
    times = 1 if "bsend" in name.lower() else 2
    assert copied - alone == pytest.approx(times * SIZE / COPY_RATE, rel=1e-3)


def test_what_is_exchanged_goes_its_way_too(go):
    def program(comm, lower, **way):
        other, buffers = 1 - comm.rank, [np.zeros(SIZE, np.uint8) for _ in range(2)]
        if lower:
            comm.sendrecv(nbytes=SIZE, dest=other, source=other, **way)
        else:
            comm.Sendrecv(buffers[0], other, recvbuf=buffers[1], source=other, **way)
        return comm.Wtime()

    settings = {"mpi.copy_rate": "2 GB/s"}
    for lower in (True, False):
        plain = max(go(lambda comm, lower=lower: program(comm, lower), 2, set=settings))
        copied = max(go(lambda comm, lower=lower: program(comm, lower, zero_copy=False), 2, set=settings))
        assert copied - plain == pytest.approx(2 * SIZE / COPY_RATE, rel=1e-3)


def test_a_short_message_without_copies_waits_for_its_receive(go):
    def program(comm, **way):
        if comm.rank == 0:
            comm.send(nbytes=8, dest=1, **way)
        else:
            comm.compute(seconds=1e-3)
            comm.recv(source=0)
        return comm.Wtime()

    assert go(program, 2)[0] < 1e-5
    assert go(lambda comm: program(comm, zero_copy=True), 2)[0] > 1e-3


def test_a_nic_that_is_not_there_fails_the_program(go):
    def program(comm):
        if comm.rank == 0:
            comm.send(nbytes=8, dest=1, nic=2)
        else:
            comm.recv(source=0)

    with pytest.raises(hopcast.ProgramFailure, match="NIC 2 is asked for, but a host has 2, NICs 0 to 1"):
        go(program, 2, set=TWO_NICS)
    with pytest.raises(hopcast.ProgramFailure, match="NIC 2 is asked for, but a host has one, NIC 0"):
        go(program, 2)
