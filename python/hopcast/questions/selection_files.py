"""Tables of choices as files that MPI libraries read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import groupby

from hopcast.questions import libraries
from hopcast.questions.libraries import Choice

# One algorithm of each collective that holds for all sizes and communicators, for those that were not tuned.
_INTRA = {
    "bcast": "Bcast_intra_binomial",
    "allreduce": "Allreduce_intra_recursive_doubling",
    "allgather": "Allgather_intra_ring",
    "allgatherv": "Allgatherv_intra_ring",
    "reduce": "Reduce_intra_binomial",
    "gather": "Gather_intra_binomial",
    "scatter": "Scatter_intra_binomial",
    "ibarrier": "Ibarrier_intra_sched_recursive_doubling",
    "ibcast": "Ibcast_intra_sched_binomial",
    "iallreduce": "Iallreduce_intra_sched_recursive_doubling",
    "iallgather": "Iallgather_intra_sched_ring",
    "iallgatherv": "Iallgatherv_intra_sched_ring",
    "ireduce": "Ireduce_intra_sched_binomial",
    "igather": "Igather_intra_sched_binomial",
    "iscatter": "Iscatter_intra_sched_binomial",
}
_COMMUTATIVE = {
    "reduce_scatter": ("Reduce_scatter_intra_pairwise", "Reduce_scatter_intra_recursive_doubling"),
    "reduce_scatter_block": (
        "Reduce_scatter_block_intra_pairwise",
        "Reduce_scatter_block_intra_recursive_doubling",
    ),
    "ireduce_scatter": (
        "Ireduce_scatter_intra_sched_pairwise",
        "Ireduce_scatter_intra_sched_recursive_doubling",
    ),
    "ireduce_scatter_block": (
        "Ireduce_scatter_block_intra_sched_pairwise",
        "Ireduce_scatter_block_intra_sched_recursive_doubling",
    ),
}
_IN_PLACE = {
    "alltoall": ("Alltoall_intra_pairwise_sendrecv_replace", "Alltoall_intra_pairwise"),
    "alltoallv": ("Alltoallv_intra_pairwise_sendrecv_replace", "Alltoallv_intra_scattered"),
    "alltoallw": ("Alltoallw_intra_pairwise_sendrecv_replace", "Alltoallw_intra_scattered"),
    "ialltoall": ("Ialltoall_intra_sched_inplace", "Ialltoall_intra_sched_pairwise"),
    "ialltoallv": ("Ialltoallv_intra_sched_inplace", "Ialltoallv_intra_sched_blocked"),
    "ialltoallw": ("Ialltoallw_intra_sched_inplace", "Ialltoallw_intra_sched_blocked"),
}
_INTER = {
    "bcast": "Bcast_inter_remote_send_local_bcast",
    "allreduce": "Allreduce_inter_reduce_exchange_bcast",
    "allgather": "Allgather_inter_local_gather_remote_bcast",
    "allgatherv": "Allgatherv_inter_remote_gather_local_bcast",
    "reduce": "Reduce_inter_local_reduce_remote_send",
    "reduce_scatter": "Reduce_scatter_inter_remote_reduce_local_scatter",
    "reduce_scatter_block": "Reduce_scatter_block_inter_remote_reduce_local_scatter",
    "gather": "Gather_inter_linear",
    "scatter": "Scatter_inter_linear",
    "alltoall": "Alltoall_inter_pairwise_exchange",
    "alltoallv": "Alltoallv_inter_pairwise_exchange",
    "alltoallw": "Alltoallw_inter_pairwise_exchange",
    "ibarrier": "Ibarrier_inter_sched_bcast",
    "ibcast": "Ibcast_inter_sched_flat",
    "iallreduce": "Iallreduce_inter_sched_remote_reduce_local_bcast",
    "iallgather": "Iallgather_inter_sched_local_gather_remote_bcast",
    "iallgatherv": "Iallgatherv_inter_sched_remote_gather_local_bcast",
    "ireduce": "Ireduce_inter_sched_local_reduce_remote_send",
    "ireduce_scatter": "Ireduce_scatter_inter_sched_remote_reduce_local_scatterv",
    "ireduce_scatter_block": "Ireduce_scatter_block_inter_sched_remote_reduce_local_scatterv",
    "igather": "Igather_inter_sched_long",
    "iscatter": "Iscatter_inter_sched_linear",
    "ialltoall": "Ialltoall_inter_sched_pairwise_exchange",
    "ialltoallv": "Ialltoallv_inter_sched_pairwise_exchange",
    "ialltoallw": "Ialltoallw_inter_sched_pairwise_exchange",
}
_ALWAYS = {
    "barrier": "Barrier_allcomm_nb",
    "gatherv": "Gatherv_allcomm_linear",
    "scatterv": "Scatterv_allcomm_linear",
    "scan": "Scan_intra_recursive_doubling",
    "exscan": "Exscan_intra_recursive_doubling",
    "igatherv": "Igatherv_allcomm_sched_linear",
    "iscatterv": "Iscatterv_allcomm_sched_linear",
    "iscan": "Iscan_intra_sched_recursive_doubling",
    "iexscan": "Iexscan_intra_sched_recursive_doubling",
    **{
        f"{sign}neighbor_{name}": f"{start}_{name}_allcomm_{end}"
        for sign, start, end in (("", "Neighbor", "nb"), ("i", "Ineighbor", "sched_linear"))
        for name in ("allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw")
    },
}
_WITHOUT_POWER_OF_TWO = {
    "scatter-recursive-doubling-allgather": "Bcast_intra_scatter_ring_allgather",
    "recursive-doubling": "Allgather_intra_ring",
}
"""Functions that stand in on communicators that are no power of two."""


def openmpi(choices: Sequence[Choice], segment: int) -> str:
    """Rules of Open MPI's coll_tuned; `segment`: bytes of a segment where an algorithm has some."""
    by_collective = _grouped(choices)
    lines = [f"{len(by_collective)}  # collectives"]
    for collective, by_ranks in by_collective.items():
        lines.append(f"{libraries.OPENMPI_COLLECTIVES[collective]}  # {collective}")
        lines.append(f"{len(by_ranks)}  # sizes of communicators")
        for ranks, some in by_ranks.items():
            lines += [f"{ranks}  # ranks, and more", f"{len(some)}  # sizes of messages"]
            for choice in some:
                number = libraries.OPENMPI[collective][choice.algorithm]
                cut = segment if choice.algorithm in libraries.SEGMENTED else 0
                size = libraries.whole_B(collective, ranks, choice.from_B)
                lines.append(f"{size} {number} 0 {cut}  # {choice.algorithm}")
    return "\n".join(lines) + "\n"


