"""Program that uses what a rank function can, and spends time by what it has received."""

import hashlib
import pickle

import numpy as np

from hopcast import MPI


def point_to_point(comm, note):
    rank, size = comm.rank, comm.size
    right, left, far = (rank + 1) % size, (rank - 1) % size, (rank + size // 2) % size
    note(comm.sendrecv({"from": rank}, right, source=left))
    request = comm.isend(np.arange(rank + 3.0), far, tag=5)
    note(comm.recv(source=MPI.ANY_SOURCE, tag=5))
    request.wait()
    # Rendezvous, synchronous, buffered, matched probes and persistent requests.
    big = np.full(50_000, float(rank))
    room = np.empty_like(big)
    requests = [comm.Irecv(room, source=far), comm.Isend(big, dest=far)]
    MPI.Request.Waitall(requests)
    note(float(room.sum()))
    request = comm.issend(["synchronous", rank], right, tag=6)
    message = comm.mprobe(source=left, tag=6)
    note(message.recv())
    request.wait()
    status = MPI.Status()
    comm.bsend(b"x" * (rank + 1), far, tag=7)
    comm.probe(source=MPI.ANY_SOURCE, tag=7, status=status)
    note((status.Get_source(), len(comm.recv(source=status.Get_source(), tag=7))))
    data = np.zeros(4)
    send, receive = comm.Send_init(data, dest=right, tag=8), comm.Recv_init(np.empty(4), source=left, tag=8)
    for turn in range(3):
        data[:] = rank * 10 + turn
        MPI.Prequest.Startall([receive, send])
        MPI.Request.Waitall([receive, send])
    note(comm.sendrecv(None, right, source=left))


def collectives(comm, note):
    rank, size = comm.rank, comm.size
    note(comm.bcast({"root": rank} if rank == 1 else None, root=1))
    note(comm.bcast("known" if rank == 0 else None, nbytes=100))
    note(comm.scatter([("part", place) for place in range(size)] if rank == 2 else None, root=2))
    note(comm.gather([rank] * (rank % 3), root=size - 1))
    note(comm.allgather("abc" * rank))
    note(comm.alltoall([(rank, place) for place in range(size)]))
    note(comm.alltoall([(rank, place) for place in range(size)], nbytes=24))
    note(comm.reduce(rank, op=MPI.SUM, root=3))
    note(comm.allreduce((rank % 5, rank), op=MPI.MAXLOC))
    note(comm.allreduce(np.arange(5) * rank, op=MPI.MAX))
    note(comm.scan(rank + 1.5))
    note(comm.exscan(rank + 1))
    note(comm.reduce_scatter_block([float(rank + place) for place in range(size)]))
    note(comm.allreduce([rank], op=lambda a, b: a + b))
    later = (
        comm.iallreduce(rank, op=MPI.PROD),
        comm.ibcast(np.arange(3) * rank if rank == 4 else np.empty(3), root=4),
        comm.ibarrier(),
    )
    note([one.wait() is None for one in later])


def buffers(comm, note):
    rank, size = comm.rank, comm.size
    total = np.empty(2)
    comm.Allreduce(np.array([1.0, rank]), total)
    note(total)
    every = np.empty(size, dtype="i8")
    comm.Allgather(np.array([rank * rank]), every)
    note(every)
    blocks = np.empty(size)
    comm.Alltoall(np.arange(size) * 1.0 + rank, blocks)
    note(blocks)
    counts = [place % 3 for place in range(size)]
    mine = np.arange(rank % 3) + 10.0 * rank
    whole = np.full(sum(counts), -1.0)
    comm.Gatherv(mine, [whole, counts], root=0)
    note(whole)


def communicators(comm, note):
    rank, size = comm.rank, comm.size
    odd = comm.Split(rank % 2, -rank)
    note(odd.allgather(rank))
    note(odd.allreduce(rank))
    some = odd.Split(MPI.UNDEFINED if odd.rank == 0 else 7, 0)
    note(some.gather(rank) if some else None)
    host = comm.Split_type(MPI.COMM_TYPE_SHARED)
    note(host.allgather(rank))
    again = comm.Dup()
    note(again.bcast(rank, root=size - 1))
    again.Free()
    group = comm.Get_group().Incl([size - 1, 0, size // 2])
    few = comm.Create(group)
    note(few.allgather((few.rank, rank)) if few else None)
    for turn in range(2):
        if rank in (0, size // 2, size - 1):
            made = comm.Create_group(group, tag=3)
            note(made.allreduce(rank + turn))
            made.Free()


def topologies(comm, note):
    rank, size = comm.rank, comm.size
    right, left, far = (rank + 1) % size, (rank - 1) % size, (rank + size // 2) % size
    grid = comm.Create_cart([2, size // 2], [True, False])
    if grid:
        note(grid.Get_coords(grid.rank))
        note(grid.neighbor_allgather(("edge", rank)))
        row = grid.Sub([False, True])
        note(row.allgather(rank))
    graph = comm.Create_dist_graph_adjacent([left, far], [right, far])
    note(graph.neighbor_allgather(f"rank {rank}"))
    note(graph.neighbor_alltoall([("to right", rank), ("to far", rank)]))
    note(MPI.COMM_SELF.allreduce(rank))
    note(MPI.COMM_WORLD.Dup().allreduce(comm.Wtime()))


def main(comm):
    got = []

    def note(value):
        got.append(value)
        content = value.tobytes() if isinstance(value, np.ndarray) else repr(value)
        comm.compute(seconds=1e-9 * (hashlib.sha256(pickle.dumps(content)).digest()[0] + 1))

    for part in (point_to_point, collectives, buffers, communicators, topologies):
        part(comm, note)
    print("rank", comm.rank, f"{comm.Wtime():.9f}", hashlib.sha256(repr(got).encode()).hexdigest()[:16])
