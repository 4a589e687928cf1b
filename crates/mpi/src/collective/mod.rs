//! Collectives: a call, its algorithms (pure functions, one file each), and which one a library takes.
//!
//! An algorithm is a function from a call, a rank and a round number to the messages of that round.
//! All messages of a round must be done before the rank's next round begins. Nothing is stored:
//! a million ranks in a collective cost a round number each.

pub mod allgather;
pub mod allreduce;
pub mod alltoall;
pub mod barrier;
pub mod bcast;
pub mod bounds;
mod cost;
pub mod gather;
pub(crate) mod inter;
mod kind;
mod layout;
pub mod neighbor;
mod parts;
pub mod reduce;
pub mod reduce_scatter;
pub mod scan;
pub mod scatter;
pub mod selection;
mod shape;
pub(crate) mod step;
mod tree;

use std::sync::Arc;

use engine::Bytes;
use engine::registry::Entry;

use crate::cartesian::Neighbours;
use crate::communicator::CommId;

pub use cost::{Cost, Idle};
pub use kind::Kind;
pub use layout::{Layout, chunk_offset};
pub use selection::{Choice, Selection};
pub use shape::Shape;
pub use step::{Effect, Round, Slots, Step};

/// The sizes of a collective's blocks. "Block" is what one rank contributes to or gets from another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sizes {
    /// One size for every block: the whole buffer for broadcast, reduce, allreduce and scan; the
    /// block of one rank for gather, scatter, allgather, alltoall and reduce_scatter_block.
    Equal(Bytes),
    /// By rank of the communicator: gatherv, scatterv, allgatherv, reduce_scatter. All members that
    /// need it give the same list.
    ByRank(Arc<[u64]>),
    /// Bytes that **this rank** sends to and receives from each rank (alltoallv, alltoallw) or neighbour.
    Own {
        /// Bytes to each.
        send: Arc<[u64]>,
        /// Bytes from each.
        receive: Arc<[u64]>,
    },
}

impl Sizes {
    /// The size that a call states: of its buffer or block, or all of its blocks together where they differ.
    pub fn stated(&self) -> Bytes {
        match self {
            Sizes::Equal(bytes) => *bytes,
            Sizes::ByRank(blocks) => Bytes(blocks.iter().sum()),
            Sizes::Own { send, .. } => Bytes(send.iter().sum()),
        }
    }
}

/// One collective call.
#[derive(Debug, Clone, PartialEq)]
pub struct Collective {
    /// Kind of the collective.
    pub kind: Kind,
    /// Over whom.
    pub comm: CommId,
    /// Rank in `comm` that starts or collects; 0 where there is no root.
    pub root: u32,
    /// Sizes of its blocks.
    pub sizes: Sizes,
    /// Bytes of one element, so that segments and reductions are not cut within one. 1 or more.
    pub element: u32,
    /// True if the reduction may be reordered (MPI's commutative operations).
    pub commutative: bool,
    /// The algorithm by name, or `None` for the library's own choice.
    pub algorithm: Option<&'static str>,
}

impl Collective {
    /// Checks that root and sizes are those of a communicator of `size` ranks, or of this rank's neighbours.
    pub(crate) fn check(&self, size: u32, neighbours: Option<&Neighbours>) -> Result<(), String> {
        if self.root >= size {
            return Err(format!("the root is not below the size {size}"));
        }
        let fits = match (&self.sizes, neighbours) {
            (Sizes::Equal(_), _) => true,
            (Sizes::ByRank(list), None) => list.len() == size as usize,
            (Sizes::Own { send, receive }, None) => {
                send.len() == size as usize && receive.len() == size as usize
            }
            (Sizes::Own { send, receive }, Some(around)) => {
                send.len() == around.destinations.len() && receive.len() == around.sources.len()
            }
            (Sizes::ByRank(_), Some(_)) => false,
        };
        if fits { Ok(()) } else { Err(format!("the list of sizes does not fit {size} ranks")) }
    }

