"""Phases that are written for any number of ranks, so that their recordings can be scaled to more."""

from __future__ import annotations

from .model import Phase, World
from .point_to_point import WAYS


def ring(world: World) -> Phase:
    """Messages to some next neighbours of a ring, in nonblocking calls."""
    random = world.random
    reach, count, way = random.randint(1, 2), random.choice((1, 100, 20_000)), random.choice(WAYS)
    lines = [
        f"MPI_Request r[{2 * reach}]; MPI_Status s[{2 * reach}];",
        f"for (int i = 0; i < {reach}; i++) {{",
        "  int to = (rank + i + 1) % size, from = (rank + size - i - 1) % size;",
        f"  MPI_Irecv(numbers({count}, 1), {count}, MPI_INT, from, i, MPI_COMM_WORLD, &r[i]);",
        f"  MPI_Isend(numbers({count}, rank), {count}, MPI_INT, to, i, MPI_COMM_WORLD, &r[{reach} + i]);",
        "}",
        f"complete({way}, {2 * reach}, r, s);",
    ]
    return Phase(f"ring of reach {reach}", tuple(lines))


def together(world: World) -> Phase:
    """A collective in which all ranks do the same, or the first is the root."""
    count = world.random.choice((1, 64, 5_000))
    calls = (
        f"MPI_Allreduce(out, in, {count}, MPI_INT, MPI_SUM, MPI_COMM_WORLD);",
        f"MPI_Bcast(out, {count}, MPI_INT, 0, MPI_COMM_WORLD);",
        f"MPI_Reduce(out, in, {count}, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);",
        "MPI_Barrier(MPI_COMM_WORLD);",
    )
    return Phase(
        "all together",
        (
            f"int *out = numbers({count}, rank), *in = numbers({count}, 2); (void)out; (void)in;",
            world.random.choice(calls),
        ),
    )


REGULAR = ((2, ring), (2, together))
