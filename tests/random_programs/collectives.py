"""Phases of collective operations: blocking, nonblocking and persistent, within one group."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .model import Phase, World

OPERATIONS = ("MPI_SUM", "MPI_MAX", "MPI_MIN", "MPI_BXOR", "MPI_LAND", "MPI_PROD_MATRIX")


@dataclass(frozen=True)
class Call:
    """A collective: its name, its arguments but for the communicator, and the sizes of its buffers [ints]."""

    name: str
    arguments: str
    out: int
    into: int
    code: tuple[str, ...] = ()


def collective(world: World) -> Phase:
    """Some collectives of one communicator, one after the other."""
    comm = world.any_communicator()
    parts = []
    for _ in range(world.random.randint(1, 4)):
        build = world.random.choice(CALLS)
        parts.append(tuple(_part(world, str(comm), f"place({comm.number})", build(world, comm.size))))
    head = (f"if (place({comm.number}) >= 0) {{", f"int at = place({comm.number}); (void)at;")
    return Phase(f"collectives of {comm.number}", head, ("}",), tuple(parts), frozenset({comm.number}))


def overlapping(world: World) -> Phase:
    """Several nonblocking collectives of one communicator under way at once."""
    comm = world.any_communicator()
    way = world.random.choice(
        ("WAIT", "WAITALL", "WAITANY", "WAITSOME", "TEST", "TESTALL", "TESTANY", "TESTSOME")
    )
    calls = [world.random.choice(CALLS)(world, comm.size) for _ in range(world.random.randint(2, 4))]
    lines = [
        f"int at = place({comm.number}); (void)at; MPI_Request r[{len(calls)}]; MPI_Status s[{len(calls)}];"
    ]
    notes, freed = [], []
    for number, call in enumerate(calls):
        lines += _buffers(call, f"out{number}", f"in{number}", world.key())
        arguments = _named(call.arguments, f"out{number}", f"in{number}")
        # Arrays of counts live until the operation is complete.
        lines += [line.replace("NUMBER", str(number)) for line in call.code]
        arguments = arguments.replace("NUMBER", str(number))
        separator = ", " if arguments else ""
        lines.append(f"MPI_I{call.name.lower()}({arguments}{separator}{comm}, &r[{number}]);")
        seen = "if (at > 0) " if call.name == "Exscan" else ""
        notes.append(f'{seen}note("overlapped {call.name}", digest(in{number}, sizeof(int) * {call.into}));')
        freed += [_freed(call, number)]
    lines += [f"complete({way}, {len(calls)}, r, s);", *notes, *(line for line in freed if line)]
    head = (f"if (place({comm.number}) >= 0) {{",)
    title = f"overlapping collectives of {comm.number}, {way}"
    return Phase(title, head, ("}",), (tuple(lines),), frozenset({comm.number}))


def _named(arguments: str, out: str, into: str) -> str:
    return re.sub(r"\bIN\b", into, re.sub(r"\bOUT\b", out, arguments))


def _freed(call: Call, number: int | str) -> str:
    if "matrixNUMBER" not in " ".join(call.code):
        return ""
    return f"MPI_Op_free(&op{number}); MPI_Type_free(&matrix{number});"


def _buffers(call: Call, out: str, into: str, key: int) -> list[str]:
    return [f"int *{out} = numbers({call.out}, {key} + at), *{into} = numbers({call.into}, 11 + at);"]


def _part(world: World, comm: str, at: str, call: Call) -> list[str]:
    form = world.random.choice(("blocking", "blocking", "nonblocking", "persistent"))
    arguments = _named(call.arguments, "out", "in").replace("NUMBER", "")
    separator = ", " if arguments else ""
    code = [line.replace("NUMBER", "") for line in call.code]
    if form == "blocking":
        calls = [f"MPI_{call.name}({arguments}{separator}{comm});"]
    elif form == "nonblocking":
        calls = [
            f"MPI_Request r; MPI_I{call.name.lower()}({arguments}{separator}{comm}, &r);",
            "MPI_Wait(&r, MPI_STATUS_IGNORE);",
        ]
    else:
        calls = [
            f"MPI_Request r; MPI_{call.name}_init({arguments}{separator}{comm}, MPI_INFO_NULL, &r);",
            "MPI_Start(&r); MPI_Wait(&r, MPI_STATUS_IGNORE);",
            "MPI_Request_free(&r);",
        ]
    told = f'note("{form} {call.name}", digest(in, sizeof(int) * {call.into}));'
    if call.name == "Exscan":
        told = f"if (at > 0) {told}"  # undefined on the first rank
    freed = _freed(call, "")
    body = [*_buffers(call, "out", "in", world.key()), *code, *calls, told, *([freed] if freed else [])]
    return ["{", *(f"  {line}" for line in body), "}"]


def _count(world: World) -> int:
    return world.random.choice((0, 1, 3, 50, 700, 9_000))


def _array(name: str, values: list[int]) -> str:
    return f"int {name}NUMBER[] = {{{', '.join(map(str, values))}}};"


def _counts(world: World, size: int) -> tuple[list[int], list[int], int]:
    """Counts by rank, displacements with gaps and in any order, and the room that they take."""
    counts = [world.random.choice((0, 1, 5, 200)) for _ in range(size)]
    starts, end = [0] * size, 0
    for rank in world.random.sample(range(size), size):
        starts[rank] = end
        end += counts[rank] + world.random.randrange(3)
    return counts, starts, max(end, 1)


def _operation(world: World) -> tuple[tuple[str, ...], str, str, int]:
    """Statements, datatype, operation and ints for each item of a reduction."""
    name = world.random.choice(OPERATIONS)
    if name != "MPI_PROD_MATRIX":
        return (), "MPI_INT", name, 1
    code = (
        "MPI_Datatype matrixNUMBER; MPI_Type_contiguous(4, MPI_INT, &matrixNUMBER);",
        "MPI_Type_commit(&matrixNUMBER); MPI_Op opNUMBER; MPI_Op_create(product, 0, &opNUMBER);",
    )
    return code, "matrixNUMBER", "opNUMBER", 4


def _barrier(world: World, size: int) -> Call:
    return Call("Barrier", "", 1, 1)


def _bcast(world: World, size: int) -> Call:
    count = _count(world)
    return Call("Bcast", f"IN, {count}, MPI_INT, {world.random.randrange(size)}", 1, max(1, count))


def _gather(world: World, size: int) -> Call:
    count, root = _count(world), world.random.randrange(size)
    send = "OUT"
    if world.random.random() < 0.3:
        send = f"at == {root} ? MPI_IN_PLACE : OUT"
    arguments = f"{send}, {count}, MPI_INT, IN, {count}, MPI_INT, {root}"
    return Call("Gather", arguments, count, max(1, count * size))


def _scatter(world: World, size: int) -> Call:
    count, root = _count(world), world.random.randrange(size)
    arguments = f"OUT, {count}, MPI_INT, IN, {count}, MPI_INT, {root}"
    return Call("Scatter", arguments, count * size, max(1, count))


def _gatherv(world: World, size: int) -> Call:
    counts, starts, room = _counts(world, size)
    root = world.random.randrange(size)
    code = (_array("counts", counts), _array("starts", starts))
    arguments = f"OUT, countsNUMBER[at], MPI_INT, IN, countsNUMBER, startsNUMBER, MPI_INT, {root}"
    return Call("Gatherv", arguments, max(counts) + 1, room, code)


def _scatterv(world: World, size: int) -> Call:
    counts, starts, room = _counts(world, size)
    root = world.random.randrange(size)
    code = (_array("counts", counts), _array("starts", starts))
    arguments = f"OUT, countsNUMBER, startsNUMBER, MPI_INT, IN, countsNUMBER[at], MPI_INT, {root}"
    return Call("Scatterv", arguments, room, max(counts) + 1, code)


def _allgather(world: World, size: int) -> Call:
    count = _count(world)
    send = world.random.choice((f"OUT, {count}, MPI_INT", "MPI_IN_PLACE, 0, MPI_DATATYPE_NULL"))
    return Call("Allgather", f"{send}, IN, {count}, MPI_INT", count, max(1, count * size))


def _allgatherv(world: World, size: int) -> Call:
    counts, starts, room = _counts(world, size)
    code = (_array("counts", counts), _array("starts", starts))
    arguments = "OUT, countsNUMBER[at], MPI_INT, IN, countsNUMBER, startsNUMBER, MPI_INT"
    return Call("Allgatherv", arguments, max(counts) + 1, room, code)


def _alltoall(world: World, size: int) -> Call:
    count = _count(world)
    send = world.random.choice((f"OUT, {count}, MPI_INT", "MPI_IN_PLACE, 0, MPI_DATATYPE_NULL"))
    return Call("Alltoall", f"{send}, IN, {count}, MPI_INT", count * size, max(1, count * size))


def _alltoallv(world: World, size: int) -> Call:
    # Rank i sends c[i] + c[j] items to rank j and receives as many: a table that all ranks know.
    counts = [world.random.choice((0, 1, 4, 60)) for _ in range(size)]
    room = 2 * max(counts) + 1
    code = (
        _array("base", counts),
        f"int countsNUMBER[{size}], startsNUMBER[{size}];",
        f"for (int i = 0; i < {size}; i++) countsNUMBER[i] = baseNUMBER[at] + baseNUMBER[i], startsNUMBER[i] = i * {room};",
    )
    arguments = "OUT, countsNUMBER, startsNUMBER, MPI_INT, IN, countsNUMBER, startsNUMBER, MPI_INT"
    return Call("Alltoallv", arguments, room * size, room * size, code)


def _alltoallw(world: World, size: int) -> Call:
    call = _alltoallv(world, size)
    code = (
        *call.code,
        f"MPI_Datatype typesNUMBER[{size}]; for (int i = 0; i < {size}; i++) typesNUMBER[i] = MPI_INT, startsNUMBER[i] *= 4;",
    )
    arguments = "OUT, countsNUMBER, startsNUMBER, typesNUMBER, IN, countsNUMBER, startsNUMBER, typesNUMBER"
    return Call("Alltoallw", arguments, call.out, call.into, code)


def _reduce(world: World, size: int) -> Call:
    code, kind, operation, width = _operation(world)
    count, root = _count(world), world.random.randrange(size)
    arguments = f"OUT, IN, {count}, {kind}, {operation}, {root}"
    return Call("Reduce", arguments, count * width, max(1, count * width), code)


def _allreduce(world: World, size: int) -> Call:
    code, kind, operation, width = _operation(world)
    count = _count(world)
    send = world.random.choice(("OUT", "MPI_IN_PLACE"))
    return Call(
        "Allreduce", f"{send}, IN, {count}, {kind}, {operation}", count * width, max(1, count * width), code
    )


def _scan(world: World, size: int) -> Call:
    call = _allreduce(world, size)
    return Call(world.random.choice(("Scan", "Exscan")), call.arguments, call.out, call.into, call.code)


def _reduce_scatter_block(world: World, size: int) -> Call:
    code, kind, operation, width = _operation(world)
    count = _count(world)
    arguments = f"OUT, IN, {count}, {kind}, {operation}"
    return Call("Reduce_scatter_block", arguments, count * width * size, max(1, count * width), code)


def _reduce_scatter(world: World, size: int) -> Call:
    code, kind, operation, width = _operation(world)
    counts = [world.random.choice((0, 1, 5, 200)) for _ in range(size)]
    code = (*code, _array("counts", counts))
    arguments = f"OUT, IN, countsNUMBER, {kind}, {operation}"
    return Call("Reduce_scatter", arguments, sum(counts) * width + 1, (max(counts) + 1) * width, code)


CALLS = (
    _barrier,
    _bcast,
    _gather,
    _scatter,
    _gatherv,
    _scatterv,
    _allgather,
    _allgatherv,
    _alltoall,
    _alltoallv,
    _alltoallw,
    _reduce,
    _allreduce,
    _scan,
    _reduce_scatter_block,
    _reduce_scatter,
)


def neighbors(world: World) -> Phase:
    """Neighbourhood collectives on a ring that is a Cartesian grid or a graph.

    Of three ranks at least: of two, both neighbours are one, and libraries differ in which block is whose.
    """
    if world.ranks < 3:
        return collective(world)
    comm = world.any_communicator(3)
    count, key, size = world.random.randint(1, 300), world.key(), comm.size
    at = f"place({comm.number})"
    made = world.random.choice(
        (
            f"MPI_Cart_create({comm}, 1, (int[]){{{size}}}, (int[]){{{world.random.randrange(2)}}}, 0, &grid);",
            f"MPI_Dist_graph_create_adjacent({comm}, 2, (int[]){{({at} + {size - 1}) % {size}, ({at} + 1) % {size}}}, "
            f"MPI_UNWEIGHTED, 2, (int[]){{({at} + {size - 1}) % {size}, ({at} + 1) % {size}}}, MPI_UNWEIGHTED, "
            "MPI_INFO_NULL, 0, &grid);",
        )
    )
    sends = f"out, {count}, MPI_INT, in, {count}, MPI_INT, grid"
    parts = []
    for name in world.random.sample(("allgather", "alltoall"), world.random.randint(1, 2)):
        call = world.random.choice(
            (
                f"MPI_Neighbor_{name}({sends});",
                f"MPI_Request r; MPI_Ineighbor_{name}({sends}, &r); MPI_Wait(&r, MPI_STATUS_IGNORE);",
            )
        )
        parts.append(
            ("{", f"  {call}", f'  note("neighbor {name}", digest(in, sizeof(int) * {2 * count}));', "}")
        )
    head = (
        f"if ({at} >= 0) {{",
        f"MPI_Comm grid; {made}",
        f"int *out = numbers({2 * count}, {key} + {at}), *in = numbers({2 * count}, 4);",
    )
    return Phase(
        f"neighbors in {comm.number}",
        head,
        ("MPI_Comm_free(&grid);", "}"),
        tuple(parts),
        frozenset({comm.number}),
    )
