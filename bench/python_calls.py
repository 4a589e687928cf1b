"""Speed of Python rank programs: MPI calls per second, and memory per rank at 100,000 ranks.

    python bench/python_calls.py [ranks for the memory test]

Prints rates; the goals are 300,000 calls/s on one core, and 100,000 ranks in under 4 GB.
"""

import resource
import sys

import rates

import hopcast

MODEL = "loggp"
PLATFORM = "hopper"


def peak_bytes():
    """The most memory that this process has held [bytes]."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def calls_of(report):
    """MPI calls of a run."""
    return sum(call["count"] for call in report.calls)


def blocking(comm, rounds):
    """Neighbours on a ring exchange phantoms, blocking."""
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    for _ in range(rounds):
        comm.sendrecv(nbytes=8, dest=right, source=left)


def pairs(comm, rounds):
    """Pairs of ranks send to and receive from each other."""
    partner = comm.rank ^ 1
    for _ in range(rounds):
        if comm.rank & 1:
            comm.recv(source=partner)
            comm.send(nbytes=8, dest=partner)
        else:
            comm.send(nbytes=8, dest=partner)
            comm.recv(source=partner)


def halo(comm, rounds):
    """Exchanges with four neighbours, non-blocking."""
    grid = comm.Create_cart(hopcast.Compute_dims(comm.size, 2), periods=[True, True])
    (up, down), (left, right) = grid.Shift(0, 1), grid.Shift(1, 1)
    for _ in range(rounds):
        requests = [grid.irecv(source=source) for source in (up, down, left, right)]
        requests += [grid.isend(nbytes=1024, dest=dest) for dest in (down, up, right, left)]
        hopcast.Request.waitall(requests)


def allreduce(comm, rounds):
    """Collectives of 8 bytes."""
    for _ in range(rounds):
        comm.allreduce(nbytes=8)


def main():
    for program, ranks, rounds in (
        (pairs, 1000, 200),
        (blocking, 1000, 200),
        (halo, 1000, 40),
        (allreduce, 64, 1000),
    ):
        report = hopcast.run(PLATFORM, program, ranks=ranks, args=(rounds,), model=MODEL)
        calls = calls_of(report)
        print(
            f"{program.__name__:>10}, {ranks:,} ranks: {calls / report.wall_s:>10,.0f} MPI calls/s  "
            f"({calls:,} calls in {report.wall_s:.2f} s, {report.messages:,} messages)"
        )
        rates.record("python_calls", program.__name__, calls_per_s=calls / report.wall_s)
    ranks = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    before = peak_bytes()
    report = hopcast.run(PLATFORM, blocking, ranks=ranks, args=(3,), model=MODEL)
    grown = peak_bytes() - before
    print(
        f"{ranks:,} ranks: {peak_bytes() / 1e9:.2f} GB at most, {grown / ranks:,.0f} B per rank, "
        f"{calls_of(report) / report.wall_s:,.0f} MPI calls/s"
    )


if __name__ == "__main__":
    main()
