"""Messages between two ranks arrive with the contents that they had when they were sent."""

import numpy as np
import pytest

import hopcast
from hopcast import MPI

OBJECTS = [
    None,
    7,
    2.5,
    "text",
    b"bytes",
    bytearray(b"more"),
    [1, [2, 3]],
    {"a": (1, 2)},
    {3, 4},
    1 + 2j,
    np.arange(6.0).reshape(2, 3),
    np.array(["x", None], dtype=object),
]


@pytest.mark.parametrize("obj", OBJECTS, ids=lambda obj: type(obj).__name__)
@pytest.mark.parametrize("mode", ["send", "ssend", "bsend", "isend", "issend", "ibsend"])
def test_every_object_arrives_in_every_mode(go, obj, mode):
    def program(comm):
        if comm.rank == 0:
            request = getattr(comm, mode)(obj, dest=1, tag=5)
            if request is not None:
                request.wait()
            return None
        return comm.recv(source=0, tag=5)

    received = go(program, 2)[1]
    np.testing.assert_equal(received, obj)
    assert type(received) is type(obj)


@pytest.mark.parametrize("nbytes", [10, 10_000_000], ids=["eager", "rendezvous"])
def test_a_sender_may_change_what_it_has_sent(go, nbytes):
    def program(comm):
        if comm.rank == 0:
            array, listed, raw = np.zeros(4), [1], bytearray(b"aa")
            requests = [comm.isend(obj, dest=1, nbytes=nbytes) for obj in (array, listed, raw)]
            array[:], raw[:] = 9, b"zz"
            listed.append(2)
            MPI.Request.waitall(requests)
            return None
        return [comm.recv(source=0) for _ in range(3)]

    array, listed, raw = go(program, 2)[1]
    assert array.tolist() == [0, 0, 0, 0]
    assert (listed, raw) == ([1], b"aa")


def test_a_receiver_owns_what_it_received(go):
    shared = [1, 2]

    def program(comm):
        if comm.rank == 0:
            comm.send(shared, dest=1)
        else:
            comm.recv().append(3)

    go(program, 2)
    assert shared == [1, 2]


def test_a_phantom_is_received_as_none_with_its_length(go):
    def program(comm):
        if comm.rank == 0:
            comm.send(nbytes=12_345, dest=1, tag=3)
            return None
        status = MPI.Status()
        got = comm.recv(status=status)
        return got, status.Get_source(), status.Get_tag(), status.Get_count(), status.Get_count(MPI.DOUBLE)

    assert go(program, 2)[1] == (None, 0, 3, 12_345, MPI.UNDEFINED)


def test_lengths_are_those_of_buffers_and_pickles(go):
    import pickle

    objects = [b"12345", np.zeros(3, dtype=np.int16), {"k": [1, 2]}]

    def program(comm):
        if comm.rank == 0:
            for obj in objects:
                comm.send(obj, dest=1)
            return None
        lengths, status = [], MPI.Status()
        for _ in objects:
            comm.recv(status=status)
            lengths.append(status.count)
        return lengths

    assert go(program, 2)[1] == [5, 6, len(pickle.dumps(objects[2], pickle.HIGHEST_PROTOCOL))]


def test_an_object_may_be_given_another_length(predict):
    def program(comm):
        if comm.rank == 0:
            comm.send("small", dest=1, nbytes=50_000)
            return None
        return comm.recv(), comm.Wtime()

    got, now_s = predict(program, 2).results[1]
    assert got == "small"
    assert now_s == pytest.approx(1e-6 + 50_000 / 1e9, rel=1e-9)


def test_messages_do_not_overtake_each_other(go):
    def program(comm):
        if comm.rank == 0:
            for number in range(20):
                comm.isend(number, dest=1, nbytes=10 if number % 2 else 60_000)
            comm.send("end", dest=1)
            return None
        return [comm.recv(source=0) for _ in range(21)]

    assert go(program, 2)[1] == [*range(20), "end"]


def test_tags_and_wildcards_choose(go):
    def program(comm):
        if comm.rank:
            comm.send(comm.rank * 10, dest=0, tag=comm.rank)
            return None
        status = MPI.Status()
        third = comm.recv(source=MPI.ANY_SOURCE, tag=3)
        second = comm.recv(source=2, tag=MPI.ANY_TAG)
        first = comm.recv(status=status)
        return first, second, third, status.source, status.tag

    assert go(program, 4)[0] == (10, 20, 30, 1, 1)


def test_sendrecv_turns_a_ring(go):
    def program(comm):
        right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        return comm.sendrecv(comm.rank, dest=right, source=left)

    assert go(program, 5) == [4, 0, 1, 2, 3]


