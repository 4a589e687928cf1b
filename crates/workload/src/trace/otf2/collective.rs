//! Collectives: from what a rank sent and received to the blocks of the call.
//!
//! An archive has two sums for each rank of a call. Score-P counts the block of a rank once for each of
//! its receivers, itself among them, and without itself if the call works in place. With n members, own
//! place r, and blocks of b bytes that is
//!
//! | call | sent | received | in place |
//! | --- | --- | --- | --- |
//! | gather, reduce | b | n b at the root | root: 0, (n − 1) b |
//! | scatter, bcast | n b at the root | b | root: (n − 1) b, 0 |
//! | allgather, alltoall, allreduce, reduce_scatter_block | n b | n b | (n − 1) b, (n − 1) b |
//! | scan | (n − r) b | (r + 1) b | (n − r − 1) b, r b; so exscan |
//!
//! Where n and n − 1 both divide the sums of the third row, the call is taken to be not in place. Calls
//! whose blocks differ by rank are put together from the sums of all ranks (`sums.rs`).
//! Source: Score-P 8, computation of sent and received bytes of collectives; held against the archives of
//! Score-P 2 in the tests.

use engine::Bytes;
use mpi::collective::{Collective, Kind, Sizes};
use mpi::operation::CommId;

use super::event::CollectiveCall;

/// Kinds, indexed by OTF2's number of the operation.
const KINDS: &[Kind] = &[
    Kind::Barrier,
    Kind::Bcast,
    Kind::Gather,
    Kind::Gatherv,
    Kind::Scatter,
    Kind::Scatterv,
    Kind::Allgather,
    Kind::Allgatherv,
    Kind::Alltoall,
    Kind::Alltoallv,
    Kind::Alltoallw,
    Kind::Allreduce,
    Kind::Reduce,
    Kind::ReduceScatter,
    Kind::Scan,
    Kind::Exscan,
    Kind::ReduceScatterBlock,
];

/// Kind of a collective; `None` for operations that make or free windows.
pub(super) fn kind(operation: u8) -> Option<Kind> {
    KINDS.get(usize::from(operation)).copied()
}

/// True if its blocks differ by rank.
pub(super) fn varies(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Gatherv
            | Kind::Scatterv
            | Kind::Allgatherv
            | Kind::Alltoallv
            | Kind::Alltoallw
            | Kind::ReduceScatter
    )
}

/// Block size of a collective with equal blocks, derived from the sums of the rank at place `own` of `size`.
pub(super) fn block(kind: Kind, call: &CollectiveCall, own: u32, size: u32) -> u64 {
    let (size, own, others) = (u64::from(size), u64::from(own), u64::from(size).max(2) - 1);
    let (sent, received) = (call.sent, call.received);
    match kind {
        Kind::Gather | Kind::Reduce if sent > 0 => sent,
        Kind::Gather | Kind::Reduce => received / others,
        Kind::Scatter | Kind::Bcast if received > 0 => received,
        Kind::Scatter | Kind::Bcast => sent / others,
        Kind::Scan | Kind::Exscan => {
            let both = sent.saturating_add(received);
            let all = both / (size + 1);
            if kind == Kind::Scan && Some(sent) == (size - own).checked_mul(all) {
                all
            } else {
                both / others
            }
        }
        Kind::Barrier => 0,
        _ if sent % size == 0 || sent % others != 0 => sent / size,
        _ => sent / others,
    }
}

/// Makes the operation.
pub(super) fn operation(kind: Kind, comm: CommId, root: u32, sizes: Sizes) -> Collective {
    Collective { kind, comm, root, sizes, element: 1, commutative: true, algorithm: None }
}

/// Sizes of blocks of `bytes` each.
pub(super) fn equal(bytes: u64) -> Sizes {
    Sizes::Equal(Bytes(bytes))
}
