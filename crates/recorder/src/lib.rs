//! Library that is preloaded into a recorded program: writes the calls that the wrappers of MPI's functions see to
//! the file of this rank (`workload::trace::hct`).
//!
//! It protects one thing: **a recording never changes its program**. It reads no buffer; it communicates in MPI_Init (a
//! broadcast and a barrier; if it is to count anything, a reduction, whether all ranks can) and where topologies are made
//! (whether ranks were reordered), and nowhere else; and whatever goes wrong in it (a full disk, a bug) ends the recording
//! with one line on standard error, and not the program. It has one thread, which looks once a second whether the rank
//! stands still; that calls no MPI, takes no signal, and where none may be made, there is none.
//!
//! The wrappers are C, compiled with the program's own `mpicc` (`python/hopcast/record`), since handles and constants
//! differ between MPI libraries; they call these functions one at a time, but for that thread. `record.h` declares them.

mod calls;
mod counts;
mod recording;

pub use calls::*;
