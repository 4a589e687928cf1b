//! Collectives: a call, its algorithms (pure functions, one file each), and which one a library takes.
//!
//! An algorithm is a function from a call, a rank and a round number to the messages of that round.
//! All messages of a round must be done before the rank's next round begins. Nothing is stored:
//! a million ranks in a collective cost a round number each.

use std::sync::Arc;

use engine::Bytes;
use engine::registry::Entry;

use crate::operation::CommId;

/// Which collective. Names are MPI's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Kind {
    Barrier,
    Bcast,
    Reduce,
    Allreduce,
    Gather,
    Gatherv,
    Scatter,
    Scatterv,
    Allgather,
    Allgatherv,
    Alltoall,
    Alltoallv,
    ReduceScatterBlock,
    ReduceScatter,
    Scan,
    Exscan,
    NeighborAllgather,
    NeighborAllgatherv,
    NeighborAlltoall,
    NeighborAlltoallv,
}

/// The sizes of a collective's blocks. "Block" is what one rank contributes to or gets from another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sizes {
    /// One size for every block: the whole buffer for broadcast, reduce, allreduce and scan; the
    /// block of one rank for gather, scatter, allgather, alltoall and reduce_scatter_block.
    Equal(Bytes),
    /// By rank of the communicator: gatherv, scatterv, allgatherv, reduce_scatter. All members that
    /// need it give the same list.
    ByRank(Arc<[u64]>),
    /// What **this rank** sends to and receives from each rank (alltoallv) or neighbour.
    Own {
        /// Bytes to each.
        send: Arc<[u64]>,
        /// Bytes from each.
        receive: Arc<[u64]>,
    },
}

/// One collective call.
#[derive(Debug, Clone, PartialEq)]
pub struct Collective {
    /// Which.
    pub kind: Kind,
    /// Over whom.
    pub comm: CommId,
    /// Who starts or collects, a rank in `comm`; 0 where there is no root.
    pub root: u32,
    /// How much.
    pub sizes: Sizes,
    /// Bytes of one element, so that segments and reductions are not cut within one. 1 or more.
    pub element: u32,
    /// Whether the reduction may be reordered (MPI's commutative operations).
    pub commutative: bool,
    /// The algorithm by name, or `None` for the library's own choice.
    pub algorithm: Option<&'static str>,
}

/// What an algorithm sees: everything is relative to the communicator.
#[derive(Debug, Clone, Copy)]
pub struct Shape<'a> {
    /// Members of the communicator, 1 or more.
    pub size: u32,
    /// The call.
    pub call: &'a Collective,
    /// For neighbourhood collectives: this rank's neighbours.
    pub neighbours: Option<&'a crate::operation::Neighbours>,
    /// Bytes of a segment for pipelined algorithms.
    pub segment: Bytes,
}

/// Which blocks of a rank's working buffer a message carries; the property tests move real data by
/// it. What a slot is (a rank's block, a chunk of the vector, a segment) the algorithm's header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slots {
    /// No data: only the message counts.
    None,
    /// `count` slots from `first`, cyclically modulo the number of slots.
    Range {
        /// The first slot.
        first: u32,
        /// How many.
        count: u32,
    },
    /// The slots whose number has bit `bit` set (Bruck's algorithm).
    Bit {
        /// Which bit.
        bit: u8,
    },
}

/// What happens to the slots of a message at its receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// They replace what is there.
    Store,
    /// They are reduced into what is there, theirs being the left operand.
    CombineLeft,
    /// They are reduced into what is there, theirs being the right operand.
    CombineRight,
}

/// One message of one round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// To a rank of the communicator.
    Send {
        /// The receiver.
        to: u32,
        /// Payload.
        bytes: Bytes,
        /// What it carries.
        slots: Slots,
    },
    /// From a rank of the communicator.
    Receive {
        /// The sender.
        from: u32,
        /// Payload: must equal what the sender sends.
        bytes: Bytes,
        /// Where it goes.
        slots: Slots,
        /// How.
        effect: Effect,
    },
}

/// The round function of an algorithm.
///
/// Appends the messages of `rank` in `round` to `steps`; `false` when the rank has no round with this
/// number or after it. A round may be empty (the rank pauses). Two messages of one algorithm between
/// the same pair match in order of rounds, and of their places within a round.
pub type Round = fn(shape: &Shape, rank: u32, round: u32, steps: &mut Vec<Step>) -> bool;

/// One algorithm of one collective.
#[derive(Debug, Clone, Copy)]
pub struct Algorithm {
    /// Which collectives it does.
    pub kinds: &'static [Kind],
    /// Its rounds.
    pub round: Round,
    /// The cost formula on an idle network with one process per host: seconds, of the call, the
    /// message time of n bytes `time(n) = o_s + L + n/B + o_r`, and the reduction time per byte.
    pub cost: fn(shape: &Shape, time: &dyn Fn(Bytes) -> f64, reduce: &dyn Fn(Bytes) -> f64) -> Option<f64>,
    /// Whether it can do this call (a power of two, a commutative operation, …).
    pub fits: fn(shape: &Shape) -> bool,
}

/// Every algorithm.
pub const ALGORITHMS: &[Entry<Algorithm>] = &[];
