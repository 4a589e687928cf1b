//! ScalaTrace 2's traces: text, one event a paragraph, loops and ranks folded.
//!
//! ```text
//! RANKS: 1 -1 0 4 1                                          ranks 0, 1, 2, 3
//! EVENT2: 1113 45b8ad_45b958                                 MPI_Send, and the stack that called it
//! COMP 4b-0: 4531d6_453423 (9 41.30 0 36.00 0 63.00){…}      µs of computing before it, after a call of that stack
//! COMM 4b-0: 4531d6_453423 (9 29.90 0 25.00 0 36.00){…}      µs in it
//! LOOP0: iter: ( 10 )[ 1 -1 0 4 1 ] mem: ( 3 )[ 1 -1 0 4 1 ] begins a loop over 3 events, 10 times
//! 12 100                                                     a parameter (in hexadecimal) and its values in turn
//! 1a ( 1 )[ 1 -1 0 2 1 ]                                     one that is not the same on all ranks
//! ```
//!
//! A list of ranks has the number of its parts and, for each part, the negative number of its dimensions, its first rank, and
//! the iterations and stride of each dimension. The library writes three kinds of traces in this format: one file for each
//! rank without loops (`libdump`) or with them (`libnode`), and one file of all ranks (`libglob`). Partners are relative to
//! the rank, modulo the number of ranks; requests count backwards in a ring of 10,000; communicators and datatypes are
//! numbers, from 1000 on for those that the program made.
//!
//! Assumptions: computing before a call takes the mean time that was measured between the two stacks, and calls that are not
//! simulated take their mean time. Ranks have no common time. A number of elements of which only a histogram is kept
//! (`PARAM_HISTO`) is its mean; other such parameters cannot be replayed. Tags are all 0 unless the library was built to keep
//! them. `MPI_PROC_NULL` cannot be told from a rank.
//!
//! Source: Wu, Mueller, "Elastic and scalable tracing and accurate replay of non-deterministic events" (ICS 2013); the
//! ScalaTrace 2 distribution, as in the repository frs69wq/ScalaTrace-TI.

mod event;
mod functions;
mod ranks;
mod set;
mod translate;
mod walk;

pub use set::{FORMAT, ScalaTraceSet};
