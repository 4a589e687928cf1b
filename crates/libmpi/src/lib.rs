//! MPI for programs that are compiled: the C interface of the MPI 5.0 standard over the simulator.
//!
//! All hand-written `unsafe` of the project is here, and so is all that touches a program's memory. A program is
//! loaded once (`loader`), each rank runs a private copy of it on a stack of its own (`fiber`), sees the C
//! library as if it were a process (`process_view`), and calls the functions of `include/mpi.h` (`abi`, `call`).
//! To the simulator all that is one `Source` (`live`): asking a rank for its next operation runs it until its next
//! MPI call. Functions whose time a formula gives are intercepted (`kernels`). Contents of messages never leave this crate (`data`). `door` is where the launcher comes in.
//!
//! For x86-64 Linux with the GNU C library.

pub mod abi;
pub mod accounting;
mod arena;
pub mod call;
pub mod data;
pub mod fiber;
pub mod fold;
pub mod interpreter;
pub mod job;
pub mod kernels;
pub mod launch;
pub mod live;
pub mod loader;
pub mod mpich;
pub mod objects;
pub mod peers;
pub mod process_view;
pub mod translation;
