//! liballprof's traces (and those of its forerunner, collprof): text, one file a rank, one MPI call a line.
//!
//! ```text
//! # collprof 0.9 output file
//! # host: odin071.cs.indiana.edu
//! MPI_Init:-:140737488343500:140737488344604:1237666046950106.000000
//! MPI_Send:1237666053149864.000000:11251872:4500:11,8,8:1:7000:0,0,4:1237666053150082.000000
//! ```
//!
//! Between the times of the call and of its return \[µs\] stand its arguments: a datatype as handle, size and extent, a
//! communicator as handle, rank and size, a request as the address of the variable that holds it. The rank is the
//! last number in the file's name. Assumptions: a communicator of all ranks is the world (with a warning where
//! a rank has another number in it than its own); one of fewer cannot be replayed, as nothing names its members. Source -1 is any. What a test found is not
//! recorded: tests take their recorded time, and what they may have completed is not waited for.
//!
//! Source: liballprof of LogGOPSim, and what its `schedgen` reads.

mod call;
mod set;
mod translate;

pub use set::{AllprofSet, FORMAT};
