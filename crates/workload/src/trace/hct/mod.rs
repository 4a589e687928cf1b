//! hopcast's own trace format: a folder, or a tar archive of it, with one file for each rank.
//!
//! A rank's file is a table of different calls ("shapes"), the sequence of their numbers with loops folded, and their
//! times, in blocks that are packed and checked one by one: it can be written as a program runs, read as a stream, and
//! read by as many at once as there are ranks. `docs/trace-format.md` specifies it.

mod archive;
pub mod block;
pub mod calls;
pub mod end;
pub mod fold;
pub mod gaps;
pub mod name;
pub mod op;
pub mod rank;
pub mod set;
pub mod shape;
pub mod text;
pub mod times;
mod wildcard_sources;
pub mod write;

pub use set::{FORMAT, HctSet};
