"""Predicted times are the platform's closed forms: a message takes 1 us and 1 ns for each byte."""

import pytest

from hopcast import MPI

from .conftest import message_s


@pytest.mark.parametrize("nbytes", [0, 1, 1000, 65_536])
def test_an_eager_message(predict, nbytes):
    def program(comm):
        if comm.rank == 0:
            comm.send(nbytes=nbytes, dest=1)
        else:
            comm.recv(source=0)

    assert predict(program, 2).makespan_s == pytest.approx(message_s(nbytes), rel=1e-9)


def test_a_rendezvous_asks_first(predict):
    nbytes = 10_000_000

    def program(comm):
        if comm.rank == 0:
            comm.send(nbytes=nbytes, dest=1)
        else:
            comm.recv(source=0)

    # Request and permission are two more messages, each at least as long as the latency.
    makespan_s = predict(program, 2).makespan_s
    assert message_s(nbytes) + 2 * message_s(0) <= makespan_s < message_s(nbytes) + 2 * message_s(200)


def test_computing(predict):
    def program(comm):
        comm.compute(seconds=0.5)
        comm.compute(flops=2e9)  # at 1 Gflop/s
        comm.compute(flops=1e9, bytes=3e9)  # at 1 GB/s the bytes take longer
        comm.compute(bytes=1e9)
        before = comm.Wtime()
        comm.sleep_until(10.0)
        comm.sleep_until(1.0)
        return before, MPI.Wtime()

    report = predict(program, 1)
    assert report.results == [(6.5, 10.0)]
    assert report.makespan_s == 10.0


def test_waiting_is_told_from_transfer(predict):
    def program(comm):
        if comm.rank == 0:
            comm.compute(seconds=1.0)
            comm.send(nbytes=1000, dest=1)
        else:
            comm.recv(source=0)

    time = predict(program, 2).time
    assert time["compute_s"] == pytest.approx(1.0)
    assert time["waiting_s"] == pytest.approx(1.0, rel=1e-5)


def test_an_allreduce_grows_with_the_logarithm(predict):
    def program(comm):
        comm.allreduce(nbytes=8, algorithm="recursive-doubling")

    for exponent in range(1, 8):
        report = predict(program, 2**exponent)
        assert report.makespan_s == pytest.approx(exponent * message_s(8), rel=0.01)
