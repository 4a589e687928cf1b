//! liballprof's traces (and those of its forerunners): text, one file a rank, one MPI call a line.
//!
//! ```text
//! # collprof 0.9 output file             # htor's PMPI Tracer 0.9 Output File
//! # host: odin071.cs.indiana.edu         # hostname: node1.(none)
//! # Init clockdiff: -1856.565475         # clockdiff: -1856.565475 s (relative to rank 0)
//! MPI_Init:-:140737488343500:140737488344604:1237666046950106.000000
//! MPI_Send:1237666053149864.000000:11251872:4500:11,8,8:1:7000:0,0,4:1237666053150082.000000
//! ```
//!
//! Between the times of the call and of its return \[µs\] stand its arguments: a datatype as handle, size and extent, a
//! communicator as handle, rank and size, a request as the address of the variable that holds it. The rank is the
//! last number in the file's name. Assumptions: a communicator of all ranks is the world (with a warning where
//! a rank has another number in it than its own); one of fewer cannot be replayed, as nothing names its members. Source -1 is
//! MPI_ANY_SOURCE and -2 MPI_PROC_NULL, as in Open MPI; under MPICH, whose communicators have handles from 0x44000000 on, it
//! is the other way around. Results of tests are not recorded: tests take their recorded time, and no rank waits for requests
//! that they may have completed.
//!
//! The clock difference, measured by round trips, is added to a rank's times to get those of rank 0; it is in
//! microseconds (whatever unit the line says). If all ranks have one, the clocks of each host are aligned by that of its
//! first rank; later drift is not corrected.
//!
//! Source: liballprof of LogGOPSim (its `allprof.c` and `sync.c`), and what its `schedgen` reads.

mod call;
mod set;
mod translate;

pub use set::{AllprofSet, FORMAT};
