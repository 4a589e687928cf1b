"""Phases of wrong calls, whose error classes the standard names."""

from __future__ import annotations

from .model import Phase, World

WRONG = {
    "rank": "MPI_Send(data, 1, MPI_INT, 1000, 0, own)",
    "tag": "MPI_Send(data, 1, MPI_INT, 0, -77, own)",
    "count": "MPI_Send(data, -1, MPI_INT, 0, 0, own)",
    "type": "MPI_Send(data, 1, MPI_DATATYPE_NULL, 0, 0, own)",
    "root": "MPI_Bcast(data, 1, MPI_INT, 99, own)",
    "operation": "MPI_Allreduce(data, more, 1, MPI_DOUBLE, MPI_BXOR, own)",
    "source": "MPI_Irecv(data, 1, MPI_INT, 1000, 0, own, &request)",
    "no such file": 'MPI_File_open(MPI_COMM_SELF, "no/such/folder/file", MPI_MODE_RDONLY, MPI_INFO_NULL, &file)',
    "topology": "MPI_Cart_coords(own, 0, 1, data)",
}


def wrong_calls(world: World) -> Phase:
    """Calls with one wrong argument each, on a communicator of one rank that returns errors."""
    names = world.random.sample(sorted(WRONG), world.random.randint(1, 4))
    head = (
        "MPI_Comm own; int data[4] = {1, 2, 3, 4}, more[4]; MPI_Request request; MPI_File file;",
        "(void)data; (void)more; (void)request; (void)file;",
        "MPI_Comm_dup(MPI_COMM_SELF, &own); MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);",
    )
    parts = tuple((f'note("wrong {name}", class_of({WRONG[name]}));',) for name in names)
    return Phase("wrong calls", head, ("MPI_Comm_free(&own);",), parts)


def truncation(world: World) -> Phase:
    """A message that is longer than its receive, blocking or not."""
    sent = world.random.choice((2, 100, 30_000))
    room = world.random.randrange(sent)
    receive = world.random.choice(
        (
            f"code = MPI_Recv(in, {room}, MPI_INT, 0, 4, own, &s);",
            f"MPI_Request r; MPI_Irecv(in, {room}, MPI_INT, 0, 4, own, &r); code = MPI_Wait(&r, &s);",
        )
    )
    head = (
        "MPI_Comm own; MPI_Comm_dup(MPI_COMM_SELF, &own); MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);",
        f"int *out = numbers({sent}, {world.key()}), *in = numbers({sent}, 2), code; MPI_Status s; MPI_Request q;",
        f"MPI_Isend(out, {sent}, MPI_INT, 0, 4, own, &q);",
        "MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* of requests without a communicator */",
        "MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);",
        f"{receive} MPI_Wait(&q, MPI_STATUS_IGNORE);",
        "MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);",
        f'note("truncated", class_of(code)); note("kept", digest(in + {room}, sizeof(int) * {sent - room}));',
        "MPI_Comm_free(&own);",
    )
    return Phase("truncation", head)
