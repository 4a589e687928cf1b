"""Failures of simulated programs, and the messages about them."""

import os
import re
import signal
import threading

import pytest

import hopcast


def line_of(function, offset):
    """`file:line` as a report writes it, of a line of a function."""
    path = os.path.relpath(function.__code__.co_filename)
    return f"{path}:{function.__code__.co_firstlineno + offset}"


def fails(go, program, kind):
    """Message about a program that fails on two ranks with a failure of this kind."""
    with pytest.raises(hopcast.ProgramFailure) as raised:
        go(program, 2)
    assert raised.value.report.failure["kind"] == kind
    return str(raised.value)


def test_a_deadlock_lists_every_rank_with_call_and_line(go):
    def program(comm):
        if comm.rank == 2:
            comm.barrier()
        comm.recv(source=(comm.rank + 1) % 3, tag=9)

    with pytest.raises(hopcast.DeadlockError) as raised:
        go(program, 3)
    text = str(raised.value)
    for rank in (0, 1):
        call = rf"MPI_Recv\(source={rank + 1}, .*tag=9.*\)"
        assert re.search(rf"rank {rank}: {call} at {line_of(program, 3)} in program, since 0 s", text)
    assert re.search(rf"rank 2: MPI_Barrier\(.*\) at {line_of(program, 2)} in program, since 0 s", text)
    assert "source=1" in text
    assert "tag=9" in text
    stuck = raised.value.report.failure["ranks"]
    assert [rank["rank"] for rank in stuck] == [0, 1, 2]
    assert stuck[0]["waits_for_ranks"] == [1]


def test_an_exception_names_rank_time_and_line(go):
    def program(comm):
        comm.compute(seconds=1.5)
        if comm.rank == 1:
            raise KeyError("lost")
        comm.recv(source=1)

    with pytest.raises(hopcast.ProgramError, match=r"rank 1 raised KeyError at 1\.5 s") as raised:
        go(program, 2)
    assert line_of(program, 3) in str(raised.value)
    assert isinstance(raised.value.__cause__, KeyError)
    assert "raise KeyError" in raised.value.report.failure["traceback"]


def test_a_thread_of_a_rank_does_not_communicate(go):
    def program(comm):
        said = []

        def talk():
            try:
                comm.send(b"", dest=0)
            except RuntimeError as error:
                said.append(str(error))

        talker = threading.Thread(target=talk, name="talker")
        talker.start()
        talker.join()
        comm.barrier()
        return said

    message = (
        "a rank communicates from its thread 'talker': all ranks run in one thread, and their threads may "
        "compute, but only the rank function itself may communicate"
    )
    assert go(program, 2) == [[message]] * 2


def test_a_rank_may_clean_up_when_another_fails(go):
    cleaned = []

    def program(comm):
        try:
            if comm.rank == 0:
                comm.compute(seconds=1.0)
                raise ValueError
            comm.recv(source=0)
        finally:
            cleaned.append(comm.rank)

    with pytest.raises(hopcast.ProgramError):
        go(program, 3)
    assert sorted(cleaned) == [0, 1, 2]


def test_abort_is_a_failure(go):
    def program(comm):
        if comm.rank == 1:
            comm.Abort(42)
        comm.barrier()

    said = fails(go, program, "abort")
    assert "42" in said


def test_truncation_is_a_failure(go):
    def program(comm):
        if comm.rank == 0:
            comm.send(nbytes=100, dest=1)
        else:
            comm.recv(source=0, nbytes=99)

    said = fails(go, program, "truncation")
    assert "100 bytes" in said
    assert re.search(rf"rank 1: MPI_Recv\(.*\) at {line_of(program, 4)} in program, since", said)


def test_different_collectives_are_a_failure(go):
    def program(comm):
        if comm.rank:
            comm.barrier()
        else:
            comm.bcast(nbytes=8)

    fails(go, program, "mismatch")


def test_a_rank_that_is_not_there_is_a_failure(go):
    def program(comm):
        comm.send(nbytes=8, dest=5)

    said = fails(go, program, "misuse")
    assert "5" in said
    assert f"rank 0 at {line_of(program, 1)} in program, since 0 s" in said


def test_leaving_with_code_zero_is_no_failure(go):
    def program(comm):
        comm.barrier()
        raise SystemExit(0)

    assert go(program, 2) == [None, None]


def test_an_exit_code_is_a_failure(go):
    with pytest.raises(hopcast.ProgramError, match="SystemExit"):
        go(lambda comm: exit(4), 1)


def test_ctrl_c_leaves_a_partial_report(predict):
    def program(comm):
        while True:
            comm.compute(seconds=1e-9)

    before = signal.getsignal(signal.SIGINT)
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(hopcast.Interrupted) as raised:
        predict(program, 2)
    report = raised.value.report
    assert report.partial
    assert report.makespan_s > 0
    assert signal.getsignal(signal.SIGINT) is before


def test_a_run_after_a_failure_starts_anew(go):
    with pytest.raises(hopcast.DeadlockError):
        go(lambda comm: comm.recv(), 3)
    assert go(lambda comm: comm.allreduce(1), 3) == [3, 3, 3]


@pytest.mark.parametrize("ranks", [0, -1, 2.0, "2", True, 2**31])
def test_ranks_are_a_number_of_ranks(go, ranks):
    with pytest.raises(hopcast.InputError, match="ranks: "):
        go(lambda comm: None, ranks)


@pytest.mark.parametrize("scale", [-1, float("nan"), float("inf")])
def test_a_scale_is_finite_and_not_negative(go, scale):
    with pytest.raises(hopcast.InputError, match="compute_scale: a finite number of at least 0"):
        go(lambda comm: None, 2, compute_scale=scale)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("seed", -1),
        ("seed", 1.5),
        ("ppn", 0),
        ("ppn", "2"),
        ("records", -1),
        ("model", 3),
        ("mode", "none"),
        ("time_shift", True),
        ("compute_scale", 2.0),
    ],
)
def test_an_option_that_would_be_ignored_or_fits_no_run_is_refused(go, name, value):
    with pytest.raises(hopcast.InputError, match=name):
        go(lambda comm: comm.barrier(), 2, **{name: value})


def test_ranks_that_do_not_fit_cost_no_memory(go):
    with pytest.raises(hopcast.InputError, match="2000000000 ranks do not fit"):
        go(lambda comm: None, 2_000_000_000)


def test_a_generator_is_no_rank_function(go):
    def program(comm):
        yield comm.barrier()

    with pytest.raises(hopcast.ProgramError, match="gave a generator: none of it ran"):
        go(program, 2)


def test_a_forgotten_receive_is_a_warning(predict):
    def program(comm):
        if comm.rank == 0:
            comm.send(nbytes=8, dest=1, tag=3)

    (warning,) = predict(program, 2).summary["warnings"]
    assert warning == (
        "1 message was sent and never received: 8 bytes from rank 0 to rank 1 with tag 3 in world"
    )
