//! The functions of the standard, a chapter of it in each file.
//!
//! Each takes the rank that calls and the arguments of the C function, of which counts are `i64`. The exports
//! that `build.rs` writes make them from the program's own (`abi::pointers::FromProgram`), for which
//! **the program keeps to the standard**: a buffer holds what its count and datatype say, a pointer for a
//! result is writable, and both stay so until the operation is complete. A function that takes a bare pointer of the
//! program, to a function or to memory that it manages, is `unsafe` by the same contract.

#![allow(clippy::missing_safety_doc, reason = "one contract for all of them stands above")]
#![allow(clippy::too_many_arguments, reason = "they are those of the standard")]

pub mod attribute;
pub mod collective;
pub mod communicator;
pub mod creation;
pub mod datatype;
pub mod dynamic;
pub mod environment;
pub mod error;
pub mod export;
pub mod file;
pub mod group;
mod hopcast;
pub mod info;
pub mod language;
pub mod one_sided;
pub mod operation;
pub mod point_to_point;
pub mod reports;
pub mod request;
pub mod session;
pub mod tool;
pub mod topology;
pub mod user_buffer;
