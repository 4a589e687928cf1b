//! Workloads: where the MPI operations of a run come from.

pub mod trace;
