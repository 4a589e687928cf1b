//! MPICH's rules.
//!
//! Source: Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH"
//! (IJHPCA 19(1), 2005), with the defaults of MPICH 3.x's control variables: BCAST_MIN_PROCS 8,
//! BCAST_SHORT_MSG_SIZE 12288, BCAST_LONG_MSG_SIZE 524288, REDUCE_SHORT_MSG_SIZE 2048,
//! ALLREDUCE_SHORT_MSG_SIZE 2048, ALLGATHER_SHORT_MSG_SIZE 81920, ALLGATHER_LONG_MSG_SIZE 524288,
//! ALLTOALL_SHORT_MSG_SIZE 256, ALLTOALL_MEDIUM_MSG_SIZE 32768, REDSCAT_COMMUTATIVE_LONG_MSG_SIZE 524288.
//! MPICH compares some of them with ≤; their limits stand here plus one.
//! MPICH takes its algorithms for predefined operations where this says commutative. Its algorithms
//! within a node (shared memory first) are not modelled: all ranks are equal.

use super::Measure::{Block, Total};
use super::Operations::{All, Commutative, Ordered};
use super::{ANY, Band, Library, Measure, Operations, REST, Ranks, Table};
use crate::collective::Kind;

/// The library.
pub const LIBRARY: Library = Library {
    name: "mpich",
    summary: "MPICH 3 and what is built on it: Cray MPICH, Intel MPI, MVAPICH",
    source: "Thakur, Rabenseifner, Gropp 2005; defaults of MPICH 3's control variables",
    segment: None,
    tables: TABLES,
};

const fn table(kind: Kind, operations: Operations, measure: Measure, bands: &'static [Band]) -> Table {
    Table { kind, operations, ranks: Ranks::All, measure, bands, instead: &[] }
}

const fn powers_of_two(kind: Kind, measure: Measure, bands: &'static [Band]) -> Table {
    Table { kind, operations: All, ranks: Ranks::PowersOfTwo, measure, bands, instead: &[] }
}

const fn always(kind: Kind, bands: &'static [Band]) -> Table {
    table(kind, All, Total, bands)
}

const RECURSIVE_DOUBLING: &[Band] = &[(ANY, &[(REST, "recursive-doubling")])];
const BUTTERFLY: &[Band] = &[(ANY, &[(REST, "butterfly")])];
const BINOMIAL: &[Band] = &[(ANY, &[(REST, "binomial")])];
const LINEAR: &[Band] = &[(ANY, &[(REST, "linear")])];
const ALLGATHER_POWERS: &[Band] = &[(ANY, &[(524_288, "recursive-doubling"), (REST, "ring")])];
const ALLGATHER: &[Band] = &[(ANY, &[(81_920, "bruck"), (REST, "ring")])];
const REDUCE_SCATTER: &[Band] = &[(ANY, &[(524_288, "recursive-halving"), (REST, "pairwise")])];

const TABLES: &[Table] = &[
    always(Kind::Barrier, &[(ANY, &[(REST, "dissemination")])]),
    powers_of_two(
        Kind::Bcast,
        Total,
        &[
            (8, &[(REST, "binomial")]),
            (
                ANY,
                &[
                    (12_288, "binomial"),
                    (524_288, "scatter-recursive-doubling-allgather"),
                    (REST, "scatter-ring-allgather"),
                ],
            ),
        ],
    ),
    always(
        Kind::Bcast,
        &[(8, &[(REST, "binomial")]), (ANY, &[(12_288, "binomial"), (REST, "scatter-ring-allgather")])],
    ),
    table(Kind::Reduce, Commutative, Total, &[(ANY, &[(2_049, "binomial"), (REST, "rabenseifner")])]),
    always(Kind::Reduce, BINOMIAL),
    table(
        Kind::Allreduce,
        Commutative,
        Total,
        &[(ANY, &[(2_049, "recursive-doubling"), (REST, "rabenseifner")])],
    ),
    always(Kind::Allreduce, RECURSIVE_DOUBLING),
    always(Kind::Gather, BINOMIAL),
    always(Kind::Gatherv, LINEAR),
    always(Kind::Scatter, BINOMIAL),
    always(Kind::Scatterv, LINEAR),
    powers_of_two(Kind::Allgather, Total, ALLGATHER_POWERS),
    always(Kind::Allgather, ALLGATHER),
    powers_of_two(Kind::Allgatherv, Total, ALLGATHER_POWERS),
    always(Kind::Allgatherv, ALLGATHER),
    table(
        Kind::Alltoall,
        All,
        Block,
        &[
            (8, &[(32_769, "linear"), (REST, "pairwise")]),
            (ANY, &[(257, "bruck"), (32_769, "linear"), (REST, "pairwise")]),
        ],
    ),
    always(Kind::Alltoallv, LINEAR),
    always(Kind::Alltoallw, LINEAR),
    table(Kind::ReduceScatterBlock, Commutative, Total, REDUCE_SCATTER),
    // The butterfly is for powers of two and even blocks; all others go on.
    table(Kind::ReduceScatterBlock, Ordered, Total, BUTTERFLY),
    table(Kind::ReduceScatterBlock, Ordered, Total, RECURSIVE_DOUBLING),
    table(Kind::ReduceScatter, Commutative, Total, REDUCE_SCATTER),
    table(Kind::ReduceScatter, Ordered, Total, BUTTERFLY),
    table(Kind::ReduceScatter, Ordered, Total, RECURSIVE_DOUBLING),
    always(Kind::Scan, RECURSIVE_DOUBLING),
    always(Kind::Exscan, RECURSIVE_DOUBLING),
    always(Kind::NeighborAllgather, LINEAR),
    always(Kind::NeighborAllgatherv, LINEAR),
    always(Kind::NeighborAlltoall, LINEAR),
    always(Kind::NeighborAlltoallv, LINEAR),
    always(Kind::NeighborAlltoallw, LINEAR),
];
