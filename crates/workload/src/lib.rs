//! Workloads: recorded traces, synthetic patterns, application skeletons. Each is an [`mpi::Source`].
//!
//! This crate knows nothing of networks.

pub mod pattern;
pub mod trace;
