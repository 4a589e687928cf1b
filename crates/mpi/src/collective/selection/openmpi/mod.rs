//! Open MPI's rules, from version 4.1 on.
//!
//! Source: the fixed rules of coll/tuned, Open MPI 4.1 and 5.0, which average the measurements that
//! several sites made with its tuning package. Limits are of the vector, of one block, or (allgatherv) of the
//! mean block; rows that mean one algorithm here are joined. Where hopcast has no algorithm of its own:
//! "pipeline" and "chain" are `chain` without segments; "scatter_allgather" is done by recursive doubling or
//! by a ring; "linear_sync" and "linear_nb" are `linear` (without a limit on requests they post the same
//! messages); "two_proc" is one exchange; "in-order binary" is `binary-tree`; "butterfly" on
//! other numbers than powers of two, or with uneven blocks, is `recursive-halving`, which moves as much in as
//! many rounds; barrier's "bruck" is `dissemination`.
//! What a fixed rule leaves to a module below (scan, gatherv, scatterv, alltoallw, neighbourhoods) is linear there.

mod bands;

use super::Measure::{Block, Total};
use super::Operations::{All, Commutative, Ordered};
use super::{Band, Library, Measure, Operations, Ranks, Table};
use crate::collective::Kind;
use bands::*;

/// The library.
pub const LIBRARY: Library = Library {
    name: "openmpi",
    summary: "Open MPI 4.1 and later, and what is built on it",
    source: "coll/tuned's fixed rules, Open MPI 4.1 and 5.0",
    segment: Some(engine::Bytes(0)),
    tables: TABLES,
};

/// Algorithms that Open MPI's own code goes on with where one cannot do a call.
const INSTEAD: &[(&str, &str)] = &[
    ("scatter-recursive-doubling-allgather", "scatter-ring-allgather"),
    ("neighbor-exchange", "ring"),
    ("recursive-doubling", "bruck"),
    ("ring", "recursive-doubling"),
    ("segmented-ring", "recursive-doubling"),
    ("rabenseifner", "recursive-doubling"),
    ("butterfly", "recursive-halving"),
];

const fn table(kind: Kind, operations: Operations, measure: Measure, bands: &'static [Band]) -> Table {
    Table { kind, operations, ranks: Ranks::All, measure, bands, instead: INSTEAD }
}

const TABLES: &[Table] = &[
    table(Kind::Barrier, All, Total, BARRIER),
    table(Kind::Bcast, All, Total, BCAST),
    table(Kind::Reduce, Ordered, Total, REDUCE_ORDERED),
    table(Kind::Reduce, Commutative, Total, REDUCE),
    table(Kind::Allreduce, Ordered, Total, ALLREDUCE_ORDERED),
    table(Kind::Allreduce, Commutative, Total, ALLREDUCE),
    table(Kind::Gather, All, Block, GATHER),
    table(Kind::Scatter, All, Block, SCATTER),
    table(Kind::Allgather, All, Block, ALLGATHER),
    table(Kind::Allgatherv, All, Block, ALLGATHERV),
    table(Kind::Alltoall, All, Block, ALLTOALL),
    table(Kind::Alltoallv, All, Total, ALLTOALLV),
    table(Kind::Alltoallw, All, Total, LINEAR),
    table(Kind::ReduceScatterBlock, Commutative, Block, REDUCE_SCATTER_BLOCK),
    table(Kind::ReduceScatter, Commutative, Total, REDUCE_SCATTER),
    table(Kind::ReduceScatterBlock, Ordered, Total, REDUCE_SCATTERV),
    table(Kind::ReduceScatter, Ordered, Total, REDUCE_SCATTERV),
    table(Kind::Gatherv, All, Total, LINEAR),
    table(Kind::Scatterv, All, Total, LINEAR),
    table(Kind::Scan, All, Total, LINEAR),
    table(Kind::Exscan, All, Total, LINEAR),
    table(Kind::NeighborAllgather, All, Total, LINEAR),
    table(Kind::NeighborAllgatherv, All, Total, LINEAR),
    table(Kind::NeighborAlltoall, All, Total, LINEAR),
    table(Kind::NeighborAlltoallv, All, Total, LINEAR),
    table(Kind::NeighborAlltoallw, All, Total, LINEAR),
];
