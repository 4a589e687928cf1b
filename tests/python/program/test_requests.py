"""Waits and tests of every kind."""

import numpy as np
import pytest

import hopcast
from hopcast import MPI

from .conftest import message_s


def of_three(go, take):
    """Result of `take(comm, requests)` on rank 1 for three receives, of which the second one waits long."""

    def program(comm):
        if comm.rank == 1:
            return take(comm, [comm.irecv(source=0, tag=tag) for tag in range(3)])
        comm.send("a", dest=1, tag=0)
        comm.send("c", dest=1, tag=2)
        comm.compute(seconds=1e-3)
        comm.send("b", dest=1, tag=1)
        return None

    return go(program, 2)[1]


def test_waitall_gives_everything_in_order(go):
    def take(comm, requests):
        statuses = [MPI.Status() for _ in requests]
        return MPI.Request.waitall(requests, statuses), [status.tag for status in statuses], any(requests)

    assert of_three(go, take) == (["a", "b", "c"], [0, 1, 2], False)


def test_waitany_gives_one_after_the_other(go):
    def take(comm, requests):
        return [MPI.Request.waitany(requests) for _ in range(4)]

    taken = of_three(go, take)
    assert sorted(taken[:2]) == [(0, "a"), (2, "c")]
    assert taken[2:] == [(1, "b"), (MPI.UNDEFINED, None)]


def test_waitsome_gives_those_that_are_complete(go):
    def take(comm, requests):
        comm.compute(seconds=1e-4)
        first = MPI.Request.waitsome(requests)
        second = MPI.Request.waitsome(requests)
        return first, second, MPI.Request.waitsome(requests)

    assert of_three(go, take) == (([0, 2], ["a", "c"]), ([1], ["b"]), (None, None))


def test_tests_do_not_wait(go):
    def take(comm, requests):
        comm.compute(seconds=1e-4)
        every = MPI.Request.testall(requests)
        some = MPI.Request.testsome(requests)
        late = MPI.Request.testany(requests)
        one = requests[1].test()
        comm.compute(seconds=1e-2)
        return every, some, late, one, requests[1].test(), MPI.Request.testall(requests)

    every, some, late, one, after, done = of_three(go, take)
    assert every == (False, None)
    assert some == ([0, 2], ["a", "c"])
    assert late == (MPI.UNDEFINED, False, None)
    assert one == (False, None)
    assert after == (True, "b")
    assert done == (True, [None, None, None])


def test_a_complete_request_is_none(go):
    def program(comm):
        request = comm.isend("x", dest=comm.rank)
        got = comm.recv(source=comm.rank)
        return got, request.wait(), request.wait(), bool(request)

    assert go(program, 1) == [("x", None, None, False)]


def test_persistent_requests_start_again(go):
    def program(comm):
        out, into = np.zeros(2), np.zeros(2)
        other = 1 - comm.rank
        send = comm.Send_init(out, dest=other)
        receive = comm.Recv_init(into, source=other)
        seen = []
        for step in range(3):
            out[:] = 10 * step + comm.rank
            MPI.Prequest.Startall([receive, send])
            out[:] = -1
            MPI.Request.Waitall([receive, send])
            seen.append(into.tolist())
        idle = MPI.Request.testall([send, receive])[0]
        send.Free()
        receive.Free()
        return seen, idle

    (first, idle), (second, _) = go(program, 2)
    assert first == [[1, 1], [11, 11], [21, 21]]
    assert second == [[0, 0], [10, 10], [20, 20]]
    assert idle


def test_persistent_phantoms(predict):
    def program(comm):
        other = 1 - comm.rank
        send = comm.send_init(nbytes=1000, dest=other)
        receive = comm.recv_init(source=other)
        for _ in range(5):
            receive.start()
            send.start()
            MPI.Request.waitall([send, receive])

    report = predict(program, 2)
    assert (report.messages, report.bytes) == (10, 10_000)
    assert report.makespan_s == pytest.approx(5 * 2e-6, rel=1e-9)


def test_a_persistent_request_is_started_once_at_a_time(go):
    def program(comm):
        receive = comm.recv_init(source=0)
        receive.start()
        receive.start()

    with pytest.raises(hopcast.ProgramError, match="started again"):
        go(program, 1)


def test_a_receive_that_nothing_matched_is_cancelled(go):
    def program(comm):
        request = comm.irecv(source=0)
        request.cancel()
        status = MPI.Status()
        request.wait(status)
        return status.Is_cancelled()

    assert go(program, 1) == [True]


def test_a_message_that_nothing_matched_is_taken_back(go):
    def program(comm):
        if comm.rank == 1:
            comm.Barrier()
            return comm.recv(source=0)
        request = comm.isend("first", dest=1)
        request.cancel()
        status = MPI.Status()
        assert request.wait(status) is None
        comm.isend("second", dest=1)
        comm.Barrier()
        return status.Is_cancelled()

    assert go(program, 2) == [True, "second"]


def test_a_freed_request_completes_by_itself(go):
    def program(comm):
        if comm.rank == 0:
            for number in range(50):
                comm.isend(number, dest=1).Free()
            return None
        return [comm.recv(source=0) for _ in range(50)]

    assert go(program, 2)[1] == list(range(50))


def test_waiting_for_a_collective_gives_its_result(go):
    def program(comm):
        requests = [
            comm.iallreduce(comm.rank),
            comm.ibarrier(),
            comm.ibcast(b"xy" if comm.rank == 0 else b"--"),
        ]
        return MPI.Request.waitall(requests)

    assert go(program, 4) == [[6, None, b"xy"]] * 4


@pytest.mark.parametrize(("progress", "computing"), [("calls", 1e-3), ("asynchronous", 0.0)])
def test_a_rendezvous_goes_on_while_a_rank_computes_only_with_asynchronous_progress(go, progress, computing):
    nbytes = 100_000

    def program(comm):
        request = comm.isend(nbytes=nbytes, dest=1) if comm.rank == 0 else comm.irecv(source=0)
        comm.compute(seconds=1e-3 if comm.rank == 1 else 0.0)
        request.wait()
        return comm.Wtime()

    sent, received = go(program, 2, set={"mpi.progress": progress})
    # The request takes 1 us, and so does the answer, which waits for the receiver's call if it must.
    answered = max(1e-6, computing)
    assert sent == pytest.approx(answered + message_s(nbytes))
    assert received == pytest.approx(max(1e-3, answered + 1e-6 + message_s(nbytes)))
