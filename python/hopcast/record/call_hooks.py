# ruff: noqa: E501 - a table of lines of C
"""Lines of C that tell the recorder about a call, for each function of MPI; `$1` is its first argument.

The order of the arguments is the standard's, so the lines hold for every library. They call the functions of calls.c.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CallHook:
    """Statements of a wrapper: C before the call, and after it, if the function succeeded. `status` (or `statuses`, of
    `$1` requests) is the argument that the library writes to, which is looked at even where the program ignores it;
    `agree` is what all members of a communicator do together after the call, and `found` whether a test or probe found
    anything: if it did not, it is only counted. `stands` is the message that the call itself waits for or sends: peer,
    tag and communicator."""

    after: str
    before: str = ""
    status: int = 0
    statuses: int = 0
    agree: str = ""
    found: str = ""
    stands: str = ""


def _sends() -> dict[str, CallHook]:
    hooks = {}
    for mode, name in enumerate(("Send", "Bsend", "Ssend", "Rsend")):
        line = f"seen_send(call, $2, $3, $4, $5, $6, {mode}, "
        hooks[name] = CallHook(line + "NONE, NULL);", stands="$4, $5, $6")
        hooks[f"I{name.lower()}"] = CallHook(line + "ACTIVE, $7);")
        hooks[f"{name}_init"] = CallHook(line + "PERSISTENT, $7);")
    return hooks


def _receives() -> dict[str, CallHook]:
    line = "seen_receive(call, $2, $3, $4, $5, $6, "
    send, receive = "message($2, $3, $4, $5, ", "message($7, $8, $9, $10, "
    return {
        "Recv": CallHook(line + "NONE, NULL, $7);", status=7, stands="$4, $5, $6"),
        "Irecv": CallHook(line + "ACTIVE, $7, NULL);"),
        "Recv_init": CallHook(line + "PERSISTENT, $7, NULL);"),
        "Sendrecv": CallHook(
            f"seen_send_receive(call, {send}$11), {receive}$11), $12);", status=12, stands="$9, $10, $11"
        ),
        "Sendrecv_replace": CallHook(
            "seen_send_receive(call, message($2, $3, $4, $5, $8), message($2, $3, $6, $7, $8), $9);",
            status=9,
            stands="$6, $7, $8",
        ),
        "Probe": CallHook("seen_probe(call, $1, $2, $3, $4);", status=4, stands="$1, $2, $3"),
        "Iprobe": CallHook("seen_probe(call, $1, $2, $3, $5);", status=5, found="*$4"),
        "Mprobe": CallHook("seen_mprobe(call, $1, $2, $3, *$4, $5);", status=5, stands="$1, $2, $3"),
        "Improbe": CallHook("seen_mprobe(call, $1, $2, $3, *$5, $6);", status=6, found="*$4"),
        "Mrecv": CallHook("seen_mrecv(call, $2, $3, key, NONE, NULL);", "uintptr_t key = KEY(*$4);"),
        "Imrecv": CallHook("seen_mrecv(call, $2, $3, key, ACTIVE, $5);", "uintptr_t key = KEY(*$4);"),
    }


def _completions() -> dict[str, CallHook]:
    one, all_of = (
        "uintptr_t key = KEY(*$1);",
        "uintptr_t few[FEW], *keys = seen ? keys_of($1, $2, few) : NULL;",
    )
    overhead = "else hct_overhead(call);"
    return {
        "Wait": CallHook("seen_complete(call, &key, 1, NULL, $2);", one, status=2),
        "Test": CallHook("seen_complete(call, &key, 1, NULL, $3);", one, status=3, found="*$2"),
        "Waitall": CallHook("seen_complete(call, keys, $1, NULL, $3);", all_of, statuses=3),
        "Testall": CallHook("seen_complete(call, keys, $1, NULL, $4);", all_of, statuses=4, found="*$3"),
        "Waitany": CallHook(
            f"if (*$3 != MPI_UNDEFINED) seen_complete(call, keys, 1, $3, $4); {overhead}", all_of, status=4
        ),
        "Testany": CallHook(
            f"if (*$3 != MPI_UNDEFINED) seen_complete(call, keys, 1, $3, $5); {overhead}",
            all_of,
            status=5,
            found="*$4",
        ),
        "Waitsome": CallHook(
            f"if (*$3 > 0) seen_complete(call, keys, *$3, $4, $5); {overhead}", all_of, statuses=5
        ),
        "Testsome": CallHook(
            f"if (*$3 > 0) seen_complete(call, keys, *$3, $4, $5); {overhead}",
            all_of,
            statuses=5,
            found="*$3 != 0",
        ),
        "Start": CallHook("seen_requests(call, 0, 1, &key);", one),
        "Startall": CallHook("seen_requests(call, 0, $1, keys);", all_of),
        "Cancel": CallHook("seen_requests(call, 1, 1, &key);", one),
        "Request_free": CallHook("seen_requests(call, 2, 1, &key);", one),
    }


def _communicators() -> dict[str, CallHook]:
    made = "seen_new_comm(call, $1, *{new}, {how}, {key}, 0, NULL, 0, NULL);"
    ordered = "ordered = all_agree($1, in_order($1, *{new}));"
    number = "uint32_t number = seen ? comm_number(*$1) : 0;"
    freed = "seen_free_comm(call, number);"
    graph = "seen_graph(call, $1, ordered, *{new});"
    return {
        "Comm_dup": CallHook(made.format(new="$2", how="COPY", key=0)),
        "Comm_dup_with_info": CallHook(made.format(new="$3", how="COPY", key=0)),
        "Comm_idup": CallHook("seen_idup(call, $1, $2, $3);"),
        "Comm_idup_with_info": CallHook("seen_idup(call, $1, $3, $4);"),
        "Comm_split": CallHook(made.format(new="$4", how="PART", key=0)),
        "Comm_split_type": CallHook(made.format(new="$5", how="PART", key=0)),
        "Comm_create": CallHook(made.format(new="$3", how="PART", key=0)),
        "Comm_create_group": CallHook(
            "MPI_Group parent; PMPI_Comm_group($1, &parent); int count, *members = ranks_in($2, parent, &count);"
            " PMPI_Group_free(&parent);"
            " seen_new_comm(call, $1, *$4, ALONE, $3, count, members, 0, NULL); free(members);"
        ),
        "Intercomm_create": CallHook(made.format(new="$6", how="TWO_GROUPS", key="$5")),
        "Intercomm_merge": CallHook(
            "int count, *first = members_of(*$3, 0, MPI_COMM_WORLD, &count), mine,"
            " *local = members_of($1, 0, MPI_COMM_WORLD, &mine), last = 1;"
            " for (int at = 0; at < mine; at++) last &= local[at] != first[0];"
            " free(first); free(local); seen_new_comm(call, $1, *$3, ONE_OF_TWO, last, 0, NULL, 0, NULL);"
        ),
        "Cart_create": CallHook(
            "seen_grid(call, $1, $2, $3, $4, ordered, *$6);",
            "int ordered = 0;",
            agree=ordered.format(new="$6"),
        ),
        "Cart_sub": CallHook(
            "int count; PMPI_Cartdim_get($1, &count);"
            " seen_new_comm(call, $1, *$3, PART_OF_GRID, 0, count, $2, 0, NULL);"
        ),
        "Graph_create": CallHook(graph.format(new="$6"), "int ordered = 0;", agree=ordered.format(new="$6")),
        "Dist_graph_create": CallHook(
            graph.format(new="$9"), "int ordered = 0;", agree=ordered.format(new="$9")
        ),
        "Dist_graph_create_adjacent": CallHook(
            graph.format(new="$10"), "int ordered = 0;", agree=ordered.format(new="$10")
        ),
        "Comm_free": CallHook(freed, number),
        "Comm_disconnect": CallHook(freed, number),
    }


def _accesses() -> dict[str, CallHook]:
    there, back = "bytes_of($2, $3)", "bytes_of($5, $6)"
    put, get = (
        CallHook(f"seen_access(call, $4, {there}, 0);"),
        CallHook(f"seen_access(call, $4, 0, {there});"),
    )
    both = CallHook(f"seen_access(call, $7, {there}, {back});")
    return {
        "Put": put,
        "Rput": put,
        "Get": get,
        "Rget": get,
        "Accumulate": put,
        "Raccumulate": put,
        "Get_accumulate": both,
        "Rget_accumulate": both,
        "Fetch_and_op": CallHook("seen_access(call, $4, bytes_of(1, $3), bytes_of(1, $3));"),
        "Compare_and_swap": CallHook("seen_access(call, $5, 2 * bytes_of(1, $4), bytes_of(1, $4));"),
    }


_NONE = "(struct counts){NULL, 0}"
_NO_TYPE = "MPI_DATATYPE_NULL"


def _equal(kind: str, count: str, type_: str, comm: str, root: str = "0", op: str = "MPI_OP_NULL") -> str:
    return f'seen_equal(call, "{kind}", {comm}, {root}, {count}, {type_}, {op}, @);'


def _by_rank(
    kind: str,
    counts: str,
    type_: str,
    comm: str,
    root: str = "0",
    own: str = f"0, {_NO_TYPE}",
    op: str = "MPI_OP_NULL",
) -> str:
    return f'seen_by_rank(call, "{kind}", {comm}, {root}, {counts}, {type_}, {own}, {op}, @);'


def _counts(argument: int) -> str:
    return f"(struct counts){{${argument}, sizeof *${argument} > sizeof(int)}}"


def _rooted(line: str, comm: str, root: str) -> str:
    """A collective with a root, where this rank has to know whether it is the root."""
    return f"int own; PMPI_Comm_rank({comm}, &own); int at_root = own == {root}; (void)at_root; {line}"


def _at_root(line: str, otherwise: str) -> str:
    return f"if (at_root) {line} else {otherwise}"


_ALL = {
    "Barrier": (1, _equal("barrier", "0", "MPI_BYTE", "$1")),
    "Bcast": (5, _equal("bcast", "$2", "$3", "$5", "$4")),
    "Reduce": (7, _equal("reduce", "$3", "$4", "$7", "$6", "$5")),
    "Allreduce": (6, _equal("allreduce", "$3", "$4", "$6", op="$5")),
    "Scan": (6, _equal("scan", "$3", "$4", "$6", op="$5")),
    "Exscan": (6, _equal("exscan", "$3", "$4", "$6", op="$5")),
    "Reduce_scatter_block": (6, _equal("reduce_scatter_block", "$3", "$4", "$6", op="$5")),
    "Reduce_scatter": (6, _by_rank("reduce_scatter", _counts(3), "$4", "$6", op="$5")),
    "Gather": (8, _rooted(_equal("gather", "at_root ? $5 : $2", "at_root ? $6 : $3", "$8", "$7"), "$8", "$7")),
    "Scatter": (8, _rooted(_equal("scatter", "at_root ? $2 : $5", "at_root ? $3 : $6", "$8", "$7"), "$8", "$7")),
    "Gatherv": (9, _rooted(_at_root(_by_rank("gatherv", _counts(5), "$7", "$9", "$8"), _by_rank("gatherv", _NONE, _NO_TYPE, "$9", "$8", "$2, $3")), "$9", "$8")),
    "Scatterv": (9, _rooted(_at_root(_by_rank("scatterv", _counts(2), "$4", "$9", "$8"), _by_rank("scatterv", _NONE, _NO_TYPE, "$9", "$8", "$6, $7")), "$9", "$8")),
    "Allgather": (7, _equal("allgather", "$5", "$6", "$7")),
    "Allgatherv": (8, _by_rank("allgatherv", _counts(5), "$7", "$8")),
    "Alltoall": (7, _equal("alltoall", "$5", "$6", "$7")),
    "Alltoallv": (9, f'seen_to_each(call, "alltoallv", $9, $1 == MPI_IN_PLACE, {_counts(2)}, &$4, {_counts(6)}, &$8, 0, @);'),
    "Alltoallw": (9, f'seen_to_each(call, "alltoallw", $9, $1 == MPI_IN_PLACE, {_counts(2)}, $4, {_counts(6)}, $8, 1, @);'),
    "Neighbor_allgather": (7, _equal("neighbor_allgather", "$5", "$6", "$7")),
    "Neighbor_alltoall": (7, _equal("neighbor_alltoall", "$5", "$6", "$7")),
    "Neighbor_allgatherv": (8, f'seen_gather_neighbours(call, "neighbor_allgatherv", $8, $2, $3, {_counts(5)}, $7, @);'),
    "Neighbor_alltoallv": (9, f'seen_to_neighbours(call, "neighbor_alltoallv", $9, {_counts(2)}, &$4, {_counts(6)}, &$8, 0, @);'),
    "Neighbor_alltoallw": (9, f'seen_to_neighbours(call, "neighbor_alltoallw", $9, {_counts(2)}, $4, {_counts(6)}, $8, 1, @);'),
}  # fmt: skip
"""Blocking collectives, each with its number of arguments and the hook after it: the non-blocking one has a request after
them, the persistent one an info and a request. `@` stands for the request."""


def _collectives() -> dict[str, CallHook]:
    hooks = {}
    for name, (count, line) in _ALL.items():
        hooks[name] = CallHook(line.replace("@", "NONE, NULL"))
        hooks[f"I{name.lower()}"] = CallHook(line.replace("@", f"ACTIVE, ${count + 1}"))
        hooks[f"{name}_init"] = CallHook(line.replace("@", f"PERSISTENT, ${count + 2}"))
    return hooks


CALL_HOOKS = _sends() | _receives() | _completions() | _communicators() | _accesses() | _collectives()
"""By the function's name without MPI_; a function for large counts (NAME_c) is told as its NAME."""
