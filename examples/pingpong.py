"""Ping-pong: half of a message's round trip between the first and the last rank, by length.

    python examples/pingpong.py
    hopcast run hopper -n 2 --ppn 1 examples/pingpong.py 64 4096 262144

On an idle network that is the latency of the path, plus the length over the narrowest bandwidth.
"""

import sys

import hopcast

SIZES = [8, 64, 512, 4096, 32768, 262144]
"""Lengths to measure [bytes]."""
ROUNDS = 10


def main(comm):
    """Gives at rank 0 `[(bytes, half of the round trip [s])]`; the others give None."""
    sizes = [int(size) for size in sys.argv[1:]] or SIZES
    last = comm.size - 1
    times = []
    for nbytes in sizes:
        comm.barrier()
        begin = comm.Wtime()
        for _ in range(ROUNDS):
            if comm.rank == 0:
                comm.send(nbytes=nbytes, dest=last)
                comm.recv(source=last)
            elif comm.rank == last:
                comm.recv(source=0)
                comm.send(nbytes=nbytes, dest=0)
        times.append((nbytes, (comm.Wtime() - begin) / (2 * ROUNDS)))
    return times if comm.rank == 0 else None


if __name__ == "__main__":
    report = hopcast.run("hopper", main, ranks=2, ppn=1)
    for nbytes, time_s in report.results[0]:
        print(f"{nbytes:>8} B  {time_s * 1e6:9.3f} us  {nbytes / time_s / 1e9:7.3f} GB/s")