def test_the_null_process_gives_nothing(go):
    def program(comm):
        status = MPI.Status()
        comm.send("lost", dest=MPI.PROC_NULL)
        got = comm.recv(source=MPI.PROC_NULL, status=status)
        swapped = comm.sendrecv(1, dest=MPI.PROC_NULL, source=MPI.PROC_NULL)
        return got, swapped, status.source == MPI.PROC_NULL, status.count, comm.Wtime()

    assert go(program, 1) == [(None, None, True, 0, 0.0)]


def test_probes_tell_without_receiving(go):
    def program(comm):
        if comm.rank == 0:
            comm.compute(seconds=1.0)
            comm.send("x" * 100, dest=1, tag=4, nbytes=100)
            return None
        before = comm.iprobe()
        status = MPI.Status()
        comm.probe(source=0, status=status)
        after = comm.iprobe(tag=4)
        return before, after, status.tag, status.count, comm.recv()

    assert go(program, 2)[1] == (False, True, 4, 100, "x" * 100)


def test_a_matched_probe_takes_the_message(go):
    def program(comm):
        if comm.rank == 0:
            for word in ("first", "second", "third"):
                comm.send(word, dest=1)
            return None
        message = comm.mprobe(source=0)
        later = comm.recv(source=0)
        other = comm.improbe(source=0)
        nothing = comm.improbe(source=0, tag=9)
        return message.recv(), later, other.irecv().wait(), nothing

    assert go(program, 2)[1] == ("first", "second", "third", None)


def test_buffers(go):
    def program(comm):
        if comm.rank == 0:
            comm.Send(np.arange(5.0), dest=1)
            comm.Ssend([np.arange(4, dtype="i4"), MPI.INT], dest=1)
            comm.Isend([np.arange(10, dtype="i8"), 3, MPI.LONG], dest=1).Wait()
            comm.Send(bytearray(b"raw"), dest=1)
            return None
        doubles, ints, longs, raw = np.zeros(8), np.zeros(4, "i4"), np.zeros(3, "i8"), bytearray(3)
        status = MPI.Status()
        comm.Recv(doubles, source=0, status=status)
        comm.Recv([ints, MPI.INT], source=0)
        comm.Irecv(longs, source=0).Wait()
        comm.Recv(raw, source=0)
        return doubles.tolist(), ints.tolist(), longs.tolist(), bytes(raw), status.Get_count(MPI.DOUBLE)

    doubles, ints, longs, raw, count = go(program, 2)[1]
    assert doubles == [0, 1, 2, 3, 4, 0, 0, 0]
    assert (ints, longs, raw, count) == ([0, 1, 2, 3], [0, 1, 2], b"raw", 5)


def test_sendrecv_of_buffers(go):
    def program(comm):
        other = 1 - comm.rank
        mine, theirs = np.full(3, comm.rank), np.zeros(3, dtype=int)
        comm.Sendrecv(mine, dest=other, recvbuf=theirs, source=other)
        comm.Sendrecv_replace(mine, dest=other, source=other)
        return theirs.tolist(), mine.tolist()

    assert go(program, 2) == [([1, 1, 1], [1, 1, 1]), ([0, 0, 0], [0, 0, 0])]


def test_an_object_is_not_received_into_a_buffer(go):
    def program(comm):
        if comm.rank == 0:
            comm.send([1, 2], dest=1)
        else:
            comm.Recv(np.zeros(100), source=0)

    with pytest.raises(hopcast.ProgramError, match=r"received by recv\(\)"):
        go(program, 2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda comm: comm.send(nbytes=8), "dest is missing"),
        (lambda comm: comm.send(nbytes=-8, dest=0), "whole number of bytes"),
        (lambda comm: comm.send(nbytes=1.5, dest=0), "whole number of bytes"),
        (lambda comm: comm.send(nbytes=8, dest=-7), "dest is a rank or PROC_NULL, not -7"),
        (lambda comm: comm.send(nbytes=8, dest=0, tag=-3), "a tag is 0 to"),
        (lambda comm: comm.send(nbytes=8, dest=0, nic=-1), "nic is the number of a NIC, 0 to 63, not -1"),
        (lambda comm: comm.isend(nbytes=8, dest=0, nic=(0, 64)), "0 to 63, not 64"),
        (lambda comm: comm.recv(source=-9), "source is a rank, ANY_SOURCE or PROC_NULL"),
        (lambda comm: comm.compute(seconds=-1), "0 or more"),
        (lambda comm: comm.compute(), "takes seconds="),
        (lambda comm: comm.allreduce(nbytes=8, algorithm="magic"), "unknown algorithm 'magic'"),
    ],
)
def test_mistakes_are_raised_where_they_are_made(go, call, message):
    def program(comm):
        try:
            call(comm)
        except (TypeError, ValueError) as error:
            comm.compute(seconds=1e-6)  # the rank goes on
            return str(error)
        return "nothing was raised"

    assert message in go(program, 1)[0]
