//! SimGrid's time-independent traces: text, one action of one rank a line.
//!
//! ```text
//! 1 irecv 0 2 1e6        rank 1 receives from 0 with tag 2, 1e6 elements
//! 1 compute 1e9          floating-point operations
//! 1 allreduce 5e4 5e8    elements, then the operations of the reduction
//! ```
//!
//! One file holds the actions of all ranks or of one; a file that lists the names of others stands for them.
//! Assumptions: computing takes the platform's `compute.flop_rate` (`--set compute.flop_rate="98 Mflop/s"`), with
//! what a reduction computes after its messages; all collectives are over all ranks, as the format names no
//! communicators; `finalize` waits for nobody, as in SimGrid; a test asks, and what it has found complete is not
//! waited for again. Traces of before version 3.22 name no tags ("1 Isend 0 1e6"): their messages match by order.
//!
//! Source: SimGrid 3.36, `smpi_replay` (the actions and their arguments) and its datatypes.

mod action;
mod set;
mod translate;

pub use set::{FORMAT, SimgridSet};