def mpich(choices: Sequence[Choice], base: dict | None = None) -> str:
    """Tree of MPICH's choices; those of collectives that were not tuned are of `base`, or one algorithm
    each."""
    tree = dict(base) if base is not None else _complete()
    for collective, by_ranks in _grouped(choices).items():
        sizes = list(by_ranks)
        by_size: dict = {}
        for number, ranks in enumerate(sizes):
            # Each table holds up to the geometric mean with the next number of ranks.
            last = number == len(sizes) - 1
            key = "comm_size=any" if last else f"comm_size<={int((ranks * sizes[number + 1]) ** 0.5)}"
            by_size[key] = dict(_by_message(collective, ranks, by_ranks[ranks]))
        if collective == "alltoall":
            in_place = _leaf("Alltoall_intra_pairwise_sendrecv_replace")
            by_size = {"is_sendbuf_inplace=yes": in_place, "is_sendbuf_inplace=no": by_size}
        kept = tree.get(f"collective={collective}", {}).get("comm_type=inter", _leaf(_INTER[collective]))
        tree[f"collective={collective}"] = {"comm_type=intra": by_size, "comm_type=inter": kept}
    return json.dumps(tree, indent=4) + "\n"


def _by_message(collective: str, ranks: int, some: Sequence[Choice]) -> Iterator[tuple[str, dict]]:
    kind = "total_msg_size" if collective == "allgather" else "avg_msg_size"
    for number, choice in enumerate(some):
        leaf = _mpich_leaf(collective, choice.algorithm)
        if number == len(some) - 1:
            yield f"{kind}=any", leaf
        else:
            size = some[number + 1].from_B
            size = libraries.whole_B(collective, ranks, size) if collective == "allgather" else size
            yield f"{kind}<={size - 1}", leaf


def _mpich_leaf(collective: str, algorithm: str) -> dict:
    """Leaf with the conditions under which the function works."""
    leaf: dict = {f"algorithm={libraries.MPICH[collective][algorithm]}": {}}
    if algorithm == "rabenseifner":
        other = _leaf(_INTRA[collective])
        return {
            "is_op_built_in=no": other,
            "is_op_built_in=yes": {"count<pow2": other, "count=any": leaf},
        }
    if collective in ("bcast", "allgather") and algorithm in _WITHOUT_POWER_OF_TWO:
        return {"comm_size=pow2": leaf, "comm_size=any": _leaf(_WITHOUT_POWER_OF_TWO[algorithm])}
    return leaf


def _complete() -> dict:
    """One algorithm for each collective."""
    intra = {name: _leaf(function) for name, function in _INTRA.items()}
    for name, (yes, no) in _COMMUTATIVE.items():
        intra[name] = {"is_commutative=yes": _leaf(yes), "is_commutative=no": _leaf(no)}
    for name, (yes, no) in _IN_PLACE.items():
        intra[name] = {"is_sendbuf_inplace=yes": _leaf(yes), "is_sendbuf_inplace=no": _leaf(no)}
    tree = {
        f"collective={name}": {"comm_type=intra": leaf, "comm_type=inter": _leaf(_INTER[name])}
        for name, leaf in intra.items()
    }
    return tree | {f"collective={name}": _leaf(function) for name, function in _ALWAYS.items()}


def _leaf(function: str) -> dict:
    return {f"algorithm=MPIR_{function}": {}}


def _grouped(choices: Sequence[Choice]) -> dict[str, dict[int, list[Choice]]]:
    """Choices by collective and ranks, in order of ranks and sizes."""
    ordered = sorted(choices, key=lambda one: (one.collective, one.ranks, one.from_B))
    return {
        collective: {ranks: list(rest) for ranks, rest in groupby(some, key=lambda one: one.ranks)}
        for collective, some in groupby(ordered, key=lambda one: one.collective)
    }