    /// All members of `comm` wait for each other.
    pub fn barrier(comm: CommId) -> Collective {
        Collective {
            kind: Kind::Barrier,
            comm,
            root: 0,
            sizes: Sizes::Equal(Bytes(0)),
            element: 1,
            commutative: true,
            algorithm: None,
        }
    }
}

/// One algorithm of one or several kinds of collective.
#[derive(Debug, Clone, Copy)]
pub struct Algorithm {
    /// Collectives that it does.
    pub kinds: &'static [Kind],
    /// Its rounds.
    pub round: Round,
    /// Messages that a rank sends in all rounds, where there is a formula; others are counted round by round.
    pub sends: Option<fn(shape: &Shape, rank: u32) -> u64>,
    /// Meaning of its slots.
    pub layout: fn(shape: &Shape) -> Layout,
    /// Its time on an idle network with one process per host.
    pub cost: fn(shape: &Shape, idle: &Idle) -> Cost,
    /// Checks that it can do this call (a power of two, a commutative operation, …).
    pub fits: fn(shape: &Shape) -> bool,
}

/// Every algorithm.
pub const ALGORITHMS: &[Entry<Algorithm>] = &[
    barrier::dissemination::ENTRY,
    barrier::recursive_doubling::ENTRY,
    barrier::tree::ENTRY,
    barrier::linear::ENTRY,
    barrier::double_ring::ENTRY,
    bcast::binomial::ENTRY,
    bcast::knomial::ENTRY,
    bcast::scatter_recursive_doubling_allgather::ENTRY,
    bcast::scatter_ring_allgather::ENTRY,
    bcast::chain::ENTRY,
    bcast::binary_tree::ENTRY,
    bcast::split_binary_tree::ENTRY,
    bcast::linear::ENTRY,
    reduce::binomial::ENTRY,
    reduce::rabenseifner::ENTRY,
    reduce::chain::ENTRY,
    reduce::binary_tree::ENTRY,
    reduce::linear::ENTRY,
    allreduce::recursive_doubling::ENTRY,
    allreduce::rabenseifner::ENTRY,
    allreduce::ring::ENTRY,
    allreduce::segmented_ring::ENTRY,
    allreduce::dissemination::ENTRY,
    allreduce::reduce_bcast::ENTRY,
    allreduce::linear::ENTRY,
    gather::binomial::ENTRY,
    gather::linear::ENTRY,
    scatter::binomial::ENTRY,
    scatter::linear::ENTRY,
    allgather::recursive_doubling::ENTRY,
    allgather::bruck::ENTRY,
    allgather::ring::ENTRY,
    allgather::neighbor_exchange::ENTRY,
    allgather::gather_bcast::ENTRY,
    alltoall::bruck::ENTRY,
    alltoall::pairwise::ENTRY,
    alltoall::linear::ENTRY,
    reduce_scatter::recursive_halving::ENTRY,
    reduce_scatter::recursive_doubling::ENTRY,
    reduce_scatter::butterfly::ENTRY,
    reduce_scatter::pairwise::ENTRY,
    reduce_scatter::ring::ENTRY,
    reduce_scatter::reduce_scatterv::ENTRY,
    scan::recursive_doubling::ENTRY,
    scan::linear::ENTRY,
    neighbor::linear::ENTRY,
];

/// The algorithms of one kind, in the order of the table.
pub fn of_kind(kind: Kind) -> impl Iterator<Item = &'static Entry<Algorithm>> {
    ALGORITHMS.iter().filter(move |entry| entry.build.kinds.contains(&kind))
}

/// The algorithm of `kind` called `name`, or an error that lists the choices.
pub fn find(kind: Kind, name: &str) -> Result<&'static Entry<Algorithm>, String> {
    of_kind(kind).find(|entry| entry.name == name).ok_or_else(|| {
        let known: Vec<_> = of_kind(kind).map(|entry| entry.name).collect();
        format!("unknown algorithm '{name}' for {}; known: {}", kind.name(), known.join(", "))
    })
}
