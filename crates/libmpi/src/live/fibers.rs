//! Fibers of ranks: they ask for operations of MPI, and get completions.

use mpi::{Completion, Op};

use crate::fiber;

/// Completion of an operation, valid until the fiber suspends again.
pub type Reply = *const Completion;
/// The hub as the code of a rank sees it.
pub type Hub = fiber::Hub<Reply, Op>;
/// The code of one rank on a stack of its own.
pub type Fiber = fiber::Fiber<Reply, Op>;
/// Outcome of a rank that was resumed.
pub type Step = fiber::Step<Op>;
