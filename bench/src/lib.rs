//! Shared parts of the benches: networks by name, and traffic that drives a network model without MPI.
//!
//! Rates are per core: everything runs on one thread.

pub mod fabrics;
pub mod traffic;
