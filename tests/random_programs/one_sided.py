"""Phases of one-sided communication: windows, and three ways to synchronise."""

from __future__ import annotations

from .model import Communicator, Phase, World


def window(world: World) -> Phase:
    """A window of which each rank owns a part, used in some epochs of one kind."""
    random = world.random
    comm = world.any_communicator(2)
    size, slot = comm.size, random.choice((1, 8, 500))
    length = size * slot
    created = (
        f"int *mine = numbers({length}, at); MPI_Win_create(mine, sizeof(int) * {length}, sizeof(int), "
        f"MPI_INFO_NULL, {comm}, &win);"
    )
    allocated = (
        f"int *mine; MPI_Win_allocate(sizeof(int) * {length}, sizeof(int), MPI_INFO_NULL, {comm}, &mine, &win); "
        f"memcpy(mine, numbers({length}, at), sizeof(int) * {length});"
    )
    parts = tuple(
        tuple(random.choice((_fences, _locks, _all_locked, _posted))(world, comm, slot))
        for _ in range(random.randint(1, 3))
    )
    # On allocated windows MPICH 4.0 applies accumulates of one element at the wrong rank.
    single = slot == 1 or any("Fetch_and_op" in line for part in parts for line in part)
    head = (
        f"if (place({comm.number}) >= 0) {{",
        f"int at = place({comm.number}); MPI_Win win;",
        created if single else random.choice((created, allocated)),
        f"MPI_Barrier({comm});",
    )
    tail = (f"MPI_Barrier({comm});", "MPI_Win_free(&win);", "}")
    title = f"window of {comm.number}"
    return Phase(title, head, tail, parts, frozenset({comm.number}))


def _told(slot: int, comm: Communicator, what: str) -> str:
    return f'note("{what}", digest(mine, sizeof(int) * {slot * comm.size}));'


def _own_part(slot: int, comm: Communicator, what: str) -> list[str]:
    """A look at this rank's own part, when all have accessed it and before anybody goes on."""
    return [
        f"MPI_Barrier({comm});",
        "MPI_Win_lock(MPI_LOCK_SHARED, at, 0, win);",
        _told(slot, comm, what),
        "MPI_Win_unlock(at, win);",
        f"MPI_Barrier({comm});",
    ]


def _access(world: World, comm: Communicator, slot: int, target: str) -> list[str]:
    """An access of this rank to its own slot at a target, or one that commutes with those of others."""
    place, key = f"at * {slot}", world.key()
    out = f"numbers({slot}, {key} + at)"
    far = f"{slot}, MPI_INT, {target}, {place}, {slot}, MPI_INT"
    kinds = {
        "put": [f"MPI_Put({out}, {far}, win);"],
        "accumulate": [f"MPI_Accumulate({out}, {far}, MPI_SUM, win);"],
        "sum at all": [
            f"MPI_Accumulate({out}, {slot}, MPI_INT, {target}, 0, {slot}, MPI_INT, MPI_SUM, win);"
        ],
        "replace": [f"MPI_Accumulate({out}, {far}, MPI_REPLACE, win);"],
        "get_accumulate": [
            f"int *old = numbers({slot}, 1); MPI_Get_accumulate({out}, {slot}, MPI_INT, old, {far}, MPI_SUM, win);"
        ],
        "fetch": [
            f"static int one = 3, was; MPI_Fetch_and_op(&one, &was, MPI_INT, {target}, {place}, MPI_SUM, win);"
        ],
    }
    return ["{", *(f"  {line}" for line in kinds[world.random.choice(sorted(kinds))]), "}"]


def _target(world: World, comm: Communicator) -> str:
    return f"(at + {world.random.randrange(comm.size)}) % {comm.size}"


def _fences(world: World, comm: Communicator, slot: int) -> list[str]:
    lines = [
        "MPI_Win_fence(0, win);",
        *_access(world, comm, slot, _target(world, comm)),
        "MPI_Win_fence(0, win);",
    ]
    target = _target(world, comm)
    get = f"int *got = numbers({slot}, 2); MPI_Get(got, {slot}, MPI_INT, {target}, {slot} * at, {slot}, MPI_INT, win);"
    return [
        *lines,
        f"{{ {get}",
        f'  MPI_Win_fence(0, win); note("got", digest(got, sizeof(int) * {slot})); }}',
        "MPI_Win_fence(MPI_MODE_NOSUCCEED, win);",
        _told(slot, comm, "fenced"),
        f"MPI_Barrier({comm});",
    ]


def _locks(world: World, comm: Communicator, slot: int) -> list[str]:
    target = _target(world, comm)
    kind = world.random.choice(("MPI_LOCK_EXCLUSIVE", "MPI_LOCK_SHARED"))
    return [
        f"{{ int target = {target};",
        f"MPI_Win_lock({kind}, target, 0, win);",
        *_access(world, comm, slot, "target"),
        "MPI_Win_unlock(target, win); }",
        *_own_part(slot, comm, "locked"),
    ]


def _all_locked(world: World, comm: Communicator, slot: int) -> list[str]:
    target = _target(world, comm)
    flush = world.random.choice((f"MPI_Win_flush({target}, win);", "MPI_Win_flush_all(win);", ""))
    return [
        "MPI_Win_lock_all(0, win);",
        *_access(world, comm, slot, target),
        flush,
        "MPI_Win_unlock_all(win);",
        *_own_part(slot, comm, "all locked"),
    ]


def _posted(world: World, comm: Communicator, slot: int) -> list[str]:
    shift = world.random.randrange(1, comm.size)
    size = comm.size
    return [
        "{ MPI_Group all, to, from;",
        f"MPI_Comm_group({comm}, &all);",
        f"int next = (at + {shift}) % {size}, before = (at + {size - shift}) % {size};",
        "MPI_Group_incl(all, 1, &next, &to); MPI_Group_incl(all, 1, &before, &from);",
        "MPI_Win_post(from, 0, win); MPI_Win_start(to, 0, win);",
        *_access(world, comm, slot, "next"),
        "MPI_Win_complete(win); MPI_Win_wait(win);",
        _told(slot, comm, "posted"),
        f"MPI_Group_free(&all); MPI_Group_free(&to); MPI_Group_free(&from); MPI_Barrier({comm}); }}",
    ]
