"""Phases that make communicators, and those that use intercommunicators."""

from __future__ import annotations

from .model import Communicator, Phase, World


def make(world: World) -> Phase:
    """A new communicator of the ranks of an old one, which later phases may choose."""
    parent = world.any_communicator()
    number = max(one.number for one in world.communicators) + 1
    kind = world.random.choice(("dup", "split", "create", "create_group", "cart", "idup", "split_key"))
    code, members = _KINDS[kind](world, parent, f"comms[{number}]")
    groups = members if isinstance(members[0], tuple) else [members]
    # Of several new groups the program goes on with one; the others are freed at its end.
    chosen = world.random.choice(groups)
    if len(chosen) > 0:
        world.communicators.append(Communicator(number, tuple(chosen)))
    body = (f"if (place({parent.number}) >= 0) {{", *(f"  {line}" for line in code), "}")
    others = f"if (place({number}) >= 0 && !({_is_one_of(chosen)})) MPI_Comm_free(&comms[{number}]);"
    proof = f'if (place({number}) >= 0) note("comm {number}", mixed(place({number}), rank));'
    return Phase(
        f"communicator {number}: {kind} of {parent.number}",
        (*body, others, proof),
        needs=frozenset({parent.number}),
        makes=frozenset({number}),
    )


def _is_one_of(ranks: tuple[int, ...]) -> str:
    return " || ".join(f"rank == {rank}" for rank in ranks) or "0"


def _dup(world: World, parent: Communicator, new: str):
    return [f"MPI_Comm_dup({parent}, &{new});"], parent.members


def _idup(world: World, parent: Communicator, new: str):
    wait = "MPI_Request request; MPI_Comm_idup({0}, &{1}, &request); MPI_Wait(&request, MPI_STATUS_IGNORE);"
    return [wait.format(parent, new)], parent.members


def _split(world: World, parent: Communicator, new: str):
    parts = world.random.randint(1, 2)
    groups = [tuple(parent.members[at::parts]) for at in range(parts) if parent.members[at::parts]]
    return [f"MPI_Comm_split({parent}, place({parent.number}) % {parts}, rank, &{new});"], _sorted(groups)


def _split_key(world: World, parent: Communicator, new: str):
    code = f"MPI_Comm_split({parent}, 0, -place({parent.number}), &{new});"
    return [code], tuple(reversed(parent.members))


def _chosen(world: World, parent: Communicator) -> list[int]:
    return world.random.sample(range(parent.size), world.random.randint(1, parent.size))


def _group(parent: Communicator, places: list[int]) -> str:
    list_of = ", ".join(map(str, places))
    return (
        f"MPI_Group all, some; MPI_Comm_group({parent}, &all); "
        f"MPI_Group_incl(all, {len(places)}, (int[]){{{list_of}}}, &some);"
    )


def _create(world: World, parent: Communicator, new: str):
    places = _chosen(world, parent)
    code = [_group(parent, places), f"MPI_Comm_create({parent}, some, &{new});"]
    return [*code, "MPI_Group_free(&all); MPI_Group_free(&some);"], _members(parent, places)


def _create_group(world: World, parent: Communicator, new: str):
    places = _chosen(world, parent)
    inside = " || ".join(f"place({parent.number}) == {at}" for at in places)
    code = [
        _group(parent, places),
        f"if ({inside}) MPI_Comm_create_group({parent}, some, {world.random.randrange(9)}, &{new});",
    ]
    return [*code, "MPI_Group_free(&all); MPI_Group_free(&some);"], _members(parent, places)


def _cart(world: World, parent: Communicator, new: str):
    size = parent.size
    rows = world.random.choice([rows for rows in range(1, size + 1) if size % rows == 0])
    periods = [world.random.randrange(2) for _ in range(2)]
    code = (
        f"MPI_Cart_create({parent}, 2, (int[]){{{rows}, {size // rows}}}, (int[]){{{periods[0]}, {periods[1]}}}, "
        f"0, &{new});"
    )
    return [code], parent.members


def _members(parent: Communicator, places: list[int]) -> tuple[int, ...]:
    return tuple(parent.members[at] for at in places)


def _sorted(groups: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    return [tuple(sorted(group)) for group in groups]


_KINDS = {
    "dup": _dup,
    "idup": _idup,
    "split": _split,
    "split_key": _split_key,
    "create": _create,
    "create_group": _create_group,
    "cart": _cart,
}


def between_groups(world: World) -> Phase:
    """Messages and collectives between the two halves of a communicator, which are then merged."""
    random = world.random
    parent = world.any_communicator(2)
    cut = random.randint(1, parent.size - 1)
    count, key, tag = random.randint(1, 300), world.key(), random.randrange(100)
    at = f"place({parent.number})"
    root = random.randrange(cut)
    head = (
        f"if ({at} >= 0) {{",
        f"  int high = {at} >= {cut}, mine, theirs;",
        "  MPI_Comm half, inter, whole;",
        f"  MPI_Comm_split({parent}, high, 0, &half);",
        f"  MPI_Intercomm_create(half, 0, {parent}, high ? 0 : {cut}, {tag}, &inter);",
        "  MPI_Comm_rank(inter, &mine); MPI_Comm_remote_size(inter, &theirs);",
        f"  int root = mine == {root} ? MPI_ROOT : MPI_PROC_NULL;",
    )
    buffers = f"  int *out = numbers({count} * (theirs + 8), {key} + {at}), *in = numbers({count} * (theirs + 8), 5);"
    calls = {
        "barrier": "MPI_Barrier(inter);",
        "broadcast": f"MPI_Bcast(high ? in : out, {count}, MPI_INT, high ? {root} : root, inter);",
        "gather": f"MPI_Gather(out, {count}, MPI_INT, in, {count}, MPI_INT, high ? {root} : root, inter);",
        "scatter": f"MPI_Scatter(out, {count}, MPI_INT, in, {count}, MPI_INT, high ? {root} : root, inter);",
        "allgather": f"MPI_Allgather(out, {count}, MPI_INT, in, {count}, MPI_INT, inter);",
        "alltoall": f"MPI_Alltoall(out, {count}, MPI_INT, in, {count}, MPI_INT, inter);",
        "reduce": f"MPI_Reduce(out, in, {count}, MPI_INT, MPI_SUM, high ? {root} : root, inter);",
        "allreduce": f"MPI_Allreduce(out, in, {count}, MPI_INT, MPI_MAX, inter);",
        "messages": f"if (high) MPI_Send(out, {count}, MPI_INT, mine % {cut}, {tag}, inter); else "
        f"for (int from = mine; from < theirs; from += {cut}) {{ MPI_Status s; "
        f"MPI_Recv(in, {count}, MPI_INT, from, {tag}, inter, &s); "
        'note("between", mixed(of_status(&s, MPI_INT), (int64_t)digest(in, 4))); }',
    }
    names = random.sample(sorted(calls), random.randint(1, 4))
    told = f'note("in", digest(in, sizeof(int) * {count} * (size_t)(theirs + 8)));'
    parts = tuple((f"  {calls[name]}", f"  {told}") for name in names)
    tail = (
        "  MPI_Intercomm_merge(inter, high, &whole);",
        '  int at; MPI_Comm_rank(whole, &at); note("merged", (uint64_t)at);',
        "  MPI_Comm_free(&whole); MPI_Comm_free(&inter); MPI_Comm_free(&half);",
        "}",
    )
    title = f"between groups of {parent.number}: {', '.join(names)}"
    return Phase(title, (*head, buffers), tail, parts, frozenset({parent.number}))
