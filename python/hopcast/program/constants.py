"""The numbers that MPI names: wildcards, the null process, results of comparisons, kinds of splits."""

ANY_SOURCE = -1
"""Receives from whoever sends."""
ANY_TAG = -1
"""Receives any tag."""
PROC_NULL = -2
"""Nobody: sends to it and receives from it complete at once."""
UNDEFINED = -32766
"""No rank, or no colour: what mpi4py gives and takes where nothing applies."""
TAG_UB = 2**31 - 1
"""The largest tag."""

IDENT = 0
"""The same members in the same order, and the same communicator."""
CONGRUENT = 1
"""Communicators with the same members in the same order."""
SIMILAR = 2
"""The same members in another order."""
UNEQUAL = 3
"""Other members."""

COMM_TYPE_SHARED = 1
"""For `Split_type`: the ranks of one host."""

CART = 1
"""`Get_topology` of a Cartesian communicator."""
DIST_GRAPH = 3
"""`Get_topology` of a distributed graph."""


class _InPlace:
    """`IN_PLACE`: the receive buffer holds this rank's contribution."""

    __slots__ = ()

    def __repr__(self):
        return "IN_PLACE"


IN_PLACE = _InPlace()
