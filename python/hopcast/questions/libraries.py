"""Names and numbers that MPI libraries have for the algorithms of collectives, and their tables of choices.

Open MPI: `coll_tuned` reads rules by the number of a collective, of an algorithm, and the size of a
communicator and of a message (`ompi_info --param coll tuned --level 9` lists the algorithms). MPICH: a tree
of conditions in JSON, whose leaves name functions.

Sources: Open MPI 4.1, ompi/mca/coll/tuned; MPICH 4.0 to 4.3, src/mpi/coll/coll_selection.json.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

LIBRARIES = ("openmpi", "mpich")

OPENMPI_COLLECTIVES = {"allgather": 0, "allreduce": 2, "alltoall": 3, "barrier": 6, "bcast": 7, "reduce": 11}
"""Numbers of collectives in a file of rules."""
OPENMPI: Mapping[str, Mapping[str, int]] = {
    "allreduce": {
        "recursive-doubling": 3,
        "rabenseifner": 6,
        "ring": 4,
        "segmented-ring": 5,
        "reduce-bcast": 2,
        "linear": 1,
    },
    "bcast": {
        "binomial": 6,
        "knomial": 7,
        "scatter-recursive-doubling-allgather": 8,
        "scatter-ring-allgather": 9,
        "chain": 3,
        "binary-tree": 5,
        "split-binary-tree": 4,
        "linear": 1,
    },
    "reduce": {"binomial": 5, "rabenseifner": 7, "chain": 3, "binary-tree": 4, "linear": 1},
    "allgather": {
        "recursive-doubling": 3,
        "bruck": 2,
        "ring": 4,
        "neighbor-exchange": 5,
        "gather-bcast": 1,
    },
    "alltoall": {"bruck": 3, "pairwise": 2, "linear": 1},
    "barrier": {"dissemination": 4, "recursive-doubling": 3, "tree": 6, "linear": 1, "double-ring": 2},
}
"""Numbers of algorithms; a chain is its `pipeline`, of one chain."""
SEGMENTED = ("segmented-ring", "chain", "binary-tree", "split-binary-tree")
"""Algorithms that cut messages into segments."""

MPICH: Mapping[str, Mapping[str, str]] = {
    "allreduce": {
        "recursive-doubling": "MPIR_Allreduce_intra_recursive_doubling",
        "rabenseifner": "MPIR_Allreduce_intra_reduce_scatter_allgather",
    },
    "bcast": {
        "binomial": "MPIR_Bcast_intra_binomial",
        "scatter-recursive-doubling-allgather": "MPIR_Bcast_intra_scatter_recursive_doubling_allgather",
        "scatter-ring-allgather": "MPIR_Bcast_intra_scatter_ring_allgather",
    },
    "reduce": {
        "binomial": "MPIR_Reduce_intra_binomial",
        "rabenseifner": "MPIR_Reduce_intra_reduce_scatter_gather",
    },
    "allgather": {
        "recursive-doubling": "MPIR_Allgather_intra_recursive_doubling",
        "bruck": "MPIR_Allgather_intra_brucks",
        "ring": "MPIR_Allgather_intra_ring",
    },
    "alltoall": {
        "bruck": "MPIR_Alltoall_intra_brucks",
        "pairwise": "MPIR_Alltoall_intra_pairwise",
        "linear": "MPIR_Alltoall_intra_scattered",
    },
}
"""Functions of algorithms. Its barriers have names that changed between versions, and are not tuned."""


@dataclass(frozen=True)
class Choice:
    """The algorithm of a collective on some ranks for messages from a size on."""

    collective: str
    ranks: int
    from_B: int
    """Least size for which it holds; that of the call, as `hopcast run` has it: a vector, or a block for each
    rank."""
    algorithm: str


def algorithms(library: str, collective: str) -> list[str]:
    """Algorithms that the library has for a collective."""
    return list({"openmpi": OPENMPI, "mpich": MPICH}[library].get(collective, {}))


def whole_B(collective: str, ranks: int, size: int) -> int:
    """Size by which libraries choose: of blocks for each rank, all of them together."""
    return size * ranks if collective in ("allgather", "alltoall") else size
